// Package commitqueue is group commit, for authors of backends: writes that wait at the same
// time are committed together, so that they share a transaction, its round trips and its
// flush. Each write still succeeds or fails on its own.
//
// There is no goroutine for this: one of the waiting callers at a time is the leader, takes
// jobs from the [Queue] and carries them out. So a single caller never waits for another
// goroutine. What a transaction is, how many jobs it takes, and what becomes of the others
// if it fails, is the backend's.
package commitqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// ErrClosed is the error of a job that came after [Queue.Close].
var ErrClosed = errors.New("the commit queue is closed")

// A Job is one write. The type of a backend's jobs embeds it.
type Job struct {
	err  error         // final once done is closed
	done chan struct{} // closed when err is final
}

func (j *Job) base() *Job { return j }

// Finish ends a job that was taken from the queue, and gives its caller the result. It must
// be called exactly once for every such job.
func (j *Job) Finish(err error) {
	j.err = err
	close(j.done)
}

// A Queue has the jobs that wait to be committed, in the order of their arrival. It is safe
// for concurrent use. Use [New]. J is a pointer to a type that embeds [Job].
type Queue[J interface {
	comparable
	base() *Job
}] struct {
	leader  chan struct{} // holds a token while somebody is the leader
	outcome time.Duration

	mu      sync.Mutex
	waiting []J
	closed  bool
}

// UntilKnown makes [Queue.Do] wait for the outcome of a job in progress, however long that
// takes.
const UntilKnown time.Duration = -1

// New returns an empty queue.
//
// outcome is for how long [Queue.Do] waits for the outcome of a job whose context ends when
// it is already in progress. After that its caller does not know whether the job succeeds.
func New[J interface {
	comparable
	base() *Job
}](outcome time.Duration) *Queue[J] {
	return &Queue[J]{leader: make(chan struct{}, 1), outcome: outcome}
}

// Do adds a job to the queue, and returns the error that it was finished with. A job can be
// used once.
//
// If nobody is the leader, Do makes its caller the leader and calls lead, with ctx. This has
// to take jobs and finish them, and must call [Queue.Unlock] in the end, in this goroutine
// or in another. The caller's own job need not be among the jobs that it takes, so lead may
// be called several times.
//
// If ctx ends before the job was taken, it is never carried out, and Do returns the error of
// ctx. Errors: ErrClosed.
func (q *Queue[J]) Do(ctx context.Context, job J, lead func(context.Context)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := job.base()
	j.done = make(chan struct{})
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return ErrClosed
	}
	q.waiting = append(q.waiting, job)
	q.mu.Unlock()
	for {
		select {
		case <-j.done:
			return j.err
		case q.leader <- struct{}{}:
			lead(ctx)
		case <-ctx.Done():
			if q.withdraw(job) {
				return ctx.Err()
			}
			return q.waitForOutcome(ctx, j)
		}
	}
}

// withdraw removes a job that was not taken yet.
func (q *Queue[J]) withdraw(job J) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, job)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	return i >= 0
}

func (q *Queue[J]) waitForOutcome(ctx context.Context, j *Job) error {
	select {
	case <-j.done: // perhaps just now
		return j.err
	default:
	}
	var end <-chan time.Time // never
	switch {
	case q.outcome == 0:
		return ctx.Err()
	case q.outcome > 0:
		timer := time.NewTimer(q.outcome)
		defer timer.Stop()
		end = timer.C
	}
	select {
	case <-j.done:
		return j.err
	case <-end:
		return ctx.Err()
	}
}

// Take removes the oldest jobs from the queue, at most max, and returns them. Only the
// leader may call it, and it must finish them.
func (q *Queue[J]) Take(max int) []J {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(max, len(q.waiting))
	batch := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return batch
}

// Len returns how many jobs are waiting.
func (q *Queue[J]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// Lock waits until nobody is the leader, and makes the caller the leader, for work that has
// to alternate with commits. The caller must call Unlock.
func (q *Queue[J]) Lock() { q.leader <- struct{}{} }

// TryLock is Lock if nobody is the leader and no job is waiting. Otherwise, and once the
// queue is closed, it returns false.
func (q *Queue[J]) TryLock() bool {
	select {
	case q.leader <- struct{}{}:
	default:
		return false
	}
	q.mu.Lock()
	wanted := q.closed || len(q.waiting) > 0
	q.mu.Unlock()
	if wanted {
		q.Unlock()
	}
	return !wanted
}

// Unlock ends being the leader.
func (q *Queue[J]) Unlock() { <-q.leader }

// Close makes the queue refuse further jobs. It returns false if that was done before. Jobs
// that are waiting stay in the queue: their callers carry them out.
func (q *Queue[J]) Close() (first bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	first, q.closed = !q.closed, true
	return first
}

// Closed reports whether Close was called.
func (q *Queue[J]) Closed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// A PanicError is the error of a job that has panicked.
type PanicError struct{ Cause any }

func (e *PanicError) Error() string { return fmt.Sprintf("internal fault: %v", e.Cause) }

// Safely calls do, which is a part of one job, and returns a panic as a [*PanicError]: the
// callers of the other jobs must not suffer from it.
func Safely(do func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &PanicError{cause}
		}
	}()
	return do()
}
