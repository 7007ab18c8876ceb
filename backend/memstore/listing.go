package memstore

import (
	"context"
	"iter"
	"slices"

	"memento"
	"memento/backend/rollup"
	"memento/internal/listing"
)

// List yields the memories below a directory in byte order of path.
func (b *Backend) List(ctx context.Context, id memento.StoreID, opts memento.ListOptions) iter.Seq2[memento.Entry, error] {
	return func(yield func(memento.Entry, error) bool) {
		var entries []memento.Entry
		err := b.read(ctx, "list", id, func(s *store) error {
			entries = s.list(opts)
			return nil
		})
		listing.Yield(ctx, entries, err, yield)
	}
}

// list returns the entries whose cursor is greater than opts.After.
func (s *store) list(opts memento.ListOptions) []memento.Entry {
	if opts.Dir == "" {
		opts.Dir = memento.Root
	}
	paths := s.below(opts.Dir)
	from, found := slices.BinarySearch(paths, memento.Path(opts.After))
	if found {
		from++
	}
	var entries []memento.Entry
	r := rollup.New(opts, func(e memento.Entry) bool {
		if !opts.Contents {
			e.Memory.Content = ""
		}
		entries = append(entries, e)
		return true
	})
	for _, p := range paths[from:] {
		if !r.Row(s.byPath[p]) {
			break
		}
	}
	r.End()
	return entries
}
