package pgstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"memento"
)

// commitQueues has a commit queue for each store that is being written to. The changes that
// wait in one process for the same store share a transaction, and so the lock, the round
// trips and the flush. Each change still succeeds or fails on its own.
//
// There is no goroutine for this: one of the waiting callers at a time is the leader, and
// carries out the jobs of all.
type commitQueues struct {
	mu     sync.Mutex
	stores map[memento.StoreID]*commitQueue
}

type commitQueue struct {
	users  int           // callers that use the queue; guarded by commitQueues.mu
	leader chan struct{} // holds a token while a leader is writing

	mu   sync.Mutex
	jobs []*job // in the order of arrival
}

// A job is one Apply or Import that waits for its store.
type job struct {
	prefetch   prefetch
	editedPath memento.Path         // the path of the only memory that it writes, or ""
	plan       func(*session) error // called in a transaction, and again in another one if that was lost
	state      atomic.Int32
	err        error         // final once done is closed
	done       chan struct{} // closed when err is final
}

const (
	waiting   int32 = iota
	claimed         // a leader carries it out
	abandoned       // its caller gave up before a leader claimed it
)

// maxBatch is the largest number of jobs in one transaction. It limits how long the first
// job waits for the last.
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

// run carries out a job. It returns when the job is committed or has failed. If ctx ends
// before the job was claimed, the job is never carried out.
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
			case <-j.done: // it may have been closed just now
				return fail(op, j.err)
			default:
				return ctx.Err()
			}
		}
	}
}

// claim removes the oldest jobs from the queue, and marks them as claimed.
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

// lead carries out the waiting jobs, and then gives the leader token back. If the only job
// is the caller's own, it runs under the caller's context. A batch with other jobs does not
// depend on the context of the leader: they must not fail because the leader gave up.
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
		// One job may be the cause: run each one alone.
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

// planSafely calls plan and returns a panic as an error, because other jobs share the
// transaction.
func (j *job) planSafely(s *session) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &memento.Error{Op: "apply", Err: fmt.Errorf("internal fault: %v", cause)}
		}
	}()
	return j.plan(s)
}
