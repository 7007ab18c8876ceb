package sqlitestore

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"memento"
)

// A writer has the one connection that writes. It commits the changes that wait
// at the same time together, so that they share the cost of a flush: group
// commit. Each change stands or falls on its own.
//
// There is no goroutine for it: of the callers that wait, one at a time has the
// lead, and carries out the jobs of all. A single caller thus waits for no other
// goroutine.
type writer struct {
	conn        *conn
	busyTimeout time.Duration // how long to wait for other processes
	space       *diskSpace
	reopen      func() (*conn, error)            // see cramped; nil unless conn cannot write
	idle        func(*tx) (more bool, err error) // work for quiet moments
	leader      chan struct{}                    // holds a token while somebody uses conn
	log         checkpointer
	file        *fileIdentity // of what conn has open

	lastBatchSize int  // jobs in the last commit
	lowSpace      bool // whether removed contents may stay in free pages for now: see fulldisk.go

	mu     sync.Mutex
	jobs   []*job      // in the order of their coming
	quiet  *time.Timer // does idle work
	closed bool
}

// A job is one change that waits for the writer.
type job struct {
	do         func(*tx) error // called in a transaction; again in another if that was lost
	freesSpace bool            // whether it may use the reserve: see space
	state      atomic.Int32
	err        error         // once done
	done       chan struct{} // closed when err is final
}

const (
	waiting   int32 = iota
	claimed         // somebody carries it out
	abandoned       // its caller has given up before that
)

const (
	// maxBatch bounds the changes in one commit, and so how long the first waits for the last.
	maxBatch = 128
	// idleDelay is how long nothing must have been written before idle work is done, in steps.
	idleDelay = 200 * time.Millisecond
	// gatherTurns is how often others get a turn of the scheduler, to join a commit.
	batchWaitTurns = 30
	// busyPause is how long to leave another process alone before asking for its lock again.
	busyPause = 500 * time.Microsecond
	// truncateWait is how long truncateLog waits for other processes.
	truncateWait = 100 * time.Millisecond
)

// newWriter makes c, which has file open, the connection that writes. It waits at most busy for other
// processes, and calls pause to have nobody read from the log for a moment.
func newWriter(c *conn, file *fileIdentity, s *diskSpace, busy time.Duration, pause func() (resume func()), idle func(*tx) (more bool, err error)) *writer {
	c.SetBusyTimeout(0) // begin does the waiting
	w := &writer{conn: c, file: file, space: s, busyTimeout: busy, idle: idle, leader: make(chan struct{}, 1)}
	w.log = checkpointer{conn: c, pause: pause, space: s, busyTimeout: busy}
	w.quiet = time.AfterFunc(idleDelay, w.doIdle)
	return w
}

// run carries out do in a transaction and returns once that is committed, or
// rolled back because of the error. If ctx ends before do was begun, it never will be.
func (w *writer) run(ctx context.Context, do func(*tx) error) error {
	return w.carryOut(ctx, &job{do: do})
}

// free is run for what removes something, which works on a full disk.
func (w *writer) runFreeing(ctx context.Context, do func(*tx) error) error {
	return w.carryOut(ctx, &job{do: do, freesSpace: true})
}

func (w *writer) carryOut(ctx context.Context, j *job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j.done = make(chan struct{})
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return memento.ErrClosed
	}
	w.jobs = append(w.jobs, j)
	w.mu.Unlock()

	for {
		select {
		case <-j.done:
			return j.err
		case w.leader <- struct{}{}:
			w.commit(ctx)
			<-w.leader
		case <-ctx.Done():
			if j.state.CompareAndSwap(waiting, abandoned) {
				return ctx.Err()
			}
			<-j.done
			return j.err
		}
	}
}

// take removes the jobs that have come first, and marks them as taken.
func (w *writer) claim() (batch []*job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for ; n < len(w.jobs) && len(batch) < maxBatch; n++ {
		if j := w.jobs[n]; j.state.CompareAndSwap(waiting, claimed) {
			batch = append(batch, j)
		}
	}
	w.jobs = slices.Delete(w.jobs, 0, n)
	return batch
}

// commit carries out the jobs that wait, in one transaction. The caller has the
// lead; when ctx ends before the transaction has begun, it leaves the jobs to another.
func (w *writer) commit(ctx context.Context) {
	if w.empty() {
		return
	}
	if w.readOnlyOnFullDisk() {
		w.refuseJobs()
		return
	}
	w.waitForBatch()
	beginErr := w.begin(ctx) // others come while another process holds the lock
	if beginErr != nil && ctx.Err() != nil {
		return
	}
	batch := w.claim()
	w.lastBatchSize = len(batch)
	switch {
	case beginErr != nil:
		for _, j := range batch {
			j.err = beginErr
		}
	case w.space.full.Load():
		_ = w.conn.exec("ROLLBACK")
		w.runEachAlone(batch)
	case !w.transact(batch) && (len(batch) > 1 || isDamage(batch[0].err) || w.space.isOutOfSpace(batch[0].err)):
		// The whole transaction was lost. Perhaps one change is too large for
		// what is left on the disk: alone, the others may succeed. What SQLite takes
		// for damage may pass: see retryOpen.
		w.runEachAlone(batch)
	}
	for _, j := range batch {
		close(j.done)
	}
	w.log.onCommit(len(batch))
	w.quiet.Reset(idleDelay)
}

// gather gives as many jobs as were in the last commit the time to come back. The
// callers of the last commit are just making their next calls: to go ahead with
// the first of them would have the others wait for a flush of their own.
func (w *writer) waitForBatch() {
	for range batchWaitTurns {
		w.mu.Lock()
		n := len(w.jobs)
		w.mu.Unlock()
		if n >= w.lastBatchSize {
			return
		}
		runtime.Gosched()
	}
}

// begin opens a transaction, and waits for other processes to end theirs. SQLite
// would do the waiting, but sleeps for so long in between that a process which
// writes without a pause could keep another from ever writing.
func (w *writer) begin(ctx context.Context) error {
	for start := time.Now(); ; time.Sleep(busyPause) {
		err := w.conn.exec("BEGIN IMMEDIATE")
		if !isBusy(err) || time.Since(start) > w.busyTimeout {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// empty reports whether no job waits. It drops those that nobody waits for.
func (w *writer) empty() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.jobs = slices.DeleteFunc(w.jobs, func(j *job) bool { return j.state.Load() == abandoned })
	return len(w.jobs) == 0
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
	t := &tx{conn: w.conn, lowSpace: w.lowSpace}
	ordinary := false
	for _, j := range jobs {
		ordinary = ordinary || !j.freesSpace
		// SQLite may have taken the transaction back by itself.
		if j.err = j.doSafely(t); j.err != nil && (!isTranslated(j.err) || w.conn.AutocommitEnabled()) {
			return lost(j.err)
		}
	}
	if err := t.flush(); err != nil {
		return lost(err)
	}
	if err := w.reserveSpace(ordinary); err != nil {
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

// safely is do, with a panic as an error: others wait for the transaction.
func (j *job) doSafely(t *tx) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("internal fault: %v", cause)
		}
	}()
	return j.do(t)
}

// doIdle takes a step of idle work, and comes back if there is more. Its failure
// is no one's: the work is done when it is needed.
func (w *writer) doIdle() {
	w.leader <- struct{}{}
	defer func() { <-w.leader }()
	if w.isClosed() || !w.hasSpace() {
		return
	}
	more := false
	if err := w.conn.exec("BEGIN IMMEDIATE"); err != nil {
		if isBusy(err) { // another process writes: it is not quiet
			w.quiet.Reset(idleDelay)
		}
		return
	}
	j := &job{do: func(t *tx) (err error) {
		more, err = w.idle(t)
		return err
	}}
	if w.transact([]*job{j}) && j.err == nil && more {
		w.quiet.Reset(0)
		return
	}
	if w.log.onIdle(); w.log.mustTruncate {
		w.quiet.Reset(idleDelay)
	}
}

// truncateLog removes from the log what was removed from the database, now or
// when nobody reads from it any more. It waits a moment for other processes, which may
// be writing.
func (w *writer) truncateLog() {
	w.leader <- struct{}{}
	defer func() { <-w.leader }()
	if w.isClosed() || w.readOnlyOnFullDisk() {
		return // closing the file empties the log, unless another process uses it
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

// checkLog has the log copied if it has become long.
func (w *writer) checkLog() {
	w.leader <- struct{}{}
	defer func() { <-w.leader }()
	if !w.isClosed() && !w.readOnlyOnFullDisk() {
		w.log.check()
	}
}

// borrow returns the connection for reading, if nobody uses it or waits for it. The
// caller gives it back within microseconds.
func (w *writer) borrow() *conn {
	select {
	case w.leader <- struct{}{}:
	default:
		return nil
	}
	w.mu.Lock()
	wanted := w.closed || len(w.jobs) > 0 || w.conn == nil
	w.mu.Unlock()
	if wanted {
		<-w.leader
		return nil
	}
	return w.conn
}

func (w *writer) giveBack(c *conn) {
	if !c.AutocommitEnabled() { // whoever had it has panicked
		_ = c.exec("ROLLBACK")
	}
	<-w.leader
}

func (w *writer) isClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// close carries out the jobs that were accepted and closes the connection.
func (w *writer) close() error {
	w.mu.Lock()
	wasClosed := w.closed
	w.closed = true
	w.mu.Unlock()
	if wasClosed {
		return nil
	}
	w.leader <- struct{}{}
	defer func() { <-w.leader }()
	for !w.empty() {
		w.commit(context.Background())
	}
	w.quiet.Stop()
	if w.conn == nil { // cramped, and could not be opened again
		return nil
	}
	return w.conn.Close()
}

// write runs do in the writer's transaction and returns its result.
func write[T any](ctx context.Context, w *writer, do func(*tx) (T, error)) (T, error) {
	return submit(ctx, w, false, do)
}

// free is write for what removes something: see [writer.free].
func writeFreeing[T any](ctx context.Context, w *writer, do func(*tx) (T, error)) (T, error) {
	return submit(ctx, w, true, do)
}

func submit[T any](ctx context.Context, w *writer, frees bool, do func(*tx) (T, error)) (T, error) {
	var result T
	err := w.carryOut(ctx, &job{freesSpace: frees, do: func(t *tx) (err error) {
		result, err = do(t)
		return err
	}})
	if err != nil {
		var none T
		return none, err
	}
	return result, nil
}
