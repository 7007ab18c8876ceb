// Package readnotes collects read times of memories, and writes them regularly. It is
// what a backend that implements [memento.ReadMarker] needs besides the writing itself.
//
// Noting a read is cheap, and most reads are not written: read times are coarse, so that
// one note in a while is enough for a memory, and notes are written together.
package readnotes

import (
	"context"
	"sync"
	"time"

	"memento"
)

// most is the maximum number of notes kept.
const most = 100_000

// A Key identifies a memory that was read.
type Key struct {
	Store  memento.StoreID
	Memory memento.MemoryID
}

// Timing says when notes are made and written.
type Timing struct {
	// Every is the minimum time between two notes of reads of the same memory, and so the
	// precision of read times.
	Every time.Duration
	// Delay is how long notes are collected before they are written together.
	Delay time.Duration
	// WriteTimeout is the maximum time for a write by the timer or by Close.
	WriteTimeout time.Duration
	// KeepFailed keeps the notes of a failed write, to be written with the next ones.
	// Otherwise they are dropped.
	KeepFailed bool
}

// Notes are the notes of one backend. They are safe for concurrent use.
type Notes struct {
	timing Timing
	write  func(context.Context, map[Key]time.Time) error
	turn   chan struct{} // holds a token during a write

	mu     sync.Mutex
	noted  map[Key]time.Time // written, being written, or to be written
	fresh  map[Key]time.Time // to be written; nil, or the timer is running
	timer  *time.Timer
	active sync.WaitGroup // the timer's writes
	closed bool
}

// New returns Notes that are written by calling write, never by two calls at once. write
// may delete from the map the notes that it has written. Sync returns the error of write;
// the notes that are left in the map are then kept or forgotten: see Timing.KeepFailed.
// The caller closes the Notes.
func New(timing Timing, write func(context.Context, map[Key]time.Time) error) *Notes {
	return &Notes{timing: timing, write: write, turn: make(chan struct{}, 1), noted: map[Key]time.Time{}}
}

// Note records that a memory was read, unless a recent note has it, or too many notes are
// waiting to be written. It does not wait for a write.
func (n *Notes) Note(store memento.StoreID, memory memento.MemoryID, at time.Time) {
	key := Key{store, memory}
	n.mu.Lock()
	defer n.mu.Unlock()
	if last, ok := n.noted[key]; n.closed || len(n.fresh) == most || ok && at.Sub(last) < n.timing.Every {
		return
	}
	if len(n.noted) >= most {
		n.noted = map[Key]time.Time{}
	}
	n.start()
	n.noted[key] = at
	n.fresh[key] = at
	if len(n.fresh) == most {
		n.timer.Reset(0)
	}
}

// start makes fresh, and has it written after the delay. n.mu is held.
func (n *Notes) start() {
	if n.fresh != nil {
		return
	}
	n.fresh = map[Key]time.Time{}
	if !n.closed {
		n.timer = time.AfterFunc(n.timing.Delay, n.flush)
	}
}

// flush writes fresh, for the timer. ReadMarker allows losing notes.
func (n *Notes) flush() {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return
	}
	n.active.Add(1)
	n.mu.Unlock()
	defer n.active.Done()
	n.try()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fresh != nil && !n.closed { // another write took too long
		n.timer.Reset(n.timing.Delay)
	}
}

func (n *Notes) try() {
	ctx, cancel := context.WithTimeout(context.Background(), n.timing.WriteTimeout)
	defer cancel()
	_ = n.Sync(ctx)
}

// Sync writes all notes that are not written yet. It waits for a write under way, so that
// everything is written when Sync returns nil.
func (n *Notes) Sync(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err // rather than lose notes that cannot be written
	}
	select {
	case n.turn <- struct{}{}:
		defer func() { <-n.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	fresh := n.take()
	if len(fresh) == 0 {
		return nil
	}
	err := n.write(ctx, fresh)
	switch {
	case err != nil && n.timing.KeepFailed:
		n.keep(fresh)
	case err != nil:
		n.forget(fresh)
	}
	return err
}

// Noted returns the time of the last note of a memory, written or not; zero if there is
// none.
func (n *Notes) Noted(store memento.StoreID, memory memento.MemoryID) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.noted[Key{store, memory}]
}

func (n *Notes) take() (fresh map[Key]time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if fresh = n.fresh; fresh != nil {
		n.timer.Stop()
		n.fresh = nil
	}
	return fresh
}

// keep makes notes whose write failed fresh again, unless there are newer ones.
func (n *Notes) keep(failed map[Key]time.Time) {
	if len(failed) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.start()
	for key, at := range failed {
		switch _, newer := n.fresh[key]; {
		case newer:
		case len(n.fresh) < most:
			n.fresh[key] = at
		default:
			delete(n.noted, key)
		}
	}
}

// forget drops notes that are lost, so that the next read of each memory is noted.
func (n *Notes) forget(lost map[Key]time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for key, at := range lost {
		if n.noted[key].Equal(at) {
			delete(n.noted, key)
		}
	}
}

// Close writes fresh, within WriteTimeout. When it returns, no write of the timer is
// running, and Note does nothing any more.
func (n *Notes) Close() {
	n.mu.Lock()
	n.closed = true
	if n.timer != nil {
		n.timer.Stop()
	}
	n.mu.Unlock()
	n.active.Wait()
	n.try()
}
