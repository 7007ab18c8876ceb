package memstore

import (
	"cmp"
	"context"
	"slices"

	"memento"
	"memento/backend/textindex"
)

const defaultMatches = 20

// Search returns the memories that match, the last changed first.
func (b *Backend) Search(ctx context.Context, id memento.StoreID, opts memento.SearchOptions) ([]memento.Match, error) {
	query := textindex.Parse(opts.Query)
	var entries []memento.Entry
	err := b.read(ctx, "search", id, func(s *store) error {
		if !query.Empty() {
			entries = s.list(memento.ListOptions{Dir: opts.Dir, Contents: true})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(x, y memento.Entry) int {
		return cmp.Or(y.UpdatedAt.Compare(x.UpdatedAt), cmp.Compare(x.Path, y.Path))
	})
	limit := opts.Limit
	if limit <= 0 {
		limit = defaultMatches
	}
	var matches []memento.Match
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if e.Memory.Digest != "" {
			e.Memory.Content = "" // encrypted contents are not searched
		}
		line, snippet, ok := query.Match(string(e.Path), e.Memory.Content)
		if !ok {
			continue
		}
		e.Memory.Content = ""
		matches = append(matches, memento.Match{Memory: e.Memory, Line: line, Snippet: snippet})
		if len(matches) == limit {
			break
		}
	}
	return matches, nil
}
