package embedding

import (
	"context"
	"time"

	"memento"
)

const (
	// maxStores is how many stores have their vectors in main memory.
	maxStores = 256

	// keptUncached is how long vectors that the backend does not keep stay in main memory
	// after a search, so that two large stores do not take turns in being embedded.
	keptUncached = time.Hour
)

// room returns how many bytes an index may take in main memory. Those of other stores make
// room for it if the backend keeps theirs.
func (s *Searcher) room(x *index) int64 {
	room := s.opts.MaxBytes
	if s.keeper != nil {
		return room
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, other := range s.indexes.Oldest() {
		if other != x {
			room -= other.size()
		}
	}
	return room
}

// bound drops the vectors of stores that were not searched for long from main memory, if
// there are too many. The backend keeps them.
func (s *Searcher) bound() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sum int64
	sizes := map[memento.StoreID]int64{}
	for store, x := range s.indexes.Oldest() {
		sizes[store] = x.size()
		sum += sizes[store]
	}
	for store, x := range s.indexes.Oldest() {
		if sum <= s.opts.MaxBytes && s.indexes.Len() <= maxStores || s.indexes.Len() == 1 {
			return
		}
		if s.keeper == nil && time.Since(x.searched) < keptUncached {
			continue
		}
		if x.working.TryLock() {
			sum -= sizes[store]
			s.indexes.Remove(store)
			x.working.Unlock()
		}
	}
}

// isTooLarge reports whether a store had more vectors than fit. It is embedded again when a
// quarter of its memories have gone, which only a thorough look notices.
func (s *Searcher) isTooLarge(ctx context.Context, store memento.StoreID, x *index, thorough bool) (bool, error) {
	limit := x.tooLarge
	if limit > 0 && thorough {
		n, err := s.count(ctx, store)
		if err != nil {
			return false, err
		}
		if 4*n <= 3*limit {
			limit = 0
		}
	}
	x.mu.Lock()
	x.tooLarge = limit
	x.mu.Unlock()
	return limit > 0, nil
}

// giveUp drops the vectors of a store that has too many, with a number of memories, from main
// memory. What the backend keeps of them says so to the next process.
func (s *Searcher) giveUp(store memento.StoreID, x *index, memories int64) {
	s.forget(x)
	x.mu.Lock()
	x.tooLarge = memories
	x.mu.Unlock()
	s.opts.Logger.Warn("a store has more vectors than fit into main memory; it is searched by words alone", "store", store)
}

// drop removes the vectors of a store that was deleted.
func (s *Searcher) drop(store memento.StoreID, x *index) {
	s.forget(x)
	s.mu.Lock()
	s.indexes.Remove(store)
	s.mu.Unlock()
}

// forget empties an index.
func (s *Searcher) forget(x *index) {
	x.mu.Lock()
	defer x.mu.Unlock()
	empty := newIndex(x.keeps)
	x.memories, x.vectors, x.lacking, x.bytes, x.loaded, x.seq = empty.memories, empty.vectors, empty.lacking, 0, false, 0
}
