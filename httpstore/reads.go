package httpstore

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"memento"
)

const (
	readDelay   = 5 * time.Second  // how long a note waits for others, to be sent with them
	readEvery   = 15 * time.Minute // how often a memory's is sent at most; read times are coarser
	maxReads    = 100_000          // notes kept at most
	readsAtOnce = 1000             // IDs of one request
	readsTime   = 10 * time.Second // to send what is left when the backend is closed, or by itself
)

// reads notes which memories were read, and has the notes sent now and then.
type reads struct {
	send func(context.Context, memento.StoreID, []memento.MemoryID) error

	mu     sync.Mutex
	noted  map[readKey]time.Time // sent, or to be sent
	fresh  map[memento.StoreID][]memento.MemoryID
	timer  *time.Timer
	active sync.WaitGroup // senders that the timer has started
	closed bool
}

type readKey struct {
	store  memento.StoreID
	memory memento.MemoryID
}

func (r *reads) note(key readKey, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, ok := r.noted[key]; r.closed || ok && at.Sub(last) < readEvery {
		return
	}
	if r.noted == nil || len(r.noted) >= maxReads {
		r.noted = map[readKey]time.Time{}
	}
	if r.fresh == nil {
		r.fresh = map[memento.StoreID][]memento.MemoryID{}
	}
	if r.timer == nil {
		r.active.Add(1)
		r.timer = time.AfterFunc(readDelay, r.flush)
	}
	r.noted[key] = at
	r.fresh[key.store] = append(r.fresh[key.store], key.memory)
}

// flush sends what is fresh. Losing it is what ReadMarker allows.
func (r *reads) flush() {
	defer r.active.Done()
	r.mu.Lock()
	r.timer = nil
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), readsTime)
	defer cancel()
	_ = r.sync(ctx)
}

func (r *reads) sync(ctx context.Context) error {
	r.mu.Lock()
	fresh := r.fresh
	r.fresh = nil
	r.mu.Unlock()
	var errs []error
	for store, ids := range fresh {
		for len(ids) > 0 {
			n := min(len(ids), readsAtOnce)
			if err := r.send(ctx, store, ids[:n]); err != nil {
				errs = append(errs, err)
			}
			ids = ids[n:]
		}
	}
	return errors.Join(errs...)
}

// close sends what is fresh. Nothing is sent any more once it has returned.
func (r *reads) close() {
	r.mu.Lock()
	r.closed = true
	if r.timer != nil && r.timer.Stop() {
		r.active.Done()
	}
	r.mu.Unlock()
	r.active.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), readsTime)
	defer cancel()
	_ = r.sync(ctx)
}

// MarkRead implements [memento.ReadMarker]. What it notes is sent within some
// seconds, and by Close.
func (b *Backend) MarkRead(store memento.StoreID, id memento.MemoryID) {
	if isID(string(store), "memstore_") && isID(string(id), "mem_") {
		b.reads.note(readKey{store, id}, time.Now())
	}
}

// SyncReads implements [memento.ReadMarker].
func (b *Backend) SyncReads(ctx context.Context) error {
	if err := b.absent(ctx, "sync reads", nil); err != nil {
		return err
	}
	return b.reads.sync(ctx)
}

// sendReads tells the server which memories of a store were read.
func (b *Backend) sendReads(ctx context.Context, store memento.StoreID, ids []memento.MemoryID) error {
	path, _ := storePath(store, "/reads")
	body := struct {
		Memories []memento.MemoryID `json:"memory_ids"`
	}{ids}
	// Marked twice is marked once.
	err := b.round(ctx, request{op: "sync reads", method: http.MethodPost, path: path, body: body, safe: true}, nil)
	if errors.Is(err, memento.ErrNoStore) {
		return nil // what was read is gone
	}
	return err
}
