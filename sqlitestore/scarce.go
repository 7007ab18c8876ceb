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
const scarcePause = time.Second

// How much a job may write to the log, in bytes, as a guess. Whatever it is, what the
// database grows by must be left.
const (
	jobHeadroom   = 512 << 10
	hastyHeadroom = 128 << 10
)

// cover makes sure that the log, with the transaction that is open, can be copied. What is
// ordinary leaves half of the reserve to what is not.
func (w *writer) cover(ordinary bool) error {
	var pages int64
	if _, err := w.conn.one(`PRAGMA page_count`, func(s *sqlite.Stmt) { pages = s.ColumnInt64(0) }); err != nil {
		return err
	}
	if !ordinary {
		headroom := int64(jobHeadroom)
		if w.hasty {
			headroom = hastyHeadroom
		}
		return w.space.coverFreeing(pages, headroom)
	}
	return w.space.cover(pages)
}

func (w *writer) eachAlone(jobs []*job) {
	for _, j := range jobs {
		w.alone(j)
	}
}

// alone carries out one job, in a transaction of its own. What frees something may use the
// reserve. Anything else is refused while the reserve is not whole.
func (w *writer) alone(j *job) {
	if j.frees {
		if w.attempt(j) {
			return
		}
		w.space.lend(w.busy, func() { w.freeing(j) })
	} else {
		if j.err = w.space.refill(); !isFull(j.err) && w.attempt(j) {
			w.space.look()
			return
		}
		if !isFull(j.err) {
			w.log.copy() // what it has taken can be used again
			if w.attempt(j) {
				return
			}
		}
		w.space.full.Store(true)
	}
	if w.space.lacks(j.err) {
		j.err = w.explain(j.err)
	}
}

// attempt carries out a job, and reports whether it has its outcome: anything but that
// there is no room.
func (w *writer) attempt(j *job) bool {
	if j.err = w.begin(context.Background()); j.err != nil {
		return true
	}
	return w.transact([]*job{j}) || !w.space.lacks(j.err)
}

// freeing carries out a job with the room of the reserve. What SQLite would overwrite in
// free pages goes through the log: if that is too much, it stays for now.
func (w *writer) freeing(j *job) {
	w.log.copy()
	if !w.attempt(j) {
		w.log.copy()
		w.overwriting("FAST")
		w.hasty = true
		w.attempt(j)
		w.hasty = false
		w.overwriting("ON")
	}
	w.log.copy()
}

// overwriting says whether SQLite overwrites what is removed: ON, or FAST for as far as it
// does not have to write more pages for that.
func (w *writer) overwriting(how string) {
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
func (w *writer) hasRoom() bool {
	switch {
	case w.cramped() && !w.leaveCramped(),
		w.space.full.Load() && !w.space.look():
		w.quiet.Reset(scarcePause)
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
		case w.space.lacks(err) && step > shrinkLeast:
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
	w.lead <- struct{}{}
	defer func() { <-w.lead }()
	if !w.isClosed() && !w.cramped() {
		_, _ = w.conn.one(`PRAGMA freelist_count`, func(s *sqlite.Stmt) { n = s.ColumnInt(0) })
	}
	return n
}

// vacuum gives back some pages. On a full disk, the log is copied at once, so that the room
// is there for the next.
func (w *writer) vacuum(pages int) error {
	w.lead <- struct{}{}
	defer func() { <-w.lead }()
	if w.isClosed() || w.cramped() {
		return memento.ErrClosed
	}
	vacuum := func() error {
		return w.conn.all(fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, pages), func(*sqlite.Stmt) bool { return true })
	}
	err := vacuum()
	if w.space.lacks(err) {
		w.space.lend(w.busy, func() {
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
	room := b.writer.space
	if room.full.Load() {
		// As a write that writes nothing: if there is room by now, others are accepted again.
		if err := b.writer.run(ctx, func(*tx) error { return nil }); err != nil {
			return fail(op, err)
		}
	} else if reserve.Free(room.path) >= plenty {
		return ctx.Err()
	}
	if err := room.probe(openingNeeds); isFull(err) {
		return fail(op, room.explain(err))
	}
	return ctx.Err()
}
