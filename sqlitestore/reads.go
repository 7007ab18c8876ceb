package sqlitestore

import (
	"context"
	"sync"
	"time"

	"memento"
)

const (
	readPrecision = time.Hour        // how far off a read time may be
	readDelay     = 30 * time.Second // how long a note waits for others, to be written with them
	maxReads      = 100_000          // notes kept at most

	flushPatience = 100 * time.Millisecond // how long notes wait for other processes; they are not worth more
)

// reads notes which memories were read, and has the notes written now and then.
type reads struct {
	flush func(context.Context, map[readKey]time.Time) error

	mu     sync.Mutex
	noted  map[readKey]time.Time // written, or to be written by the timer
	fresh  map[readKey]time.Time // to be written
	timer  *time.Timer
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

// write writes what is fresh. Losing it, on a medium that is full or read-only,
// is what ReadMarker allows.
func (r *reads) write() {
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
	return r.flush(ctx, fresh)
}

func (r *reads) close() {
	r.mu.Lock()
	r.closed = true
	if r.timer != nil {
		r.timer.Stop()
	}
	r.mu.Unlock()
	r.write()
}

// MarkRead implements [memento.ReadMarker].
func (b *Backend) MarkRead(store memento.StoreID, id memento.MemoryID) {
	b.reads.note(readKey{store, id}, b.clock(time.Time{}))
}

// SyncReads implements [memento.ReadMarker].
func (b *Backend) SyncReads(ctx context.Context) error { return fail("sync reads", b.reads.sync(ctx)) }

func (b *Backend) flushReads(ctx context.Context, notes map[readKey]time.Time) error {
	return b.writer.run(ctx, func(t *tx) error {
		for key, at := range notes {
			if err := t.exec(`UPDATE memories SET read_at = ?1
				WHERE store = (SELECT num FROM stores WHERE id = ?2) AND id = ?3 AND (read_at IS NULL OR read_at < ?1)`,
				micros(at), string(key.store), string(key.memory)); err != nil {
				return err
			}
		}
		return nil
	})
}
