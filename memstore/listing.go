package memstore

import (
	"context"
	"iter"
	"slices"

	"memento"
)

// List yields the memories below a directory in byte order of path.
func (b *Backend) List(ctx context.Context, id memento.StoreID, opts memento.ListOptions) iter.Seq2[memento.Entry, error] {
	return func(yield func(memento.Entry, error) bool) {
		var entries []memento.Entry
		err := b.read(ctx, "list", id, func(s *store) error {
			entries = s.list(opts)
			return nil
		})
		yieldAll(ctx, entries, err, yield)
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
	for rest := paths[from:]; len(rest) > 0; {
		e := memento.Entry{Path: rest[0]}
		n := 1 // paths that the entry stands for
		if dir, deeper := opts.RollUp(rest[0]); deeper {
			e.Path, e.Dir = dir, true
			n = s.sumUp(&e, rest)
		} else {
			e.Memory = *s.byPath[rest[0]]
			e.Usage = memento.Usage{Memories: 1, Bytes: e.Memory.Size}
			e.UpdatedAt = e.Memory.UpdatedAt
			if !opts.Contents {
				e.Memory.Content = ""
			}
		}
		rest = rest[n:]
		if e.Cursor() <= opts.After {
			continue // the directory that After names
		}
		entries = append(entries, e)
		if len(entries) == opts.Limit {
			break
		}
	}
	return entries
}

// sumUp adds the memories in the directory e, with which rest begins, and
// returns their number.
func (s *store) sumUp(e *memento.Entry, rest []memento.Path) int {
	for n, p := range rest {
		if !e.Path.Contains(p) {
			return n
		}
		m := s.byPath[p]
		e.Usage.Memories++
		e.Usage.Bytes += m.Size
		if m.UpdatedAt.After(e.UpdatedAt) {
			e.UpdatedAt = m.UpdatedAt
		}
	}
	return len(rest)
}
