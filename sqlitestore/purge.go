package sqlitestore

import (
	"context"
	"strconv"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
)

// Taking something out of the search index only marks its words as gone. They leave
// the file when the pages that have them are rewritten, and since FTS5 sorts by words,
// these are pages of all stores. Whoever removes something for good therefore leaves a
// mark in the database, in the same transaction, and the index is rewritten in steps,
// between which others write: a few seconds later, or at once for a redaction, and at
// the latest by Close. If the process dies before, whoever opens the file does it.

const (
	// forgetDelay is how long after the first mark the rewriting begins: one for many.
	purgeDelay = 5 * time.Second
	// forgetRest is how many times as long as a step the pause after it is, and
	// forgetPause how many times as long as all steps that before the next rewriting.
	purgeRestFactor, purgePauseFactor = 19, 20
	// forgetPages is how many pages a step writes: some 10 to 20 ms.
	purgePages = 100
	// abandoned is how old a mark is that is everybody's to see to: whoever left it has
	// most likely died.
	orphanedPurgeAge = time.Minute
)

// leaveMark has the words that this transaction takes out of the index leave the file, too.
func requestPurge(c *conn) error {
	return c.exec(`INSERT INTO forgetting (since) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM forgetting WHERE upto IS NULL)`, micros(time.Now()))
}

// A mark tells what is to be forgotten.
type purgeRequest struct {
	since time.Time // when the oldest was left
	begun bool      // whether pages are being rewritten
	upto  int64     // which
	more  bool      // whether more was removed since then
}

// readMark returns the marks as one, and whether there are any.
func readPurgeRequest(c *conn) (m purgeRequest, marked bool, err error) {
	marked, err = c.one(`SELECT min(since), max(upto) IS NOT NULL, max(upto), count(upto) < count(*) FROM forgetting HAVING count(*) > 0`,
		func(s *sqlite.Stmt) {
			m = purgeRequest{timeAt(s, 0), s.ColumnBool(1), s.ColumnInt64(2), s.ColumnBool(3)}
		})
	return m, marked, err
}

// forgetStep rewrites a few pages, and reports whether there are more.
//
// All segments of the index become the input of one merge, which drops what is marked
// as gone. It goes on from step to step and, since they form new segments, whatever is
// indexed meanwhile: https://www.sqlite.org/fts5.html, "The 'merge' Command".
//
// In haste, a step is smaller: all that it writes must fit into the reserve.
func purgeStep(c *conn, lowSpace bool) (more bool, err error) {
	pages := purgePages
	if lowSpace {
		pages = purgePages / 8
	}
	m, marked, err := readPurgeRequest(c)
	if err != nil || !marked {
		return false, err
	}
	segments, err := readSegments(c)
	if err != nil {
		return false, err
	}
	switch {
	case !m.begun && clean(segments):
		return false, c.exec(`DELETE FROM forgetting`)
	case !m.begun:
		return true, beginPurge(c, pages)
	case segments.since(m.upto) > 1: // what is rewritten, and what it is rewritten to
		return true, c.exec(`INSERT INTO words (words, rank) VALUES ('merge', ?)`, pages)
	}
	return m.more, c.exec(`DELETE FROM forgetting WHERE upto IS NOT NULL`)
}

// strawDoc is the row in the index of a document that is there for a moment only.
const dummyDoc = 1 << 40

func beginPurge(c *conn, pages int) error {
	for _, statement := range []string{
		// A merge of one segment would stop as soon as there is a second. So there
		// are two from the start: the second has a word that is gone at once.
		`INSERT INTO words (rowid, store) VALUES (` + strconv.Itoa(dummyDoc) + `, 'straw')`,
		`INSERT INTO words (words, rank) VALUES ('merge', 0)`, // which writes it
		`DELETE FROM words WHERE rowid = ` + strconv.Itoa(dummyDoc),
		// Of the merges that may go on, those of two segments suffice.
		`INSERT INTO words (words, rank) VALUES ('usermerge', 2)`,
	} {
		if err := c.exec(statement); err != nil {
			return err
		}
	}
	segments, err := readSegments(c)
	if err != nil {
		return err
	}
	if err := c.exec(`UPDATE forgetting SET upto = ?`, segments.newest()); err != nil {
		return err
	}
	return c.exec(`INSERT INTO words (words, rank) VALUES ('merge', ?)`, -pages)
}

// forget takes what was removed off the medium: out of the index, and out of free
// pages and the log. After each step it rests that many times as long.
func (b *Backend) purgeIndex(ctx context.Context, rest int) error {
	for more := true; more; {
		start := time.Now()
		var err error
		if more, err = writeFreeing(ctx, b.writer, func(t *tx) (bool, error) { return purgeStep(t.conn, t.lowSpace) }); err != nil {
			return err
		}
		b.writer.checkLog() // one step is worth many changes
		select {
		case <-time.After(time.Duration(rest) * time.Since(start)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	b.writer.shrink()
	return nil
}

// A forgetter plans when to forget.
type indexPurger struct {
	mu      sync.Mutex
	pending bool // whether there may be a mark that is this process's to see to
	planned *time.Timer
	pause   time.Duration
	closed  bool

	ctx    context.Context // of the work under way; ended by close
	cancel context.CancelFunc
	work   sync.WaitGroup // what is planned or under way
}

// forgetSoon is told that a mark was left.
func (b *Backend) schedulePurge() {
	b.purger.mu.Lock()
	defer b.purger.mu.Unlock()
	b.purger.pending = true
	b.planPurge(max(purgeDelay, b.purger.pause))
}

// takeUpMark is told that others have left a mark, who may be about to see to it.
func (b *Backend) adoptPurge(since time.Time) {
	age := time.Since(since)
	b.purger.mu.Lock()
	defer b.purger.mu.Unlock()
	b.purger.pending = age > orphanedPurgeAge
	b.planPurge(max(purgeDelay, orphanedPurgeAge-age))
}

// planForgetting plans to forget, unless that is planned or under way. The caller has the lock.
func (b *Backend) planPurge(delay time.Duration) {
	f := &b.purger
	if f.planned != nil || f.closed {
		return
	}
	if f.cancel == nil {
		f.ctx, f.cancel = context.WithCancel(context.Background())
	}
	f.work.Add(1)
	f.planned = time.AfterFunc(delay, func() {
		defer f.work.Done()
		b.runPlannedPurge()
	})
}

func (b *Backend) runPlannedPurge() {
	f := &b.purger
	f.mu.Lock()
	f.pending = false
	f.mu.Unlock()
	start := time.Now()
	err := b.purgeIndex(f.ctx, purgeRestFactor)

	f.mu.Lock()
	defer f.mu.Unlock()
	f.planned, f.pause = nil, purgePauseFactor*time.Since(start)/(1+purgeRestFactor)
	switch {
	case err != nil: // the disk is full, say
		f.pending = true
		b.planPurge(max(orphanedPurgeAge, f.pause))
	case f.pending: // anew, meanwhile
		b.planPurge(max(purgeDelay, f.pause))
	}
}

// close ends what is planned or under way, and reports whether there is something left to do.
func (f *indexPurger) close() (pending bool) {
	f.mu.Lock()
	f.closed = true
	if f.cancel != nil {
		f.cancel()
	}
	if f.planned != nil && f.planned.Stop() {
		f.work.Done()
	}
	f.mu.Unlock()
	f.work.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	pending, f.pending = f.pending, false
	return pending
}
