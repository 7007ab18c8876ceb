package sqlitestore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"memento"
)

// A writer owns the one connection that writes. It commits the changes that
// wait at the same time together, so that they share the cost of a flush: group
// commit. Each change stands or falls on its own.
type writer struct {
	conn *conn
	jobs chan *job
	idle func(*tx) (more bool, err error) // work for quiet moments

	mu     sync.RWMutex // held for reading to send to jobs, for writing to close it
	closed bool
	done   chan struct{} // closed when the last job is done
}

// A job is one change that waits for the writer.
type job struct {
	do    func(*tx) error // called in a transaction; again in another if that was lost
	state atomic.Int32
	err   error
	done  chan struct{}
}

const (
	waiting int32 = iota
	taken         // the writer carries it out
	left          // its caller has given up before that
)

// maxBatch bounds the changes in one commit, and so how long the first waits for the last.
const maxBatch = 128

// idleDelay is how long nothing must have been written before the writer does
// idle work, which it then does in steps.
const idleDelay = 200 * time.Millisecond

func newWriter(c *conn, idle func(*tx) (more bool, err error)) *writer {
	w := &writer{conn: c, jobs: make(chan *job, maxBatch), idle: idle, done: make(chan struct{})}
	go w.loop()
	return w
}

// run carries out do in a transaction and returns once that is committed, or
// rolled back because of the error. If ctx ends before do was begun, it never will be.
func (w *writer) run(ctx context.Context, do func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &job{do: do, done: make(chan struct{})}
	if err := w.send(ctx, j); err != nil {
		return err
	}
	select {
	case <-j.done:
	case <-ctx.Done():
		if j.state.CompareAndSwap(waiting, left) {
			return ctx.Err()
		}
		<-j.done
	}
	return j.err
}

func (w *writer) send(ctx context.Context, j *job) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return memento.ErrClosed
	}
	select {
	case w.jobs <- j:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close finishes the jobs that were sent and closes the connection.
func (w *writer) close() error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.jobs)
	}
	w.mu.Unlock()
	<-w.done
	return nil
}

func (w *writer) loop() {
	defer close(w.done)
	defer w.conn.Close()
	quiet := time.NewTimer(idleDelay)
	defer quiet.Stop()
	for {
		select {
		case first, open := <-w.jobs:
			if !open {
				return
			}
			w.commit(first)
			quiet.Reset(idleDelay)
		case <-quiet.C:
			if w.doIdle() {
				quiet.Reset(0)
			}
		}
	}
}

// doIdle takes a step of idle work and reports whether to go on. Its failure is
// no one's: the work is done when it is needed.
func (w *writer) doIdle() bool {
	more := false
	j := &job{done: make(chan struct{}), do: func(t *tx) (err error) {
		more, err = w.idle(t)
		return err
	}}
	if err := w.conn.exec("BEGIN IMMEDIATE"); err != nil {
		return false
	}
	return w.transact([]*job{j}) && j.err == nil && more
}

// commit carries out first and whatever else waits, in one transaction.
func (w *writer) commit(first *job) {
	batch := w.fill([]*job{first})
	if err := w.conn.exec("BEGIN IMMEDIATE"); err != nil {
		finish(batch, err)
		return
	}
	batch = w.fill(batch) // who came while another process held the lock
	begun := batch[:0]
	for _, j := range batch {
		if j.state.CompareAndSwap(waiting, taken) {
			begun = append(begun, j)
		}
	}
	if w.transact(begun) {
		finish(begun, nil)
		return
	}
	// The whole transaction was lost. Perhaps one change is too large for what
	// is left on the disk: alone, the others may succeed.
	for _, j := range begun {
		if len(begun) > 1 {
			if j.err = w.conn.exec("BEGIN IMMEDIATE"); j.err == nil {
				w.transact([]*job{j})
			}
		}
		close(j.done)
	}
}

// fill adds the jobs that wait to a batch.
func (w *writer) fill(batch []*job) []*job {
	for len(batch) < maxBatch {
		select {
		case j, open := <-w.jobs:
			if !open {
				return batch
			}
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// transact carries out jobs in the transaction that is open, and commits. Every
// job has its own outcome in err then, unless transact returns false: then
// nothing has happened, and err is why.
func (w *writer) transact(jobs []*job) bool {
	lost := func(err error) bool {
		if !w.conn.AutocommitEnabled() {
			_ = w.conn.exec("ROLLBACK") // should that fail too, the next BEGIN says so
		}
		for _, j := range jobs {
			j.err = err
		}
		return false
	}
	t := &tx{conn: w.conn}
	for _, j := range jobs {
		if j.err = j.do(t); j.err != nil && !isOurs(j.err) {
			return lost(j.err)
		}
	}
	if err := t.flush(); err != nil {
		return lost(err)
	}
	if err := w.conn.exec("COMMIT"); err != nil {
		return lost(err)
	}
	return true
}

// finish ends jobs, with err for those that have no error of their own.
func finish(jobs []*job, err error) {
	for _, j := range jobs {
		if err != nil {
			j.err = err
		}
		close(j.done)
	}
}

// write runs do in the writer's transaction and returns its result.
func write[T any](ctx context.Context, w *writer, do func(*tx) (T, error)) (T, error) {
	var result T
	err := w.run(ctx, func(t *tx) (err error) {
		result, err = do(t)
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return result, nil
}
