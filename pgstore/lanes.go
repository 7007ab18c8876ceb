package pgstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"memento"
)

// lanes have a lane for each store that is being written to. The changes that
// wait in one process for the same store share a transaction, and so the lock, the
// round trips and the flush: each stands or falls on its own nevertheless.
//
// There is no goroutine for it: of the callers that wait, one at a time has the
// lead, and carries out the jobs of all.
type lanes struct {
	mu     sync.Mutex
	stores map[memento.StoreID]*lane
}

type lane struct {
	users int           // of lanes.mu
	lead  chan struct{} // holds a token while somebody writes

	mu   sync.Mutex
	jobs []*job // in the order of their coming
}

// A job is one Apply or Import that waits for its store.
type job struct {
	needs needs
	edits memento.Path         // the one memory that it writes, if it writes one
	plan  func(*session) error // in a transaction; again in another if that was lost
	state atomic.Int32
	err   error         // once done
	done  chan struct{} // closed when err is final
}

const (
	waiting int32 = iota
	taken         // somebody carries it out
	left          // its caller has given up before that
)

// maxBatch bounds the jobs in one transaction, and so how long the first waits for the last.
const maxBatch = 64

func (l *lanes) enter(store memento.StoreID) *lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stores == nil {
		l.stores = map[memento.StoreID]*lane{}
	}
	one := l.stores[store]
	if one == nil {
		one = &lane{lead: make(chan struct{}, 1)}
		l.stores[store] = one
	}
	one.users++
	return one
}

func (l *lanes) leave(store memento.StoreID, one *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(l.stores, store)
	}
}

// run carries out a job and returns once it is committed, or has failed. If ctx ends
// before the job was begun, it never will be.
func (b *Backend) run(ctx context.Context, op string, store memento.StoreID, j *job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.closed.Load() {
		return fail(op, memento.ErrClosed)
	}
	j.done = make(chan struct{})
	one := b.lanes.enter(store)
	defer b.lanes.leave(store, one)
	one.mu.Lock()
	one.jobs = append(one.jobs, j)
	one.mu.Unlock()
	for {
		select {
		case <-j.done:
			return fail(op, j.err)
		case one.lead <- struct{}{}:
			b.work(ctx, op, store, one, j)
		case <-ctx.Done():
			if j.state.CompareAndSwap(waiting, left) {
				return ctx.Err()
			}
			select {
			case <-j.done: // it may just have been
				return fail(op, j.err)
			default:
				return ctx.Err()
			}
		}
	}
}

// take removes the jobs that have come first, and marks them as taken.
func (l *lane) take() (batch []*job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for ; n < len(l.jobs) && len(batch) < maxBatch; n++ {
		if j := l.jobs[n]; j.state.CompareAndSwap(waiting, taken) {
			batch = append(batch, j)
		}
	}
	l.jobs = append(l.jobs[:0], l.jobs[n:]...)
	return batch
}

// work carries out the jobs that wait, and gives the lead back. A caller whose own job
// is the only one is served under its context; others must not fail because the one in the
// lead has given up, so their work goes on without it.
func (b *Backend) work(ctx context.Context, op string, store memento.StoreID, l *lane, own *job) {
	batch := l.take()
	do := func(ctx context.Context) {
		defer func() { <-l.lead }()
		b.carryOut(ctx, op, store, batch)
	}
	switch {
	case len(batch) == 0:
		<-l.lead
	case len(batch) == 1 && batch[0] == own:
		do(ctx)
	default:
		go do(context.WithoutCancel(ctx))
	}
}

func (b *Backend) carryOut(ctx context.Context, op string, store memento.StoreID, batch []*job) {
	err := b.transactJobs(ctx, op, store, batch)
	if err != nil && len(batch) > 1 && !errors.Is(err, memento.ErrUncertain) && !errors.Is(err, memento.ErrUnavailable) {
		// Perhaps what one of them writes is the reason.
		for _, j := range batch {
			b.carryOut(ctx, op, store, []*job{j})
		}
		return
	}
	for _, j := range batch {
		if err != nil {
			j.err = err
		}
		close(j.done)
	}
}

// safely is plan, with a panic as an error: others wait for the transaction.
func (j *job) safely(s *session) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = &memento.Error{Op: "apply", Err: fmt.Errorf("internal fault: %v", fault)}
		}
	}()
	return j.plan(s)
}
