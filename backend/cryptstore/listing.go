package cryptstore

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"memento"
)

// List implements [memento.Backend]. If the store's names are encrypted, everything below
// the directory is read and held in memory, to sort it.
//
// Further errors: memento.ErrDecrypt.
func (b *Backend) List(ctx context.Context, store memento.StoreID, opts memento.ListOptions) iter.Seq2[memento.Entry, error] {
	const op = "list"
	return func(yield func(memento.Entry, error) bool) {
		k, err := b.keysForReading(ctx, op, store)
		if err != nil {
			yield(memento.Entry{}, err)
			return
		}
		if k.names != nil {
			b.listSorted(ctx, op, k, opts, yield)
			return
		}
		clears := b.texts.Clears()
		for e, err := range b.inner.List(ctx, store, opts) {
			if err == nil {
				e, err = b.decryptEntry(ctx, op, &k, e, opts.Contents, clears)
			}
			if err != nil {
				yield(memento.Entry{}, err)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// decryptEntry returns an entry, whose path is decrypted already, as users see it.
func (b *Backend) decryptEntry(ctx context.Context, op string, k **keys, e memento.Entry, contents bool, clears int64) (_ memento.Entry, err error) {
	switch {
	case e.Dir, e.Foreign:
	case contents:
		e.Memory, err = b.decryptMemory(ctx, op, k, e.Memory, clears)
	default:
		e.Memory, err = (*k).memoryWithoutContents(e.Memory)
	}
	return e, err
}

// listSorted lists a store with encrypted names. Contents are decrypted one by one.
func (b *Backend) listSorted(ctx context.Context, op string, k *keys, opts memento.ListOptions, yield func(memento.Entry, error) bool) {
	if opts.Dir == "" {
		opts.Dir = memento.Root
	}
	all := memento.ListOptions{Dir: k.encryptPathForLookup(opts.Dir), Contents: opts.Contents, Brief: opts.Brief}
	clears := b.texts.Clears()
	var entries []memento.Entry
	for e, err := range b.inner.List(ctx, k.store, all) {
		if err == nil && !e.Foreign { // names of foreign files are not encrypted
			e.Path, err = k.decryptPath(e.Path)
		}
		if err != nil {
			yield(memento.Entry{}, b.fail(k, err))
			return
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(x, y memento.Entry) int { return cmp.Compare(x.Path, y.Path) })
	for len(entries) > 0 {
		e, n := rollUp(opts, entries)
		entries = entries[n:]
		if e.Cursor() <= opts.After {
			continue
		}
		err := ctx.Err()
		if err == nil {
			e, err = b.decryptEntry(ctx, op, &k, e, opts.Contents, clears)
		}
		if err != nil {
			yield(memento.Entry{}, b.fail(k, err))
			return
		}
		if !yield(e, nil) {
			return
		}
		if opts.Limit--; opts.Limit == 0 {
			return
		}
	}
}

// rollUp returns the first entry of a listing of entries, which are in order of path, and
// how many of them it represents.
func rollUp(opts memento.ListOptions, entries []memento.Entry) (memento.Entry, int) {
	first := entries[0]
	dir, deep := opts.RollUp(first.Path)
	if !deep {
		return first, 1
	}
	e := memento.Entry{Path: dir, Dir: true}
	n := 0
	for ; n < len(entries) && dir.Contains(entries[n].Path); n++ {
		e.Usage.Memories += entries[n].Usage.Memories
		e.Usage.Bytes += entries[n].Usage.Bytes
		if entries[n].UpdatedAt.After(e.UpdatedAt) {
			e.UpdatedAt = entries[n].UpdatedAt
		}
	}
	return e, n
}
