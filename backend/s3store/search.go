package s3store

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"memento"
	"memento/backend/textindex"
)

const (
	searchPart = 512 // memories whose contents are read at a time

	// The largest store with an index. Of a larger one, a search reads all contents.
	maxIndexedTexts = 256 << 20 // bytes of its contents
	maxIndexed      = 1 << 18   // memories
)

// Search implements [memento.Searcher]. Sealed contents are not searched.
func (b *Backend) Search(ctx context.Context, id memento.StoreID, opts memento.SearchOptions) ([]memento.Match, error) {
	const op = "search"
	ctx = context.WithValue(ctx, searchBegan{}, time.Now())
	small, err := b.isIndexed(ctx, id)
	if err != nil {
		return nil, b.failed(op, err)
	}
	var matches []memento.Match
	if small {
		matches, err = b.index.Search(ctx, id, opts)
		if !errors.Is(err, textindex.ErrLarge) {
			return matches, b.failed(op, err)
		}
	}
	if !small { // its index is of no use
		b.indexes.remove(id)
		b.index.Forget(id)
	}
	err = b.indexes.view(ctx, id, b.indexes.unindexed, func(ctx context.Context, now *searchSnapshot) (err error) {
		matches, err = scan(ctx, now, opts)
		return err
	})
	return matches, b.failed(op, err)
}

// searchBegan is the key of the time when a search began. A state that was the newest then,
// or later, is new enough for all views of the search.
type searchBegan struct{}

// isIndexed reports whether a store is small enough for an index. It may be wrong about the
// last writes of others. It loads a store that is not in memory, and meanwhile reads its index.
func (b *Backend) isIndexed(ctx context.Context, id memento.StoreID) (small bool, err error) {
	s, done, err := b.use(ctx, id)
	if err != nil {
		return false, err
	}
	defer done()
	look := func(st *state) error {
		small = isIndexable(st.info.Usage)
		return nil
	}
	s.mu.RLock()
	known := s.st != nil
	if known {
		_ = look(s.st)
	}
	s.mu.RUnlock()
	if known {
		return small, nil
	}
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	var found *foundIndex
	unlock := func() {}
	var wg sync.WaitGroup
	wg.Go(func() {
		// Of callers at the same time the first reads the index, and the others wait for it.
		release, err := b.indexes.exchanging.Lock(reading, id)
		if err != nil {
			return
		}
		unlock = release
		if !b.indexes.isAttached(s) {
			found, _ = b.indexes.find(reading, id) // after an error it is read again
		}
	})
	err = s.view(ctx, look)
	if err != nil || !small {
		cancel()
	}
	wg.Wait()
	defer unlock()
	if found != nil && err == nil && small {
		err = b.indexes.attachLocked(ctx, s, found)
	}
	return small, err
}

func isIndexable(u memento.Usage) bool { return u.Bytes <= maxIndexedTexts && u.Memories <= maxIndexed }

// textsPerVersion is how many bytes of contents count as a version for [textindex.Live.Wrote].
const textsPerVersion = 4 << 10

// indexable returns how much of a record is to be indexed, in versions.
func (r *record) indexable() int {
	n, size := 0, int64(0)
	for _, v := range r.Versions {
		if v.Digest == "" { // the contents are not sealed
			n++
			size += v.Size
		}
	}
	return max(n, int(size/textsPerVersion))
}

// scan searches all contents of a store.
func scan(ctx context.Context, now *searchSnapshot, opts memento.SearchOptions) ([]memento.Match, error) {
	scanner := textindex.NewScanner(opts)
	if scanner.Empty() {
		return nil, nil
	}
	ids, err := now.all()
	if err != nil {
		return nil, err
	}
	for part := range slices.Chunk(ids, searchPart) {
		texts, err := now.Texts(ctx, part)
		if err != nil {
			return nil, err
		}
		for _, id := range part {
			if _, err := scanner.Add(ctx, id, texts[id]); err != nil {
				return nil, err
			}
		}
	}
	return scanner.Search(ctx, now.Lookup)
}
