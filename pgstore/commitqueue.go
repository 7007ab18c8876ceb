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
type commitQueues struct {
	mu     sync.Mutex
	stores map[memento.StoreID]*commitQueue
}

type commitQueue struct {
	users  int           // of lanes.mu
	leader chan struct{} // holds a token while somebody writes

	mu   sync.Mutex
	jobs []*job // in the order of their coming
}

// A job is one Apply or Import that waits for its store.
type job struct {
	prefetch   prefetch
	editedPath memento.Path         // the one memory that it writes, if it writes one
	plan       func(*session) error // in a transaction; again in another if that was lost
	state      atomic.Int32
	err        error         // once done
	done       chan struct{} // closed when err is final
}

const (
	waiting   int32 = iota
	claimed         // somebody carries it out
	abandoned       // its caller has given up before that
)

// maxBatch bounds the jobs in one transaction, and so how long the first waits for the last.
const maxBatch = 64

func (qs *commitQueues) join(store memento.StoreID) *commitQueue {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.stores == nil {
		qs.stores = map[memento.StoreID]*commitQueue{}
	}
	q := qs.stores[store]
	if q == nil {
		q = &commitQueue{leader: make(chan struct{}, 1)}
		qs.stores[store] = q
	}
	q.users++
	return q
}

func (qs *commitQueues) leave(store memento.StoreID, q *commitQueue) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if q.users--; q.users == 0 {
		delete(qs.stores, store)
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
	q := b.queues.join(store)
	defer b.queues.leave(store, q)
	q.mu.Lock()
	q.jobs = append(q.jobs, j)
	q.mu.Unlock()
	for {
		select {
		case <-j.done:
			return fail(op, j.err)
		case q.leader <- struct{}{}:
			b.lead(ctx, op, store, q, j)
		case <-ctx.Done():
			if j.state.CompareAndSwap(waiting, abandoned) {
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
func (q *commitQueue) claim() (batch []*job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for ; n < len(q.jobs) && len(batch) < maxBatch; n++ {
		if j := q.jobs[n]; j.state.CompareAndSwap(waiting, claimed) {
			batch = append(batch, j)
		}
	}
	q.jobs = append(q.jobs[:0], q.jobs[n:]...)
	return batch
}

// work carries out the jobs that wait, and gives the lead back. A caller whose own job
// is the only one is served under its context; others must not fail because the one in the
// lead has given up, so their work goes on without it.
func (b *Backend) lead(ctx context.Context, op string, store memento.StoreID, q *commitQueue, own *job) {
	batch := q.claim()
	do := func(ctx context.Context) {
		defer func() { <-q.leader }()
		b.runJobs(ctx, op, store, batch)
	}
	switch {
	case len(batch) == 0:
		<-q.leader
	case len(batch) == 1 && batch[0] == own:
		do(ctx)
	default:
		go do(context.WithoutCancel(ctx))
	}
}

func (b *Backend) runJobs(ctx context.Context, op string, store memento.StoreID, batch []*job) {
	err := b.runBatch(ctx, op, store, batch)
	if err != nil && len(batch) > 1 && !errors.Is(err, memento.ErrUncertain) && !errors.Is(err, memento.ErrUnavailable) {
		// Perhaps what one of them writes is the reason.
		for _, j := range batch {
			b.runJobs(ctx, op, store, []*job{j})
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
func (j *job) planSafely(s *session) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &memento.Error{Op: "apply", Err: fmt.Errorf("internal fault: %v", cause)}
		}
	}()
	return j.plan(s)
}
