package s3store

import (
	"cmp"
	"context"
	"slices"

	"memento"
	"memento/backend/textindex"
)

const (
	defaultMatches = 20
	searchPart     = 512 // memories whose contents are read at a time
)

// Search returns the memories that match, the most recently changed first. It has no index:
// it reads contents, from the cache if possible, until it has enough matches. Sealed
// contents are not searched.
func (b *Backend) Search(ctx context.Context, id memento.StoreID, opts memento.SearchOptions) (matches []memento.Match, err error) {
	const op = "search"
	s, done, err := b.use(ctx, id)
	if err != nil {
		return nil, b.failed(op, err)
	}
	defer done()
	err = retryNotFound(func() error {
		matches, err = s.search(ctx, opts)
		return err
	})
	return matches, b.failed(op, err)
}

func (s *store) search(ctx context.Context, opts memento.SearchOptions) (matches []memento.Match, err error) {
	query := textindex.Parse(opts.Query)
	limit := opts.Limit
	if limit <= 0 {
		limit = defaultMatches
	}
	type candidate struct {
		memory memento.Memory
		want   want
	}
	var all []candidate
	err = s.view(ctx, func(st *state) error {
		if query.Empty() {
			return nil
		}
		for _, h := range st.below(cmp.Or(opts.Dir, memento.Root)) {
			all = append(all, candidate{s.b.shown(st, s.id, h), h.want()})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(x, y candidate) int {
		return cmp.Or(y.memory.UpdatedAt.Compare(x.memory.UpdatedAt), cmp.Compare(x.memory.Path, y.memory.Path))
	})
	for part := range slices.Chunk(all, searchPart) {
		var wants []want
		for _, c := range part {
			if c.memory.Digest == "" {
				wants = append(wants, c.want)
			}
		}
		texts, err := s.contents(ctx, wants)
		if err != nil {
			return nil, err
		}
		for _, c := range part {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			text := ""
			if c.memory.Digest == "" {
				text, texts = texts[0], texts[1:]
			}
			line, snippet, ok := query.Match(string(c.memory.Path), text)
			if !ok {
				continue
			}
			matches = append(matches, memento.Match{Memory: c.memory, Line: line, Snippet: snippet})
			if len(matches) == limit {
				return matches, nil
			}
		}
	}
	return matches, nil
}
