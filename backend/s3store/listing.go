package s3store

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"memento"
	"memento/internal/listing"
)

// List yields the memories below a directory in byte order of path.
func (b *Backend) List(ctx context.Context, id memento.StoreID, opts memento.ListOptions) iter.Seq2[memento.Entry, error] {
	return func(yield func(memento.Entry, error) bool) {
		entries, err := b.list(ctx, id, opts)
		listing.Yield(ctx, entries, b.failed("list", err), yield)
	}
}

// list returns a whole listing. Its size in memory is bounded by the store's limits.
func (b *Backend) list(ctx context.Context, id memento.StoreID, opts memento.ListOptions) (entries []memento.Entry, err error) {
	s, done, err := b.use(ctx, id)
	if err != nil {
		return nil, err
	}
	defer done()
	err = retryNotFound(func() error {
		var wants []want
		if err := s.view(ctx, func(st *state) error {
			entries, wants = b.entries(st, id, opts)
			return nil
		}); err != nil || !opts.Contents {
			return err
		}
		texts, err := s.contents(ctx, wants)
		if err != nil {
			return err
		}
		for i := range entries {
			if !entries[i].Dir {
				entries[i].Memory.Content = texts[0]
				texts = texts[1:]
			}
		}
		return nil
	})
	return entries, err
}

// entries returns the entries of a listing, and a want for each memory among them.
func (b *Backend) entries(st *state, id memento.StoreID, opts memento.ListOptions) (entries []memento.Entry, wants []want) {
	dir := cmp.Or(opts.Dir, memento.Root)
	memories := st.below(dir)
	from, found := slices.BinarySearchFunc(memories, opts.After, func(h *indexEntry, after string) int { return cmp.Compare(string(h.memory.Path), after) })
	if found {
		from++
	}
	for rest := memories[from:]; len(rest) > 0; {
		h, n := rest[0], 1
		e := memento.Entry{Path: h.memory.Path}
		if sub, deeper := opts.RollUp(h.memory.Path); deeper {
			e.Path, e.Dir = sub, true
			n = sumUp(&e, rest)
		} else {
			e.Memory = b.shown(st, id, h)
			e.Usage = memento.Usage{Memories: 1, Bytes: h.memory.Size}
			e.UpdatedAt = h.memory.UpdatedAt
		}
		rest = rest[n:]
		if e.Cursor() <= opts.After {
			continue // it is the directory that After names
		}
		if !e.Dir {
			wants = append(wants, h.want())
		}
		entries = append(entries, e)
		if len(entries) == opts.Limit {
			break
		}
	}
	return entries, wants
}

// sumUp adds the memories in the directory e to its usage, and returns their number. They
// are the first of entries.
func sumUp(e *memento.Entry, entries []*indexEntry) int {
	prefix := e.Path.Prefix()
	for n, h := range entries {
		if !strings.HasPrefix(string(h.memory.Path), prefix) {
			return n
		}
		e.Usage.Memories++
		e.Usage.Bytes += h.memory.Size
		e.UpdatedAt = later(e.UpdatedAt, h.memory.UpdatedAt)
	}
	return len(entries)
}
