// Package readnotes keeps notes of which memories were read, and has them written
// now and then: what a backend that is a [memento.ReadMarker] needs besides the
// writing itself.
//
// A read is cheap to note, and most are not worth it: times are coarse, so that
// one note in a while is enough for a memory, and notes wait for one another.
package readnotes

import (
	"context"
	"sync"
	"time"

	"memento"
)

// most is how many notes are kept, at the most.
const most = 100_000

// A Key names a memory that was read.
type Key struct {
	Store  memento.StoreID
	Memory memento.MemoryID
}

// Timing says when notes are made and written.
type Timing struct {
	// Every is how much later than the last noted one a read of the same memory
	// must be to be noted as well, and so how far off read times may be.
	Every time.Duration
	// Delay is how long a note waits for others, to be written with them.
	Delay time.Duration
	// WriteTimeout is how long a write that nobody asked for may take, and the one of
	// Close. Notes are not worth more.
	WriteTimeout time.Duration
	// KeepFailed keeps the notes of a failed write, to be written with the next one.
	// Otherwise they are forgotten.
	KeepFailed bool
}

// Notes are the notes of one backend. They are safe for concurrent use.
type Notes struct {
	timing Timing
	write  func(context.Context, map[Key]time.Time) error
	turn   chan struct{} // holds a token while somebody writes

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

// Note keeps that a memory was read, unless that is known well enough, or more reads
// wait to be written than can be kept. It does not wait for a write.
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

// flush writes what is fresh, for the timer. Losing it is what ReadMarker allows.
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
	if n.fresh != nil && !n.closed { // somebody else was writing for too long
		n.timer.Reset(n.timing.Delay)
	}
}

func (n *Notes) try() {
	ctx, cancel := context.WithTimeout(context.Background(), n.timing.WriteTimeout)
	defer cancel()
	_ = n.Sync(ctx)
}

// Sync writes what is noted and not written yet. If somebody is writing it waits
// for them, so that it is all written when Sync returns nil.
func (n *Notes) Sync(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err // rather than lose what cannot be written
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

// Noted returns when a memory was read according to the notes, written or not; zero if
// there is no note of it.
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

// keep makes notes fresh again that could not be written, unless there are newer ones.
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

// forget forgets notes that are lost, so that the next read of each is noted.
func (n *Notes) forget(lost map[Key]time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for key, at := range lost {
		if n.noted[key].Equal(at) {
			delete(n.noted, key)
		}
	}
}

// Close writes what is fresh, as far as that is possible soon. When it returns,
// what the timer had begun to write is over, and Note notes nothing any more.
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
