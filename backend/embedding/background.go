package embedding

import (
	"context"
	"errors"
	"time"

	"memento"
)

// Changed says that a store was written to: its vectors are brought up to date now, if
// there are any.
func (s *Searcher) Changed(store memento.StoreID) {
	s.look(store, true)
}

// look has the work in the background look at a store.
func (s *Searcher) look(store memento.StoreID, thorough bool) {
	s.mu.Lock()
	s.dirty[store] = s.dirty[store] || thorough
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run is the work in the background.
func (s *Searcher) run(ctx context.Context) {
	defer close(s.ended)
	tick := time.NewTicker(s.opts.Interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		for store, thorough := range s.takeDirty() {
			s.note(ctx, store, s.lookAt(ctx, store, thorough))
			s.bound()
		}
		var pause <-chan time.Time
		if store, wait, lacking := s.nextLacking(); lacking {
			if d := max(wait, s.health.wait()); d > 0 {
				pause = time.After(d)
			} else {
				if x := s.take(store); x != nil {
					err := s.embedSome(ctx, store, x)
					x.working.Unlock()
					s.note(ctx, store, err)
				}
				s.bound()
				continue
			}
		}
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-pause:
		case <-tick.C:
			s.lookAtAll()
		}
	}
}

// lookAtAll marks the stores that have vectors in main memory as dirty.
func (s *Searcher) lookAtAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.failing)
	for store := range s.indexes.Oldest() {
		s.dirty[store] = true
	}
}

// takeDirty returns the stores to look at, and whether to do so thoroughly. Those that are
// failing stay dirty.
func (s *Searcher) takeDirty() map[memento.StoreID]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	stores := map[memento.StoreID]bool{}
	for store, thorough := range s.dirty {
		if !s.failing[store] {
			stores[store] = thorough
			delete(s.dirty, store)
		}
	}
	return stores
}

// nextLacking returns a store with memories to embed, and how long to wait before: another
// process may have its turn.
func (s *Searcher) nextLacking() (next memento.StoreID, wait time.Duration, lacking bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for store, x := range s.indexes.Oldest() {
		x.mu.RLock()
		lacks, pause := len(x.lacking) > 0 && !s.failing[store], max(0, time.Until(x.pause))
		x.mu.RUnlock()
		if lacks && (!lacking || pause < wait) {
			next, wait, lacking = store, pause, true
		}
		if lacking && wait == 0 {
			break
		}
	}
	return next, wait, lacking
}

// take returns the index of a store, for its holder alone to change, until working is
// unlocked; nil if the store has none.
func (s *Searcher) take(store memento.StoreID) *index {
	for {
		s.mu.Lock()
		x, known := s.indexes.Peek(store)
		s.mu.Unlock()
		if !known {
			return nil
		}
		x.working.Lock()
		s.mu.Lock()
		now, _ := s.indexes.Peek(store)
		s.mu.Unlock()
		if now == x {
			return x
		}
		x.working.Unlock() // it was dropped meanwhile
	}
}

// note records that the storage has failed. Failures of the Embedder are
// noted by embed.
func (s *Searcher) note(ctx context.Context, store memento.StoreID, err error) {
	if err == nil || ctx.Err() != nil || errors.Is(err, errOthersTurn) {
		return
	}
	if _, ours := errors.AsType[*embedError](err); ours {
		return
	}
	s.counts.failures.Add(1)
	s.mu.Lock()
	again := s.failing[store]
	s.failing[store] = true
	s.mu.Unlock()
	if !again {
		s.opts.Logger.Warn("vectors cannot be brought up to date; search goes on by words alone", "store", store, "error", err)
	}
}

// CatchUp brings the vectors of a store up to date before it returns.
//
// Errors: those of the Embedder and of the backend; memento.ErrClosed. What was embedded
// before is kept.
func (s *Searcher) CatchUp(ctx context.Context, store memento.StoreID) error {
	for thorough := true; ; thorough = false {
		if s.isClosed() {
			return memento.ErrClosed
		}
		s.bound()
		done, err := func() (bool, error) {
			s.index(store) // from now on, it counts as searched
			x := s.take(store)
			if x == nil {
				return false, nil // it was dropped meanwhile
			}
			defer x.working.Unlock()
			if err := s.follow(ctx, store, x, thorough); err != nil {
				return false, err
			}
			if len(x.lacking) == 0 {
				return true, nil
			}
			return false, s.embedSome(ctx, store, x)
		}()
		switch {
		case errors.Is(err, errOthersTurn):
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(leasePause):
			}
		case done || err != nil:
			return err
		}
	}
}
