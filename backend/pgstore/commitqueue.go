package pgstore

import (
	"context"
	"errors"

	"memento"
	"memento/backend/commitqueue"
	"memento/internal/refcount"
)

// commitQueues has a commit queue for each store that is being written to. The changes that
// wait in one process for the same store share a transaction, and so the lock, the round
// trips and the flush.
type commitQueues = refcount.Map[memento.StoreID, *commitqueue.Queue[*job]]

// newCommitQueues returns queues whose callers do not wait for the outcome of a job in
// progress when their context ends: the server may take as long as it likes.
func newCommitQueues() *commitQueues {
	return refcount.New[memento.StoreID](func() *commitqueue.Queue[*job] { return commitqueue.New[*job](0) })
}

// A job is one Apply or Import that waits for its store.
type job struct {
	commitqueue.Job
	prefetch   prefetch
	editedPath memento.Path         // the path of the only memory that it writes, or ""
	plan       func(*session) error // called in a transaction, and again in another one if that was lost
	err        error                // of plan
}

// maxBatch is the largest number of jobs in one transaction. It limits how long the first
// job waits for the last.
const maxBatch = 64

// run carries out a job. It returns when the job is committed or has failed. If ctx ends
// before the job was begun, it is never carried out.
func (b *Backend) run(ctx context.Context, op string, store memento.StoreID, j *job) error {
	if b.closed.Load() {
		return fail(op, memento.ErrClosed)
	}
	q := b.queues.Acquire(store)
	defer b.queues.Release(store)
	err := q.Do(ctx, j, func(ctx context.Context) { b.lead(ctx, op, store, q, j) })
	return fail(op, err)
}

// lead carries out the waiting jobs. If the only job is the caller's own, it runs under the
// caller's context. A batch with other jobs does not depend on the context of the leader:
// they must not fail because the leader gave up.
func (b *Backend) lead(ctx context.Context, op string, store memento.StoreID, q *commitqueue.Queue[*job], own *job) {
	batch := q.Take(maxBatch)
	do := func(ctx context.Context) {
		defer q.Unlock()
		b.runJobs(ctx, op, store, batch)
	}
	switch {
	case len(batch) == 0:
		q.Unlock()
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
		j.Finish(j.err)
	}
}

// planSafely calls plan, and returns a panic as an error.
func (j *job) planSafely(s *session) error {
	err := commitqueue.Safely(func() error { return j.plan(s) })
	if fault, ok := errors.AsType[*commitqueue.PanicError](err); ok {
		return &memento.Error{Op: "apply", Err: fault}
	}
	return err
}
