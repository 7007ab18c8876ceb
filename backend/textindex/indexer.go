package textindex

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"memento"
)

// One goroutine of a backend makes segments of what was written, by steps. Writes do not
// wait for it: blocks are written some at a time, and nothing reads them before the index
// has the segment. See flush.go, merge.go and purge.go for the steps.

// limits say when what was written becomes a segment, and how much is in main memory.
type limits struct {
	flushVersions int   // become a segment
	flushTexts    int64 // bytes that become a segment, if these are fewer versions
	maxFlush      int   // versions in a new segment
	smallest      int   // memories in a segment of the smallest size

	// An index that lacks more than so many versions gets larger segments, so that fewer are
	// merged later.
	far      int64
	farFlush int   // maxFlush then
	farTexts int64 // flushTexts then
	maxBuilt int64 // bytes that a segment takes in main memory while it is made

	scan  int // versions that a search looks up at a time if it scans
	found int // memories that it finds then before it makes a segment of them in main memory

	recent      int   // versions in a recent part
	recentTexts int64 // bytes of the texts in a recent part
}

// usual are the limits of backends.
var usual = limits{
	flushVersions: FlushVersions, flushTexts: 4 << 20, maxFlush: 16384, smallest: 4096,
	far: farBehind, farFlush: 65536, farTexts: 32 << 20, maxBuilt: 48 << 20,
	scan: 1024, found: 16384,
	recent: 8192, recentTexts: 16 << 20,
}

// FlushVersions is how many versions that an index lacks become a segment soon.
const FlushVersions = 1024

const (
	// retryIndexing is how long after an error the next step is tried.
	retryIndexing = time.Minute
	// maxStepRest is the longest pause after a step, within which there are pauses already.
	maxStepRest = 100 * time.Millisecond
)

type indexer struct {
	live   *Live
	cancel context.CancelFunc
	ctx    context.Context
	done   chan struct{}
	wake   chan struct{}
	last   atomic.Int64 // when something was written, in Unix nanoseconds
	rest   atomic.Int32 // see GiveWay
	scans  atomic.Int32 // how many searches read what an index lacks

	mu      sync.Mutex
	written map[memento.StoreID]int       // versions since its index was looked at; a store that is due has flushVersions
	later   map[memento.StoreID]time.Time // when a store will be due in any case
}

func (x *indexer) start(l *Live) {
	x.live, x.written, x.later = l, map[memento.StoreID]int{}, map[memento.StoreID]time.Time{}
	x.done, x.wake = make(chan struct{}), make(chan struct{}, 1)
	x.ctx, x.cancel = context.WithCancel(context.Background())
	go x.run()
}

// Close stops what is done in the background.
func (l *Live) Close() {
	l.indexer.cancel()
	<-l.indexer.done
}

// Wrote says that versions were written to a store. It takes well under a microsecond.
func (l *Live) Wrote(store memento.StoreID, versions int) {
	l.indexer.last.Store(time.Now().UnixNano())
	l.indexer.note(store, versions)
}

// Behind says that the index of a store may lack much.
func (l *Live) Behind(store memento.StoreID) { l.indexer.note(store, l.limits.flushVersions) }

// BehindAfter is Behind after a while.
func (l *Live) BehindAfter(store memento.StoreID, delay time.Duration) {
	x := &l.indexer
	due := time.Now().Add(delay)
	x.mu.Lock()
	if at, planned := x.later[store]; !planned || due.Before(at) {
		x.later[store] = due
	}
	x.mu.Unlock()
	x.awaken()
}

func (x *indexer) awaken() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

func (x *indexer) note(store memento.StoreID, versions int) {
	x.mu.Lock()
	before := x.written[store]
	x.written[store] = before + versions
	x.mu.Unlock()
	if before < x.live.limits.flushVersions && before+versions >= x.live.limits.flushVersions {
		x.awaken()
	}
}

// behind notes a store whose recent part is large.
func (x *indexer) behind(store memento.StoreID, s *liveStore) {
	v := s.view.Load()
	if s.distrust.Load() != 0 || v != nil && (v.changed >= x.live.limits.flushVersions || v.texts >= x.live.limits.flushTexts) {
		x.note(store, x.live.limits.flushVersions)
	}
}

// take returns a store that is due, or how long to wait for the next one.
func (x *indexer) take() (store memento.StoreID, due bool, wait time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	wait = time.Hour
	for store, at := range x.later {
		if left := at.Sub(now); left > 0 {
			wait = min(wait, left)
			continue
		}
		delete(x.later, store)
		x.written[store] += x.live.limits.flushVersions
	}
	for store, n := range x.written {
		if n >= x.live.limits.flushVersions {
			delete(x.written, store)
			return store, true, 0
		}
	}
	if len(x.written) > 1<<16 { // their searches will notice
		clear(x.written)
	}
	return "", false, wait
}

func (x *indexer) run() {
	defer close(x.done)
	for {
		store, due, wait := x.take()
		if !due {
			timer := time.NewTimer(wait)
			select {
			case <-x.wake:
			case <-timer.C:
			case <-x.ctx.Done():
			}
			timer.Stop()
			if x.ctx.Err() != nil {
				return
			}
			continue
		}
		start := time.Now()
		more, err := x.live.Keep(x.ctx, store)
		switch {
		case x.ctx.Err() != nil:
			return
		case errors.Is(err, ErrRevised):
			more = true
		case err != nil && !errors.Is(err, memento.ErrNoStore) && !errors.Is(err, ErrLarge):
			x.live.BehindAfter(store, retryIndexing)
		}
		if more {
			x.note(store, x.live.limits.flushVersions)
		}
		if !more {
			continue
		}
		rest := min(max(time.Since(start), time.Millisecond), maxStepRest)
		if err != nil { // another process does the same: it may be done before this one begins again
			rest += rand.N(10 * rest)
		}
		select {
		case <-time.After(rest):
		case <-x.ctx.Done():
			return
		}
	}
}

// Keep does a step of what keeps the index of a store small and the recent part short, and
// reports whether there is more to do.
//
// Errors: ErrRevised if another process has changed the index meanwhile.
func (l *Live) Keep(ctx context.Context, store memento.StoreID) (more bool, err error) {
	s := l.store(store)
	if more, err := l.storage.Sweep(ctx, store); err != nil || more {
		return more, err
	}
	if err := l.dropDistrusted(ctx, store, s); err != nil {
		return false, err
	}
	if purged, err := l.purgeRequested(ctx, store, true); err != nil || purged {
		return purged, err
	}
	e := &edition{live: l, store: store, pacer: l.indexer.newPacer(0)}
	more, err = e.flush(ctx)
	if err == nil && !more {
		more, err = e.merge(ctx)
	}
	if errors.Is(err, ErrIndex) && ctx.Err() == nil {
		s.distrust.Store(e.revision)
		return true, nil
	}
	return more, err
}

// dropDistrusted drops a stored index that does not match the store.
func (l *Live) dropDistrusted(ctx context.Context, store memento.StoreID, s *liveStore) error {
	revision := s.distrust.Load()
	if revision == 0 {
		return nil
	}
	err := l.storage.Publish(ctx, store, revision, StoredIndex{}, true)
	if err != nil && !errors.Is(err, ErrRevised) {
		return err
	}
	s.distrust.CompareAndSwap(revision, 0) // there is another revision now
	return nil
}
