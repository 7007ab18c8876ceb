package sqlitestore

import (
	"context"
	"fmt"
	"time"

	"memento"
	"memento/internal/reserve"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// What the writer does when the disk is full.

// spaceCheckInterval is how often an idle writer checks whether there is space again.
const spaceCheckInterval = time.Second

// Estimates of how much a job writes to the log, in bytes. After the job, there must still
// be space for what the database has grown by.
const (
	jobHeadroom      = 512 << 10
	lowSpaceHeadroom = 128 << 10
)

// reserveSpace makes sure that the log, including the open transaction, can be copied to
// the database. An ordinary transaction leaves half of the reserve for removals. newPages
// is the most pages that it adds, or -1.
func (w *writer) reserveSpace(ordinary bool, newPages int64) error {
	if newPages >= 0 && w.space.covers(newPages) {
		return nil
	}
	var pages int64
	if _, err := w.conn.one(`PRAGMA page_count`, func(s *sqlite.Stmt) { pages = s.ColumnInt64(0) }); err != nil {
		return err
	}
	if !ordinary {
		headroom := int64(jobHeadroom)
		if w.lowSpace {
			headroom = lowSpaceHeadroom
		}
		return w.space.reserveForFreeing(pages, headroom)
	}
	return w.space.reserveFor(pages)
}

// runEachAlone runs each job in a transaction of its own.
func (w *writer) runEachAlone(jobs []*job) {
	for _, j := range jobs {
		w.runAlone(j)
	}
}

// runAlone runs a job in a transaction of its own. If there seems to be damage, it runs it
// again on a new connection.
func (w *writer) runAlone(j *job) {
	for range 2 {
		if j.err = w.renewIfDoubtful(); j.err != nil {
			return
		}
		if w.runInSpace(j); !isDamage(j.err) {
			return
		}
	}
}

// runInSpace runs a job in a transaction of its own. A job that frees space may use the
// reserve. Other jobs are refused while the reserve is incomplete.
func (w *writer) runInSpace(j *job) {
	if j.freesSpace {
		if w.tryJob(j) {
			return
		}
		w.space.withReserve(w.busyTimeout, func() { w.runWithReserve(j) })
	} else {
		if j.err = w.space.refill(); !isFull(j.err) && w.tryJob(j) {
			w.space.recheck()
			return
		}
		if !isFull(j.err) {
			w.log.copy() // then the space of the log can be used again
			if w.tryJob(j) {
				return
			}
		}
		w.space.full.Store(true)
	}
	if w.space.isOutOfSpace(j.err) {
		j.err = w.explain(j.err)
	}
}

// tryJob runs a job, and reports whether it has a final result, that is, any result except
// that there is no space.
func (w *writer) tryJob(j *job) bool {
	if j.err = w.begin(context.Background()); j.err != nil {
		return true
	}
	return w.transact([]*job{j}) || !w.space.isOutOfSpace(j.err)
}

// runWithReserve runs a job that frees space while the reserve is released. Overwriting
// deleted data in free pages is written to the log, too: if that takes too much space, the
// data stays there for now.
func (w *writer) runWithReserve(j *job) {
	w.log.copy()
	if !w.tryJob(j) {
		w.log.copy()
		w.setSecureDelete("FAST")
		w.lowSpace = true
		w.tryJob(j)
		w.lowSpace = false
		w.setSecureDelete("ON")
	}
	w.log.copy()
}

// setSecureDelete sets whether SQLite overwrites deleted data: ON, or FAST to do so only if
// it needs no additional page writes.
func (w *writer) setSecureDelete(how string) {
	_ = sqlitex.ExecuteTransient(w.conn.Conn, "PRAGMA secure_delete = "+how, nil)
}

// explain says which limit was reached, of which err is the consequence.
func (w *writer) explain(err error) error {
	var pages, most int64
	_, _ = w.conn.one(`PRAGMA page_count`, func(s *sqlite.Stmt) { pages = s.ColumnInt64(0) })
	_, _ = w.conn.one(`PRAGMA max_page_count`, func(s *sqlite.Stmt) { most = s.ColumnInt64(0) })
	if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultFull && pages > most-most/10 {
		return fmt.Errorf("%w: the database has %d pages, and may have %d", memento.ErrNoSpace, pages, most)
	}
	return w.space.explain(err)
}

// hasSpace reports whether there is space for background work. If not, the writer checks
// again later. The caller is the leader.
func (w *writer) hasSpace() bool {
	switch {
	case w.readOnlyOnFullDisk() && !w.tryReopen(),
		w.space.full.Load() && !w.space.recheck():
		w.quiet.Reset(spaceCheckInterval)
		return false
	}
	return true
}

// shrinkStep is how many pages are returned at a time, and shrinkLeast how many if there is
// little space.
const (
	shrinkStep  = 1000
	shrinkLeast = 8
)

// shrink returns empty pages to the file system, as far as possible while other processes
// write.
func (w *writer) shrink() {
	for step := shrinkStep; ; {
		free := w.freePages()
		if free == 0 {
			break
		}
		err := w.vacuum(step)
		switch {
		case w.space.isOutOfSpace(err) && step > shrinkLeast:
			step /= 5
			continue
		case err != nil, w.freePages() >= free: // no progress: another process writes
		default:
			continue
		}
		break
	}
	w.truncateLog()
}

func (w *writer) freePages() (n int) {
	w.queue.Lock()
	defer w.queue.Unlock()
	if !w.isClosed() && !w.readOnlyOnFullDisk() {
		_, _ = w.conn.one(`PRAGMA freelist_count`, func(s *sqlite.Stmt) { n = s.ColumnInt(0) })
	}
	return n
}

// vacuum returns some pages. On a full disk, the log is copied at once, so that the next
// step has space.
func (w *writer) vacuum(pages int) error {
	w.queue.Lock()
	defer w.queue.Unlock()
	if w.isClosed() || w.readOnlyOnFullDisk() {
		return memento.ErrClosed
	}
	if err := w.renewIfDoubtful(); err != nil {
		return err
	}
	vacuum := func() error {
		return w.conn.all(fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, pages), func(*sqlite.Stmt) bool { return true })
	}
	err := vacuum()
	if w.space.isOutOfSpace(err) {
		w.space.withReserve(w.busyTimeout, func() {
			w.log.copy()
			err = vacuum()
			w.log.copy()
		})
	}
	return err
}

// Ready implements [backend.ReadyChecker]: it checks whether there is space.
func (b *Backend) Ready(ctx context.Context) error {
	const op = "check"
	space := b.writer.space
	if space.full.Load() {
		// An empty write: if there is space by now, writes are accepted again.
		if err := b.writer.run(ctx, func(*tx) error { return nil }); err != nil {
			return fail(op, err)
		}
	} else if reserve.Free(space.path) >= plentyBytes {
		return ctx.Err()
	}
	if err := space.probe(openingBytes); isFull(err) {
		return fail(op, space.explain(err))
	}
	return ctx.Err()
}
