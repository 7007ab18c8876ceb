package cryptstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"memento"
	"memento/backend/textindex"
)

const defaultMatches = 20

// Search implements [memento.Searcher] without an index: it decrypts everything below the
// directory. Matches are sorted by time, the last changed first.
//
// Errors: memento.ErrUnsupported if the store holds more than [Options].SearchBytes.
func (b *Backend) Search(ctx context.Context, store memento.StoreID, opts memento.SearchOptions) ([]memento.Match, error) {
	const op = "search"
	k, err := b.keysForReading(ctx, op, store)
	if err != nil {
		return nil, err
	}
	_, now, err := b.describe(ctx, store)
	if err != nil {
		return nil, b.fail(k, err)
	}
	if now.Usage.Bytes > b.opts.SearchBytes {
		return nil, &memento.Error{Op: op, Err: fmt.Errorf("%w: the store is encrypted and holds %d bytes; up to %d are searched",
			memento.ErrUnsupported, now.Usage.Bytes, b.opts.SearchBytes)}
	}
	query := textindex.Parse(opts.Query)
	if query.Empty() {
		return nil, nil
	}
	type match struct {
		memento.Match
		e memento.Entry
	}
	var found []match
	for e, err := range b.List(ctx, store, memento.ListOptions{Dir: opts.Dir, Contents: true}) {
		if err != nil {
			return nil, err
		}
		if e.Foreign {
			continue
		}
		line, snippet, ok := query.Match(string(e.Path), e.Memory.Content)
		if ok {
			e.Memory.Content = ""
			found = append(found, match{memento.Match{Memory: e.Memory, Line: line, Snippet: snippet}, e})
		}
	}
	slices.SortFunc(found, func(x, y match) int {
		return cmp.Or(y.e.UpdatedAt.Compare(x.e.UpdatedAt), cmp.Compare(x.e.Path, y.e.Path))
	})
	limit := opts.Limit
	if limit <= 0 {
		limit = defaultMatches
	}
	var matches []memento.Match
	for _, m := range found[:min(limit, len(found))] {
		matches = append(matches, m.Match)
	}
	return matches, nil
}
