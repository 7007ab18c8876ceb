package sqlitestore

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"memento"
	"memento/backend/commitqueue"
)

// A writer has the one connection that writes. Changes that wait at the same time are
// committed together, so that they share the cost of a flush: see package commitqueue.
type writer struct {
	conn        *conn
	busyTimeout time.Duration // how long to wait for other processes
	space       *diskSpace
	reopen      func() (*conn, error)    // see readonly.go; nil unless conn cannot write
	queue       *commitqueue.Queue[*job] // its leader uses conn
	log         checkpointer
	file        *fileIdentity // the file that conn has open
	refusal     error         // of all changes, if conn is of a copy: see copy.go

	doubtful      atomic.Bool // whether conn has to be replaced: see confirm.go
	lastBatchSize int         // number of jobs in the last commit
	lowSpace      bool        // whether deleted contents may stay in free pages for now: see fulldisk.go

	quiet *time.Timer // calls doIdle
}

// A job is one change that waits for the writer.
type job struct {
	commitqueue.Job
	do         func(*tx) error // called in a transaction, and again in another one if that was lost
	freesSpace bool            // whether it may use the reserve: see diskSpace
	indexes    bool            // whether it changes nothing but the search index, and is committed alone
	flush      bool            // whether it is flushed although it indexes
	err        error           // of do, or of the transaction
}

const (
	// maxBatch is the largest number of changes in one commit. It limits how long the first
	// change waits for the last.
	maxBatch = 128
	// idleDelay is how long there must be no write before the log is shortened.
	idleDelay = 200 * time.Millisecond
	// The leader yields to other goroutines so often, so that they can join a commit, and
	// not longer than batchWaitTime: others may have much to do.
	batchWaitTurns = 30
	batchWaitTime  = 100 * time.Microsecond
	// busyPause is how long to wait before asking again for a lock that another process
	// holds.
	busyPause = 500 * time.Microsecond
	// truncateWait is how long truncateLog waits for other processes.
	truncateWait = 100 * time.Millisecond
)

// newWriter makes c, which has file open, the connection that writes. It waits at most busy
// for other processes. It calls pause to stop this process's reads from the log for a
// moment.
func newWriter(c *conn, file *fileIdentity, s *diskSpace, busy time.Duration, pause func() (resume func())) *writer {
	c.SetBusyTimeout(0) // begin does the waiting
	w := &writer{conn: c, file: file, space: s, busyTimeout: busy, queue: commitqueue.New[*job](commitqueue.UntilKnown)}
	w.log = checkpointer{conn: c, pause: pause, space: s, busyTimeout: busy}
	// doIdle, which sets the timer again, may run before AfterFunc has returned.
	w.queue.Lock()
	defer w.queue.Unlock()
	w.quiet = time.AfterFunc(idleDelay, w.doIdle)
	return w
}

// run carries out do in a transaction. It returns when the transaction is committed, or
// rolled back because of the error. If ctx ends before do was begun, do is never called.
func (w *writer) run(ctx context.Context, do func(*tx) error) error {
	return w.carryOut(ctx, &job{do: do})
}

// runFreeing is run for changes that remove something, which must work on a full disk.
func (w *writer) runFreeing(ctx context.Context, do func(*tx) error) error {
	return w.carryOut(ctx, &job{do: do, freesSpace: true})
}

func (w *writer) carryOut(ctx context.Context, j *job) error {
	if j.indexes {
		return w.index(ctx, j)
	}
	if w.refusal != nil {
		return w.refusal
	}
	err := w.queue.Do(ctx, j, w.lead)
	if err == commitqueue.ErrClosed {
		return memento.ErrClosed
	}
	return err
}

func (w *writer) lead(ctx context.Context) {
	defer w.queue.Unlock()
	w.commit(ctx)
}

// commit carries out the waiting jobs in one transaction. The caller is the leader. If ctx
// ends before the transaction has begun, the jobs are left to another leader.
func (w *writer) commit(ctx context.Context) {
	if w.queue.Len() == 0 {
		return
	}
	if w.readOnlyOnFullDisk() {
		w.refuseJobs()
		return
	}
	w.waitForBatch()
	w.commitBatch(ctx, func() []*job {
		batch := w.queue.Take(maxBatch)
		w.lastBatchSize = len(batch)
		return batch
	}, func(batch []*job) {
		for _, j := range batch {
			j.Finish(j.err)
		}
	})
}

// index carries out a job that changes nothing but the search index, after those that wait.
// It is not flushed: if the machine crashes before a later change is, the log ends before
// it, and the index is the one of then.
func (w *writer) index(ctx context.Context, j *job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.queue.Lock()
	defer w.queue.Unlock()
	if w.isClosed() {
		return memento.ErrClosed
	}
	w.commit(ctx)
	if w.readOnlyOnFullDisk() && !w.tryReopen() {
		return w.space.explain(nil)
	}
	if !j.flush {
		w.setSynchronous("NORMAL")
		defer w.setSynchronous("FULL")
	}
	if !w.commitBatch(ctx, func() []*job { return []*job{j} }, func([]*job) {}) {
		return ctx.Err()
	}
	return j.err
}

// commitBatch carries out jobs in one transaction. take is called once it has begun, and
// done with the same jobs once each has its result. If ctx ends before that, neither is
// called.
func (w *writer) commitBatch(ctx context.Context, take func() []*job, done func([]*job)) bool {
	beginErr := w.renewIfDoubtful()
	if beginErr == nil {
		beginErr = w.begin(ctx) // more jobs arrive while another process holds the lock
	}
	if beginErr != nil && ctx.Err() != nil {
		return false
	}
	batch := take()
	switch {
	case isDamage(beginErr): // it is confirmed by a new connection
		w.runEachAlone(batch)
	case beginErr != nil:
		for _, j := range batch {
			j.err = beginErr
		}
	case w.space.full.Load():
		_ = w.conn.exec("ROLLBACK")
		w.runEachAlone(batch)
	case !w.transact(batch) && (len(batch) > 1 || isDamage(batch[0].err) || w.space.isOutOfSpace(batch[0].err)):
		// The whole transaction was rolled back. Perhaps one change is too large for the
		// remaining space: alone, the others may succeed. Damage is confirmed by a new
		// connection: see confirm.go.
		w.runEachAlone(batch)
	}
	done(batch)
	w.log.onCommit(len(batch))
	w.quiet.Reset(idleDelay)
	return true
}

// waitForBatch waits for a moment until as many jobs are waiting as were in the last
// commit. The callers of the last commit are just making their next calls: if the leader
// started with the first of them, the others would have to wait for another flush.
func (w *writer) waitForBatch() {
	start := time.Now()
	for range batchWaitTurns {
		if w.queue.Len() >= w.lastBatchSize || time.Since(start) > batchWaitTime {
			return
		}
		runtime.Gosched()
	}
}

// begin opens a transaction, and waits for transactions of other processes. SQLite could do
// the waiting, but sleeps for so long in between that a process which writes without pauses
// could keep another from ever writing.
func (w *writer) begin(ctx context.Context) error {
	for start := time.Now(); ; time.Sleep(busyPause) {
		err := w.conn.exec("BEGIN IMMEDIATE")
		if !isBusy(err) || time.Since(start) > w.busyTimeout {
			if isDamage(err) {
				w.doubtful.Store(true)
			}
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// transact carries out jobs in the open transaction, and commits it. If it returns true,
// the result of each job is in its err. If it returns false, nothing was changed, and err
// has the reason.
func (w *writer) transact(jobs []*job) bool {
	lost := func(err error) bool {
		if !w.conn.AutocommitEnabled() {
			_ = w.conn.exec("ROLLBACK") // if this fails, too, the next BEGIN reports it
		}
		if isDamage(err) {
			w.doubtful.Store(true)
		}
		for _, j := range jobs {
			j.err = err
		}
		return false
	}
	t := &tx{conn: w.conn, lowSpace: w.lowSpace}
	ordinary := false
	for _, j := range jobs {
		ordinary = ordinary || !j.freesSpace
		// SQLite may have rolled back the transaction by itself.
		if j.err = commitqueue.Safely(func() error { return j.do(t) }); j.err != nil && (!isTranslated(j.err) || w.conn.AutocommitEnabled()) {
			return lost(j.err)
		}
	}
	if err := t.flush(); err != nil {
		return lost(err)
	}
	newPages := int64(-1)
	if ordinary && t.bounded == len(jobs) {
		newPages = t.newPages
	}
	if err := w.reserveSpace(ordinary, newPages); err != nil {
		return lost(err)
	}
	if err := w.file.check(); err != nil {
		return lost(err)
	}
	if err := w.conn.exec("COMMIT"); err != nil {
		return lost(w.undoFailedCommit(err))
	}
	return true
}

// doIdle shortens the log while there are no writes. Errors are ignored: it is done later,
// when it is needed.
func (w *writer) doIdle() {
	w.queue.Lock()
	defer w.queue.Unlock()
	if w.isClosed() || !w.hasSpace() || w.renewIfDoubtful() != nil {
		return
	}
	if w.log.onIdle(); w.log.mustTruncate {
		w.quiet.Reset(idleDelay)
	}
}

// truncateLog removes deleted data from the log, now or as soon as nobody reads from it any
// more. It waits a moment for other processes, which may be writing.
func (w *writer) truncateLog() {
	w.queue.Lock()
	defer w.queue.Unlock()
	if w.isClosed() || w.readOnlyOnFullDisk() {
		return // closing the file empties the log, unless another process uses the file
	}
	for start := time.Now(); ; time.Sleep(busyPause) {
		if w.log.truncate(); !w.log.mustTruncate || time.Since(start) > truncateWait {
			break
		}
	}
	if w.log.mustTruncate {
		w.quiet.Reset(idleDelay)
	}
}

// checkLog copies the log if it has become long.
func (w *writer) checkLog() {
	w.queue.Lock()
	defer w.queue.Unlock()
	if !w.isClosed() && !w.readOnlyOnFullDisk() {
		w.log.check()
	}
}

// borrow returns the connection for reading, if it is free and no job is waiting. The
// caller must give it back within microseconds.
func (w *writer) borrow() *conn {
	if !w.queue.TryLock() {
		return nil
	}
	c := w.conn
	if c == nil {
		w.queue.Unlock()
	}
	return c
}

func (w *writer) giveBack(c *conn) {
	if !c.AutocommitEnabled() { // the borrower has panicked
		_ = c.exec("ROLLBACK")
	}
	w.queue.Unlock()
}

func (w *writer) isClosed() bool { return w.queue.Closed() }

// close carries out the accepted jobs and closes the connection.
func (w *writer) close() error {
	if !w.queue.Close() {
		return nil
	}
	w.queue.Lock()
	defer w.queue.Unlock()
	for w.queue.Len() > 0 {
		w.commit(context.Background())
	}
	w.quiet.Stop()
	if w.conn == nil { // it was read-only, and could not be opened again
		return nil
	}
	return w.conn.Close()
}

// write runs do in the writer's transaction and returns its result.
func write[T any](ctx context.Context, w *writer, do func(*tx) (T, error)) (T, error) {
	return submit(ctx, w, job{}, do)
}

// writeFreeing is write for changes that remove something: see [writer.runFreeing].
func writeFreeing[T any](ctx context.Context, w *writer, do func(*tx) (T, error)) (T, error) {
	return submit(ctx, w, job{freesSpace: true}, do)
}

// submit carries out j, whose function is do, and returns the result of do.
func submit[T any](ctx context.Context, w *writer, j job, do func(*tx) (T, error)) (T, error) {
	var result T
	j.do = func(t *tx) (err error) {
		result, err = do(t)
		return err
	}
	err := w.carryOut(ctx, &j)
	if err != nil {
		var none T
		return none, err
	}
	return result, nil
}
