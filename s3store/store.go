package s3store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"memento"
)

const (
	// maxAge is for how long a state may be used without asking whether it is the
	// newest: records of the log are removed no earlier than keepLog after they were
	// written, so that until then a position that holds none has never held one.
	maxAge  = 10 * time.Minute
	keepLog = time.Hour

	// company is for how long after another process has written to a store it is
	// expected to do so again.
	contentionWindow = 10 * time.Second

	// loadTries is how often loading a store begins again because others have folded it
	// meanwhile, after pauses of up to loadPause.
	loadTries = 30
	loadPause = 50 * time.Millisecond
)

// A store is what a process holds of one store.
type store struct {
	b  *Backend
	id memento.StoreID

	mu               sync.RWMutex // guards what follows
	st               *state       // nil until it is loaded
	partial          bool         // while st lacks records of the log that others may have been shown
	confirmed        time.Time    // when st was the newest; see age
	lastCommit       string       // the commit that was written last, or is about to be
	lastForeignWrite time.Time    // when a record of another process was last come upon
	nextExpiry       time.Time    // by the storage's clock, before which no record of the log is old enough to be removed, if that is known

	refreshMu   sync.Mutex // guards what follows
	nextRefresh *refresh   // the one that begins when the running one has ended
	refreshing  bool

	queueMu sync.Mutex // guards what follows
	queue   []*op
	writing bool

	compacting sync.Mutex  // held while the log is folded
	collected  recordRange // guarded by folding: what these records took away is gone from the bucket
	loading    sync.Mutex  // held while the state is brought up to date

	users  int       // guarded by the backend's lock, as are those below
	used   time.Time // last
	weight int64     // bytes of the state, when it was last looked at
}

// age is how long ago t was, with the time that the machine slept.
func age(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// A question is whether a state is the newest.
type refresh struct {
	done chan struct{}
	err  error
}

// fresh brings the state up to date: it then has every record that was written before
// the call. Calls share a question only if it began after they did.
func (s *store) waitRefresh(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.refreshMu.Lock()
	q := s.nextRefresh
	if q == nil {
		q = &refresh{done: make(chan struct{})}
		s.nextRefresh = q
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
	case <-q.done:
		return q.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// answer answers questions until there is none.
func (s *store) refreshLoop(ctx context.Context) {
	for {
		s.refreshMu.Lock()
		q := s.nextRefresh
		s.nextRefresh = nil
		s.refreshing = q != nil
		s.refreshMu.Unlock()
		if q == nil {
			return
		}
		q.err = s.catchUp(ctx)
		close(q.done)
	}
}

// catchUp reads what was written since.
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
				s.st = nil // its place in the manifest is to be found
				break
			}
			if s.st != nil && s.st.deleted && s.st.manifest.End != s.st.n {
				s.st = nil // it begins again, behind what the manifest says was buried
				break
			}
			if !loaded && s.st != nil && r.Commit != s.lastCommit {
				s.lastForeignWrite = began
			}
			s.applyLocked(r, false)
		}
		if end && age(began) < s.b.maxAge {
			s.confirmed, s.partial = began, false
		} else if end {
			s.st, end = nil, false
		}
		deleted := s.st != nil && s.st.deleted
		long := s.st != nil && int64(len(s.st.tail)) > 3*s.b.compactEvery
		compactWorth := loaded && s.st != nil && !deleted && int64(len(s.st.tail)) >= max(loadCompactMin, s.b.compactEvery/loadCompactShare)
		s.mu.Unlock()
		if end && compactWorth { // it costs less than reading them all once more
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

// takeLocked takes the next record, unless it is known. written says that it comes from
// this process. The lock is held.
func (s *store) applyLocked(r *record, written bool) {
	if s.st == nil || r.N != s.st.n+1 {
		return
	}
	s.cacheContents(r, written)
	s.st.apply(r, false)
}

// readLog reads a record. Errors: errMissing.
func (s *store) readLog(ctx context.Context, n int64) (*record, error) {
	data, _, err := s.b.s3.get(ctx, logKey(s.id, n))
	if err != nil {
		return nil, err
	}
	return decodeRecord(data, n)
}

// reread takes up the present manifest.
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
	default: // what is known lies behind it
		s.st = nil
	}
	return nil
}

// load builds the state from what is kept.
func (s *store) load(ctx context.Context) error {
	for range loadTries {
		began := time.Now()
		st, err := s.build(ctx)
		if errors.Is(err, errNotFound) { // folded meanwhile: the manifest names others now
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

// build reads the manifest and what it names, and the first record if it names none.
// Errors: errMissing if something was replaced meanwhile.
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
	if etag == "" { // young, or not there
		r, err := s.readLog(ctx, 1)
		switch {
		case errors.Is(err, errNotFound):
			return nil, memento.ErrNoStore
		case err != nil:
			return nil, err
		case r.Compacted: // since the manifest was looked for
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
		var f checkpoint
		if err := unpack(data, &f); err != nil {
			return nil, err
		}
		if f.Format > recordFormat || f.Info == nil {
			return nil, fmt.Errorf("%w: a store was written by a newer memento", memento.ErrFormat)
		}
		st = f.state()
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
	for _, d := range parts {
		for _, r := range d.Records {
			if r.N > st.n {
				st.apply(r, true)
			}
		}
	}
	if etag != "" {
		st.n, st.manifest, st.etag = max(st.n, m.End), m, etag
	}
	return st, s.b.readReads(ctx, s.id, st)
}

// view is fresh, and runs f on the state with the lock held for reading.
func (s *store) view(ctx context.Context, f func(*state) error) error {
	for {
		if err := s.waitRefresh(ctx); err != nil {
			return err
		}
		s.mu.RLock()
		if s.st == nil || s.partial { // given up meanwhile
			s.mu.RUnlock()
			continue
		}
		defer s.mu.RUnlock()
		if s.st.deleted {
			return memento.ErrNoStore
		}
		return f(s.st)
	}
}
