package pgstore

import (
	"context"
	"sync"
	"time"

	"memento"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	readPrecision = time.Hour        // how far off a read time may be
	readDelay     = 30 * time.Second // how long a note waits for others, to be written with them
	maxReads      = 100_000          // notes kept at most
	flushPatience = time.Second      // how long writing them may take; they are not worth more
)

// reads notes which memories were read, and has the notes written now and then.
type reads struct {
	flush func(context.Context, map[readKey]time.Time) error

	mu     sync.Mutex
	noted  map[readKey]time.Time // written, or to be written by the timer
	fresh  map[readKey]time.Time // to be written
	timer  *time.Timer
	wg     sync.WaitGroup // of the timer's writes
	closed bool
}

type readKey struct {
	store  memento.StoreID
	memory memento.MemoryID
}

// note keeps that a memory was read, unless that is known well enough.
func (r *reads) note(key readKey, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || at.Sub(r.noted[key]) < readPrecision {
		return
	}
	if r.noted == nil || len(r.noted) >= maxReads {
		r.noted = map[readKey]time.Time{}
	}
	if r.fresh == nil {
		r.fresh = map[readKey]time.Time{}
		r.timer = time.AfterFunc(readDelay, r.write)
	}
	r.noted[key] = at
	r.fresh[key] = at
}

// write writes what is fresh. Losing it is what ReadMarker allows.
func (r *reads) write() {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	r.wg.Add(1)
	r.mu.Unlock()
	defer r.wg.Done()
	r.syncSoon()
}

func (r *reads) syncSoon() {
	ctx, cancel := context.WithTimeout(context.Background(), flushPatience)
	defer cancel()
	_ = r.sync(ctx)
}

func (r *reads) sync(ctx context.Context) error {
	r.mu.Lock()
	fresh := r.fresh
	r.fresh = nil
	r.mu.Unlock()
	if len(fresh) == 0 {
		return nil
	}
	err := r.flush(ctx, fresh)
	if err != nil { // so that the next read of each is noted again
		r.mu.Lock()
		defer r.mu.Unlock()
		for key, at := range fresh {
			if r.noted[key].Equal(at) {
				delete(r.noted, key)
			}
		}
	}
	return err
}

func (r *reads) close() {
	r.mu.Lock()
	r.closed = true
	if r.timer != nil {
		r.timer.Stop()
	}
	r.mu.Unlock()
	r.wg.Wait()
	r.syncSoon()
}

// MarkRead implements [memento.ReadMarker].
func (b *Backend) MarkRead(store memento.StoreID, id memento.MemoryID) {
	b.reads.note(readKey{store, id}, time.Now().UTC())
}

// SyncReads implements [memento.ReadMarker].
func (b *Backend) SyncReads(ctx context.Context) error { return b.reads.sync(ctx) }

// flushReads writes the notes in one statement. It waits for no store: whoever
// writes to a memory meanwhile leaves this column alone.
func (b *Backend) flushReads(ctx context.Context, notes map[readKey]time.Time) error {
	const query = `UPDATE memento.memories m SET read_at = u.at
		FROM unnest($1::text[], $2::text[], $3::bigint[]) u (store, id, at) JOIN memento.stores s ON s.id = u.store
		WHERE m.store = s.num AND m.id = u.id AND (m.read_at IS NULL OR m.read_at < u.at)`
	var stores, ids []string
	var times []int64
	for key, at := range notes {
		if storable(string(key.store)) && storable(string(key.memory)) {
			stores, ids, times = append(stores, string(key.store)), append(ids, string(key.memory)), append(times, micros(at))
		}
	}
	_, err := read(ctx, b, "sync reads", func(ctx context.Context, c *pgxpool.Conn) (tag, error) {
		return c.Exec(ctx, b.sql(query), stores, ids, times)
	})
	return err
}
