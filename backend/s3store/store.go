package s3store

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"memento"
	"memento/backend/commitqueue"
)

const (
	// maxAge is for how long a state may be used without confirming that it is the
	// newest. Records of the log are deleted keepLog after they were written, and not
	// before. So a number that a state of at most maxAge finds free was never used.
	maxAge  = 10 * time.Minute
	keepLog = time.Hour

	// contentionWindow is for how long after a write by another process another such
	// write is expected.
	contentionWindow = 10 * time.Second

	// loadTries is how often loading a store is tried, with pauses of up to loadPause,
	// while other processes compact it.
	loadTries = 30
	loadPause = 50 * time.Millisecond
)

// A store is the in-memory side of one store of this process.
type store struct {
	b  *Backend
	id memento.StoreID

	mu               sync.RWMutex // guards what follows
	st               *state       // nil until it is loaded
	partial          bool         // st is being loaded: it lacks records that callers may have seen before
	confirmed        time.Time    // when st was last known to be the newest; see age
	lastCommit       string       // the random name of the last commit that this process has written or begun to write
	lastForeignWrite time.Time    // when a record of another process was last read
	nextExpiry       time.Time    // by the storage's clock: no record of the log expires before; zero if unknown
	changes          *changeLog   // of the search index; nil if there is none
	scans            int          // searches without it that are running

	refreshMu   sync.Mutex // guards what follows
	nextRefresh *refresh   // begins when the running one has ended; nil if nobody waits for it
	refreshing  bool       // refreshLoop runs

	writes *commitqueue.Queue[*op]

	compacting sync.Mutex  // held during a compaction
	purged     recordRange // what these records redact and prune is gone from the bucket; guarded by compacting
	loading    sync.Mutex  // held while the state is refreshed or loaded

	users  int   // calls that use the store; guarded by the backend's lock, as is weight
	weight int64 // bytes of the state, when it was last measured
}

// age returns how long ago t was, including the time that the machine slept.
func age(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// A refresh brings the state up to date, for all callers that wait for it.
type refresh struct {
	done chan struct{}
	err  error
}

// waitRefresh brings the state up to date: it then has every record that was written
// before the call. A call joins a refresh only if that has not begun yet.
func (s *store) waitRefresh(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.refreshMu.Lock()
	r := s.nextRefresh
	if r == nil {
		r = &refresh{done: make(chan struct{})}
		s.nextRefresh = r
	}
	if !s.refreshing {
		if !s.b.runBackground(s.refreshLoop) {
			s.refreshMu.Unlock()
			return memento.ErrClosed
		}
		s.refreshing = true
	}
	s.refreshMu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// refreshLoop runs refreshes until nobody waits for one.
func (s *store) refreshLoop(ctx context.Context) {
	for {
		s.refreshMu.Lock()
		r := s.nextRefresh
		s.nextRefresh = nil
		s.refreshing = r != nil
		s.refreshMu.Unlock()
		if r == nil {
			return
		}
		r.err = s.catchUp(ctx)
		close(r.done)
	}
}

// catchUp reads the records that were written since the last call, or loads the store.
func (s *store) catchUp(ctx context.Context) error {
	s.loading.Lock()
	defer s.loading.Unlock()
	loaded, loads := false, 0
	for batch := 1; ; batch = min(2*batch, atOnce) {
		s.mu.RLock()
		known := s.st != nil && age(s.confirmed) < s.b.maxAge
		var n int64
		if known {
			n = s.st.n
		}
		s.mu.RUnlock()
		if !known {
			if loads++; loads > loadTries {
				return errChangesTooFast
			}
			if err := s.load(ctx); err != nil {
				return err
			}
			loaded = true
			continue
		}
		began := time.Now()
		records := make([]*record, batch)
		err := parallel(ctx, batch, func(ctx context.Context, i int) error {
			r, err := s.readLog(ctx, n+1+int64(i))
			if errors.Is(err, errNotFound) {
				err = nil
			}
			records[i] = r
			return err
		})
		if err != nil {
			return err
		}
		s.mu.Lock()
		end := false
		for _, r := range records {
			if r == nil {
				end = true
				break
			}
			if r.Compacted {
				s.st = nil // the manifest says where the record is now
				break
			}
			if s.st != nil && s.st.deleted && s.st.manifest.End != s.st.n {
				s.st = nil // the ID is used again, after the End of the manifest
				break
			}
			if !loaded && s.st != nil && r.Commit != s.lastCommit {
				s.lastForeignWrite = began
			}
			s.applyLocked(r, false)
		}
		if end && age(began) < s.b.maxAge {
			s.confirmed, s.partial = began, false
			s.followLocked()
		} else if end {
			s.st, end = nil, false
		}
		deleted := s.st != nil && s.st.deleted
		long := s.st != nil && int64(len(s.st.tail)) > 3*s.b.compactEvery
		compactWorth := loaded && s.st != nil && !deleted && int64(len(s.st.tail)) >= max(loadCompactMin, s.b.compactEvery/loadCompactShare)
		s.mu.Unlock()
		if end && compactWorth { // one compaction costs less than reading all records again
			s.b.runBackground(func(ctx context.Context) { s.compact(ctx) })
		}
		switch {
		case end && deleted:
			return memento.ErrNoStore
		case end && long:
			return s.reloadManifest(ctx)
		case end:
			return nil
		}
	}
}

// applyLocked applies a record to the state, if it is the next one. written says that
// this process wrote it. s.mu is held.
func (s *store) applyLocked(r *record, written bool) {
	if s.st == nil || r.N != s.st.n+1 {
		return
	}
	s.cacheContents(r, written)
	s.st.apply(r, false)
}

// followLocked makes that the search index follows a state that was loaded again, or drops
// it if it cannot. s.mu is held.
func (s *store) followLocked() {
	if s.changes != nil && s.st.log == nil && !s.changes.follow(s.st) {
		s.changes = nil
		s.b.indexes.remove(s.id)
	}
}

// readLog reads record n. Errors: errNotFound.
func (s *store) readLog(ctx context.Context, n int64) (*record, error) {
	data, _, err := s.b.s3.get(ctx, logKey(s.id, n))
	if err != nil {
		return nil, err
	}
	return decodeRecord(data, n)
}

// reloadManifest reads the current manifest into the state.
func (s *store) reloadManifest(ctx context.Context) error {
	m, etag, err := s.b.getManifest(ctx, s.id)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.st == nil:
	case m.End <= s.st.n && !m.Deleted:
		s.st.adopt(m, etag)
	default: // the state is older than the manifest
		s.st = nil
	}
	return nil
}

// load builds the state from the objects in the bucket.
func (s *store) load(ctx context.Context) error {
	for range loadTries {
		began := time.Now()
		st, err := s.build(ctx)
		if errors.Is(err, errNotFound) { // compacted meanwhile: the manifest names other objects now
			if err := sleep(ctx, rand.N(loadPause)); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if age(began) > s.b.maxAge {
			continue
		}
		s.mu.Lock()
		s.st, s.confirmed, s.partial = st, began, true
		s.mu.Unlock()
		return nil
	}
	return errChangesTooFast
}

// build reads the manifest and the objects that it names. If there is no manifest, it
// reads the first record.
//
// Errors: errNotFound if an object was replaced meanwhile, ErrNoStore.
func (s *store) build(ctx context.Context) (*state, error) {
	m, etag, err := s.b.getManifest(ctx, s.id)
	if err != nil {
		return nil, err
	}
	st := newState()
	if m.Deleted {
		st.n, st.deleted, st.manifest, st.etag = m.End, true, m, etag
		return st, nil
	}
	if etag == "" { // never compacted, or no such store
		r, err := s.readLog(ctx, 1)
		switch {
		case errors.Is(err, errNotFound):
			return nil, memento.ErrNoStore
		case err != nil:
			return nil, err
		case r.Compacted: // since the manifest was read
			return nil, errNotFound
		}
		s.cacheContents(r, false)
		st.apply(r, false)
	}
	if m.Checkpoint != nil {
		data, _, err := s.b.s3.get(ctx, m.Checkpoint.Key)
		if err != nil {
			return nil, err
		}
		if st, err = decodeCheckpoint(data); err != nil {
			return nil, err
		}
	}
	var after []segment
	for _, g := range m.Segments {
		if g.To > st.n {
			after = append(after, g)
		}
	}
	parts := make([]*segmentHeader, len(after))
	err = parallel(ctx, len(after), func(ctx context.Context, i int) (err error) {
		parts[i], err = s.b.segmentHeader(ctx, after[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(parts) > 0 {
		st.unsorted = true // sorting after each record would take quadratic time
		for _, d := range parts {
			for _, r := range d.Records {
				if r.N > st.n {
					st.apply(r, true)
				}
			}
		}
		st.sort()
	}
	if etag != "" {
		st.n, st.manifest, st.etag = max(st.n, m.End), m, etag
	}
	return st, s.b.readReads(ctx, s.id, st)
}

// view refreshes the state, and runs f on it with the lock held for reading.
func (s *store) view(ctx context.Context, f func(*state) error) error {
	return s.viewSince(ctx, time.Time{}, f)
}

// viewSince is view without a refresh if the state was the newest at the given time, or
// later.
func (s *store) viewSince(ctx context.Context, at time.Time, f func(*state) error) error {
	for refreshed := false; ; refreshed = true {
		s.mu.RLock()
		if usable := s.st != nil && !s.partial; usable && (refreshed || !at.IsZero() && !s.confirmed.Before(at)) {
			defer s.mu.RUnlock()
			if s.st.deleted {
				return memento.ErrNoStore
			}
			return f(s.st)
		}
		s.mu.RUnlock()
		if err := s.waitRefresh(ctx); err != nil {
			return err
		}
	}
}
