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

// What the writer does when there is no room.

// scarcePause is how long the writer waits, if it has nothing to do, before it looks
// again whether there is room.
const spaceCheckInterval = time.Second

// How much a job may write to the log, in bytes, as a guess. Whatever it is, what the
// database grows by must be left.
const (
	jobHeadroom      = 512 << 10
	lowSpaceHeadroom = 128 << 10
)

// cover makes sure that the log, with the transaction that is open, can be copied. What is
// ordinary leaves half of the reserve to what is not.
func (w *writer) reserveSpace(ordinary bool) error {
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

func (w *writer) runEachAlone(jobs []*job) {
	for _, j := range jobs {
		w.runAlone(j)
	}
}

// alone carries out one job, in a transaction of its own. What frees something may use the
// reserve. Anything else is refused while the reserve is not whole.
func (w *writer) runAlone(j *job) {
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
			w.log.copy() // what it has taken can be used again
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

// attempt carries out a job, and reports whether it has its outcome: anything but that
// there is no room.
func (w *writer) tryJob(j *job) bool {
	if j.err = w.begin(context.Background()); j.err != nil {
		return true
	}
	return w.transact([]*job{j}) || !w.space.isOutOfSpace(j.err)
}

// freeing carries out a job with the room of the reserve. What SQLite would overwrite in
// free pages goes through the log: if that is too much, it stays for now.
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

// overwriting says whether SQLite overwrites what is removed: ON, or FAST for as far as it
// does not have to write more pages for that.
func (w *writer) setSecureDelete(how string) {
	_ = sqlitex.ExecuteTransient(w.conn.Conn, "PRAGMA secure_delete = "+how, nil)
}

// explain says what is full, of which err is the consequence.
func (w *writer) explain(err error) error {
	var pages, most int64
	_, _ = w.conn.one(`PRAGMA page_count`, func(s *sqlite.Stmt) { pages = s.ColumnInt64(0) })
	_, _ = w.conn.one(`PRAGMA max_page_count`, func(s *sqlite.Stmt) { most = s.ColumnInt64(0) })
	if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultFull && pages > most-most/10 {
		return fmt.Errorf("%w: the database has %d pages, and may have %d", memento.ErrNoSpace, pages, most)
	}
	return w.space.explain(err)
}

// hasRoom reports whether there is room for work that nobody waits for. Otherwise it is
// looked for again, later. The caller has the lead.
func (w *writer) hasSpace() bool {
	switch {
	case w.readOnlyOnFullDisk() && !w.tryReopen(),
		w.space.full.Load() && !w.space.recheck():
		w.quiet.Reset(spaceCheckInterval)
		return false
	}
	return true
}

// shrinkStep is how many pages are given back at a time, and shrinkLeast how many if there
// is little room.
const (
	shrinkStep  = 1000
	shrinkLeast = 8
)

// shrink gives the pages that hold nothing any more back to the file system, as
// far as it can while others write.
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
		case err != nil, w.freePages() >= free: // another process writes
		default:
			continue
		}
		break
	}
	w.truncateLog()
}

func (w *writer) freePages() (n int) {
	w.leader <- struct{}{}
	defer func() { <-w.leader }()
	if !w.isClosed() && !w.readOnlyOnFullDisk() {
		_, _ = w.conn.one(`PRAGMA freelist_count`, func(s *sqlite.Stmt) { n = s.ColumnInt(0) })
	}
	return n
}

// vacuum gives back some pages. On a full disk, the log is copied at once, so that the room
// is there for the next.
func (w *writer) vacuum(pages int) error {
	w.leader <- struct{}{}
	defer func() { <-w.leader }()
	if w.isClosed() || w.readOnlyOnFullDisk() {
		return memento.ErrClosed
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

// Ready implements [memento.ReadyChecker]: it looks whether there is room.
func (b *Backend) Ready(ctx context.Context) error {
	const op = "check"
	space := b.writer.space
	if space.full.Load() {
		// As a write that writes nothing: if there is room by now, others are accepted again.
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
