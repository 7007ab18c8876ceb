package sqlitestore

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"memento"

	"zombiezen.com/go/sqlite"
)

// Segments of the search index have words of versions that are not the newest any more.
// They leave the file when the segments are rewritten. So a transaction that removes
// something for good also adds a row to the table forgetting: a request to purge the index
// of its store. The segments are then rewritten in steps, between which other writes run: a
// few seconds later, at once for a redaction, and at the latest by Close. If the process
// dies before that, the next process to open the file does it.

const (
	// purgeDelay is how long after a request the purge begins, so that one purge serves
	// several requests.
	purgeDelay = 5 * time.Second
	// After each step, the purge pauses for purgeRestFactor times the duration of the step.
	// The next purge begins after purgePauseFactor times the duration of all steps. So
	// purges take up to 5 % of the time; rewriting a segment gives way to others by itself.
	purgeRestFactor, purgePauseFactor = 19, 20
	// maxPurgeRest is the longest pause: a step may have waited for others.
	maxPurgeRest = time.Second / 20
	// orphanedPurgeAge is the age at which any process takes over a request: the process
	// that made it has probably died.
	orphanedPurgeAge = time.Minute
)

// requestPurge requests, in the current transaction, that words of removed versions leave
// the index of a store.
func requestPurge(c *conn, store int64) error {
	return c.exec(`INSERT INTO forgetting (store, since, begun) SELECT ?1, ?2, 0
		WHERE NOT EXISTS (SELECT 1 FROM forgetting WHERE store = ?1 AND begun = 0)`, store, micros(time.Now()))
}

// readPurgeRequest returns when the oldest request was made. found is false if there are none.
func readPurgeRequest(c *conn) (since time.Time, found bool, err error) {
	found, err = c.one(`SELECT min(since) FROM forgetting HAVING count(*) > 0`, func(s *sqlite.Stmt) { since = timeAt(s, 0) })
	return since, found, err
}

// beginPurge takes over all requests of one store, by a number that nobody else uses.
func (b *Backend) beginPurge(ctx context.Context, begun int64) (store int64, id memento.StoreID, found bool, err error) {
	_, err = writeFreeing(ctx, b.writer, func(t *tx) (struct{}, error) {
		found, err = t.one(`SELECT f.store, coalesce(s.id, '') FROM forgetting f LEFT JOIN stores s ON s.num = f.store ORDER BY f.since LIMIT 1`,
			func(s *sqlite.Stmt) { store, id = s.ColumnInt64(0), memento.StoreID(s.ColumnText(1)) })
		if err == nil && found {
			err = t.exec(`UPDATE forgetting SET begun = ? WHERE store = ?`, begun, store)
		}
		return struct{}{}, err
	})
	return store, id, found, err
}

// purgeIndex removes words of removed versions from the medium: from the index, from free
// pages and from the log. After each step it pauses for rest times the duration of the step.
//
// Without a pause somebody waits for it. Several who do wait for one another: the purge of one
// serves those who made their requests before it began.
func (b *Backend) purgeIndex(ctx context.Context, rest int) error {
	if rest == 0 {
		b.purger.now.Lock()
		defer b.purger.now.Unlock()
	}
	for {
		begun := 1 + rand.Int64N(1<<62)
		store, id, found, err := b.beginPurge(ctx, begun)
		if err != nil || !found {
			return err
		}
		if id != "" {
			err = b.purgeStore(ctx, id, rest)
		}
		if err != nil && !errors.Is(err, memento.ErrNoStore) {
			return err
		}
		_, err = writeFreeing(ctx, b.writer, func(t *tx) (struct{}, error) {
			return struct{}{}, t.exec(`DELETE FROM forgetting WHERE store = ? AND begun = ?`, store, begun)
		})
		if err != nil {
			return err
		}
		b.writer.shrink()
	}
}

func (b *Backend) purgeStore(ctx context.Context, store memento.StoreID, rest int) error {
	start := time.Now()
	return b.index.Purge(ctx, store, rest > 0, func(ctx context.Context) error {
		b.writer.checkLog() // one step writes as much as many changes
		select {
		case <-time.After(min(maxPurgeRest, time.Duration(rest)*time.Since(start))):
		case <-ctx.Done():
			return ctx.Err()
		}
		start = time.Now()
		return nil
	})
}

// An indexPurger schedules purges of the index.
type indexPurger struct {
	now sync.Mutex // held while a purge runs that somebody waits for

	mu      sync.Mutex
	pending bool // whether there may be a request that this process must carry out
	planned *time.Timer
	pause   time.Duration
	closed  bool

	ctx    context.Context // of the purge in progress; canceled by close
	cancel context.CancelFunc
	work   sync.WaitGroup // what is planned or under way
}

// schedulePurge schedules a purge after this process has made a request.
func (b *Backend) schedulePurge() {
	b.purger.mu.Lock()
	defer b.purger.mu.Unlock()
	b.purger.pending = true
	b.planPurge(max(purgeDelay, b.purger.pause))
}

// adoptPurge schedules a purge for a request of another process, which may be about to
// carry it out itself.
func (b *Backend) adoptPurge(since time.Time) {
	age := time.Since(since)
	b.purger.mu.Lock()
	defer b.purger.mu.Unlock()
	b.purger.pending = age > orphanedPurgeAge
	b.planPurge(max(purgeDelay, orphanedPurgeAge-age))
}

// planPurge starts a timer for a purge, unless one is planned or in progress. The caller
// holds the lock.
func (b *Backend) planPurge(delay time.Duration) {
	f := &b.purger
	if f.planned != nil || f.closed {
		return
	}
	if f.cancel == nil {
		f.ctx, f.cancel = context.WithCancel(context.Background())
	}
	f.work.Add(1)
	f.planned = time.AfterFunc(delay, func() {
		defer f.work.Done()
		b.runPlannedPurge()
	})
}

func (b *Backend) runPlannedPurge() {
	f := &b.purger
	f.mu.Lock()
	f.pending = false
	f.mu.Unlock()
	start := time.Now()
	err := b.purgeIndex(f.ctx, purgeRestFactor)

	f.mu.Lock()
	defer f.mu.Unlock()
	f.planned, f.pause = nil, purgePauseFactor*time.Since(start)/(1+purgeRestFactor)
	switch {
	case err != nil: // for example, the disk is full
		f.pending = true
		b.planPurge(max(orphanedPurgeAge, f.pause))
	case f.pending: // requested again in the meantime
		b.planPurge(max(purgeDelay, f.pause))
	}
}

// close cancels the purge that is planned or in progress, and reports whether something
// remains to be done.
func (f *indexPurger) close() (pending bool) {
	f.mu.Lock()
	f.closed = true
	if f.cancel != nil {
		f.cancel()
	}
	if f.planned != nil && f.planned.Stop() {
		f.work.Done()
	}
	f.mu.Unlock()
	f.work.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	pending, f.pending = f.pending, false
	return pending
}
