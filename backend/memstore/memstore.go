// Package memstore is the reference backend: it keeps everything in memory, until the
// program ends. It is for tests, for programs that need memories only while they run, and
// for reading: it implements [memento.Backend] in the simplest way, and the other backends
// are compared with it.
//
//	backend := memstore.New(nil)
//	store := memento.OpenNamed(backend, memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, &memento.StoreOptions{Detector: sensitive.Default()})
//
// One lock guards everything. Readers copy what they need under the lock, and yield it
// afterwards, so a listing is of one instant and blocks nobody. A search reads every memory
// below its directory.
//
// Only Prune removes history: without it, a backend that is written to grows until it is
// closed.
package memstore

import (
	"context"
	"sync"
	"time"

	"memento"
	"memento/backend"
	"memento/backend/apikey"
)

// A Backend keeps stores in memory. It is safe for concurrent use. Use [New].
type Backend struct {
	now func() time.Time

	mu     sync.RWMutex
	stores map[memento.StoreID]*store
	keys   []apikey.Key // oldest first
	notes  map[string]string
	closed bool
}

var (
	_ memento.Backend         = (*Backend)(nil)
	_ memento.Searcher        = (*Backend)(nil)
	_ memento.ReadMarker      = (*Backend)(nil)
	_ apikey.Keeper           = (*Backend)(nil)
	_ backend.WorkspaceLister = (*Backend)(nil)
	_ backend.Leaser          = (*Backend)(nil)
	_ backend.NoteKeeper      = (*Backend)(nil)
	_ backend.PositionLister  = (*Backend)(nil)
)

// Options are the options of [New]; nil means all defaults.
type Options struct {
	// Now returns the current time; nil means time.Now. Times are kept in UTC, in whole
	// microseconds.
	Now func() time.Time
}

// New returns an empty backend.
func New(opts *Options) *Backend {
	b := &Backend{now: time.Now, stores: map[memento.StoreID]*store{}, notes: map[string]string{}}
	if opts != nil && opts.Now != nil {
		b.now = opts.Now
	}
	return b
}

// Close drops all data. Methods called afterwards return ErrClosed.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.stores, b.keys, b.notes = true, nil, nil, nil
	return nil
}

// time returns the time of a change that follows one made at last.
func (b *Backend) time(last time.Time) time.Time { return backend.NextTime(b.now(), last) }

// open checks that the backend is open and ctx has not ended. The caller holds the lock.
func (b *Backend) open(ctx context.Context, op string) error {
	if b.closed {
		return &memento.Error{Op: op, Err: memento.ErrClosed}
	}
	return ctx.Err()
}

// store returns a store of any workspace. The caller holds the lock.
func (b *Backend) store(ctx context.Context, op string, id memento.StoreID) (*store, error) {
	if err := b.open(ctx, op); err != nil {
		return nil, err
	}
	s := b.stores[id]
	if s == nil {
		return nil, &memento.Error{Op: op, Err: memento.ErrNoStore}
	}
	return s, nil
}

// read runs f on a store with the lock held for reading.
func (b *Backend) read(ctx context.Context, op string, id memento.StoreID, f func(*store) error) error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	s, err := b.store(ctx, op, id)
	if err != nil {
		return err
	}
	return f(s)
}

// write runs f on a store with the lock held for writing.
func (b *Backend) write(ctx context.Context, op string, id memento.StoreID, f func(*store) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, err := b.store(ctx, op, id)
	if err != nil {
		return err
	}
	return f(s)
}
