package textindex

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"memento"
	"memento/internal/lru"
	"memento/internal/textcache"
)

// Live searches the stores of a backend, and keeps their indexes: segments on the backend's
// [Storage], and in main memory what was written since, the recent part. A search first
// brings the recent part up to date with the store's history. If more was written than the
// recent part may have, the search reads the rest itself, see scan.go. In the background,
// what was written becomes segments, see indexer.go.
//
// It is safe for concurrent use.
type Live struct {
	storage Storage
	limits  limits
	blocks  *textcache.Cache[blockKey, []byte]
	indexer indexer

	mu     sync.Mutex
	stores lru.Map[memento.StoreID, *liveStore]
}

type blockKey struct {
	id SegmentID
	n  int
}

// Limits of what is in main memory.
const (
	maxLiveStores = 128       // stores with an index
	maxLiveBytes  = 256 << 20 // recent parts and heads of segments, about
	maxBlockBytes = 32 << 20  // blocks of segments
)

const (
	// liveAttempts is how often a search updates the index before it keeps others from doing so.
	liveAttempts = 3
	// maxDoubts is how often a search begins again because the index is damaged.
	maxDoubts = 4
)

// NewLive returns the indexes of the stores in a storage. The caller must close it.
func NewLive(storage Storage) *Live {
	return newLive(storage, usual)
}

func newLive(storage Storage, m limits) *Live {
	l := &Live{storage: storage, limits: m}
	l.blocks = textcache.New[blockKey](maxBlockBytes, func(b *[]byte) int { return len(*b) })
	l.indexer.start(l)
	return l
}

// liveStore is the index of one store.
type liveStore struct {
	view     atomic.Pointer[view] // nil if there is none yet
	distrust atomic.Int64         // revision of a stored index that does not match the store; 0 if there is none
	doubted  atomic.Bool          // whether an index did not match: memories are then read themselves, not their versions
	updating turn                 // to change the view
	purging  turn                 // to purge the stored index

	// The memories that have changed after the view's base, up to its seq. Belongs to who has
	// the turn to change the view.
	changed map[memento.MemoryID]changedMemory
}

type changedMemory struct {
	seq   int64 // of the newest version
	bytes int64 // of its text
}

// A turn is a lock that can be waited for with a context.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) give() { <-t }

// Search searches a store.
func (l *Live) Search(ctx context.Context, store memento.StoreID, opts memento.SearchOptions) ([]memento.Match, error) {
	s := l.store(store)
	defer l.bound()
	defer l.indexer.behind(store, s)
	doubts := 0
	for n := 0; ; n++ {
		a, err := l.try(ctx, store, s, opts, n >= liveAttempts)
		if err == nil && a.fit == outdated {
			a.revision, err = l.update(ctx, store, s)
		}
		switch {
		case err == nil && a.fit == fitting:
			return a.found, nil
		case errors.Is(err, ErrIndex) && doubts < maxDoubts:
			doubts++
			s.doubted.Store(true)
			s.distrust.Store(a.revision)
			err = s.forget(ctx)
		case err == nil && a.fit == mismatching:
			s.doubted.Store(true)
			switch doubts++; doubts {
			case 1: // it has missed something, such as that a backup was restored
				err = s.forget(ctx)
			case 2:
				s.distrust.Store(a.revision)
				err = s.forget(ctx)
			default: // the store counts wrong, which verifying it shows
				err = s.accept(ctx, a.view, a.excess)
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// An attempt is one to search.
type attempt struct {
	found    []memento.Match
	view     *view
	fit      fit
	revision int64 // of the index
	excess   int64 // how many memories more the view has than the store
}

// try searches a store, if its index is up to date. With update, it is made so first, and
// nobody else changes it meanwhile.
func (l *Live) try(ctx context.Context, store memento.StoreID, s *liveStore, opts memento.SearchOptions, update bool) (a attempt, err error) {
	mine := false
	if update {
		if err := s.updating.take(ctx); err != nil {
			return a, err
		}
		mine = true
	}
	done := func() {
		if mine {
			s.updating.give()
			mine = false
		}
	}
	defer done()
	view := s.view.Load()
	err = l.storage.View(ctx, store, func(ctx context.Context, now Snapshot) (err error) {
		a = attempt{revision: now.Revision()}
		for mine {
			u, err := l.next(ctx, s, now)
			if err != nil {
				return err
			}
			if view = s.view.Load(); u == nil {
				break
			}
			view = u.apply(s)
		}
		done()
		a.view = view
		if a.fit, err = view.fits(ctx, now, l.limits); err != nil {
			return err
		}
		if a.fit == fitting {
			if view.seq < now.Seq() {
				l.Behind(store)
			}
			a.found, err = l.search(ctx, s, view, now, opts)
		} else if a.fit == mismatching {
			a.excess = view.memories() - now.Memories()
		}
		return err
	})
	return a, err
}

// update brings the view up to date, as far as it may grow. It returns the revision of the
// stored index.
func (l *Live) update(ctx context.Context, store memento.StoreID, s *liveStore) (revision int64, err error) {
	if err := s.updating.take(ctx); err != nil {
		return 0, err
	}
	defer s.updating.give()
	for {
		var u *update
		err := l.storage.View(ctx, store, func(ctx context.Context, now Snapshot) (err error) {
			revision = now.Revision()
			u, err = l.next(ctx, s, now)
			return err
		})
		if err != nil || u == nil {
			return revision, err
		}
		if u.apply(s); u.last {
			return revision, nil
		}
	}
}

// forget makes that the view is made from nothing next.
func (s *liveStore) forget(ctx context.Context) error {
	err := s.updating.take(ctx)
	if err == nil {
		s.view.Store(nil)
		s.updating.give()
	}
	return err
}

// accept makes that a view fits although it has some memories more than the store says.
func (s *liveStore) accept(ctx context.Context, v *view, excess int64) error {
	err := s.updating.take(ctx)
	if err != nil {
		return err
	}
	defer s.updating.give()
	if s.view.Load() == v {
		other := *v
		other.excess = excess
		s.view.Store(&other)
	}
	return nil
}

// search searches what a view has, and the rest of the store.
func (l *Live) search(ctx context.Context, s *liveStore, v *view, now Snapshot, opts memento.SearchOptions) ([]memento.Match, error) {
	var parts []Part
	if v.seq == now.Seq() {
		for _, segment := range v.segments {
			parts = append(parts, segment.Part(l.reader(now, segment.id)))
		}
		meeting := func(ctx context.Context, c Condition, seqs []int64) ([]int64, error) {
			if len(seqs) == metTogether {
				now.Long() // there are probably more
			}
			return now.Meeting(ctx, c, seqs)
		}
		return searchParts(ctx, append(parts, v.recent), opts, now.Lookup, meeting)
	}
	now.Long()
	l.indexer.scans.Add(1)
	defer l.indexer.scans.Add(-1)
	rest, err := l.scan(ctx, s, v, now, opts)
	if err != nil {
		return nil, err
	}
	for _, segment := range rest.segments {
		parts = append(parts, segment.Part(l.reader(now, segment.id)))
	}
	return searchParts(ctx, append(parts, rest.parts()...), opts, now.Lookup, now.Meeting)
}

// Forget drops the index of a store that was deleted.
func (l *Live) Forget(store memento.StoreID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stores.Remove(store)
}

func (l *Live) store(id memento.StoreID) *liveStore {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, known := l.stores.Get(id)
	if !known {
		s = &liveStore{updating: newTurn(), purging: newTurn()}
		l.stores.Put(id, s)
	}
	return s
}

// bound drops the indexes of stores that were not searched for long from main memory, if
// there are too many.
func (l *Live) bound() {
	l.mu.Lock()
	defer l.mu.Unlock()
	var size int64
	for _, s := range l.stores.Oldest() {
		size += s.view.Load().size()
	}
	for id, s := range l.stores.Oldest() {
		if l.stores.Len() <= maxLiveStores && size <= maxLiveBytes || l.stores.Len() == 1 {
			return
		}
		size -= s.view.Load().size()
		l.stores.Remove(id)
	}
}
