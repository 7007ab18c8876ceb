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
	forgetDelay = 5 * time.Second
	// forgetRest is how many times as long as a step the pause after it is, and
	// forgetPause how many times as long as all steps that before the next rewriting.
	forgetRest, forgetPause = 19, 20
	// forgetPages is how many pages a step writes: some 10 to 20 ms.
	forgetPages = 100
	// abandoned is how old a mark is that is everybody's to see to: whoever left it has
	// most likely died.
	abandoned = time.Minute
)

// leaveMark has the words that this transaction takes out of the index leave the file, too.
func leaveMark(c *conn) error {
	return c.exec(`INSERT INTO forgetting (since) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM forgetting WHERE upto IS NULL)`, micros(time.Now()))
}

// A mark tells what is to be forgotten.
type mark struct {
	since time.Time // when the oldest was left
	begun bool      // whether pages are being rewritten
	upto  int64     // which
	anew  bool      // whether more was removed since then
}

// readMark returns the marks as one, and whether there are any.
func readMark(c *conn) (m mark, marked bool, err error) {
	marked, err = c.one(`SELECT min(since), max(upto) IS NOT NULL, max(upto), count(upto) < count(*) FROM forgetting HAVING count(*) > 0`,
		func(s *sqlite.Stmt) { m = mark{timeAt(s, 0), s.ColumnBool(1), s.ColumnInt64(2), s.ColumnBool(3)} })
	return m, marked, err
}

// forgetStep rewrites a few pages, and reports whether there are more.
//
// All segments of the index become the input of one merge, which drops what is marked
// as gone. It goes on from step to step and, since they form new segments, whatever is
// indexed meanwhile: https://www.sqlite.org/fts5.html, "The 'merge' Command".
//
// In haste, a step is smaller: all that it writes must fit into the reserve.
func forgetStep(c *conn, hasty bool) (more bool, err error) {
	pages := forgetPages
	if hasty {
		pages = forgetPages / 8
	}
	m, marked, err := readMark(c)
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
		return true, beginForgetting(c, pages)
	case segments.since(m.upto) > 1: // what is rewritten, and what it is rewritten to
		return true, c.exec(`INSERT INTO words (words, rank) VALUES ('merge', ?)`, pages)
	}
	return m.anew, c.exec(`DELETE FROM forgetting WHERE upto IS NOT NULL`)
}

// strawDoc is the row in the index of a document that is there for a moment only.
const strawDoc = 1 << 40

func beginForgetting(c *conn, pages int) error {
	for _, statement := range []string{
		// A merge of one segment would stop as soon as there is a second. So there
		// are two from the start: the second has a word that is gone at once.
		`INSERT INTO words (rowid, store) VALUES (` + strconv.Itoa(strawDoc) + `, 'straw')`,
		`INSERT INTO words (words, rank) VALUES ('merge', 0)`, // which writes it
		`DELETE FROM words WHERE rowid = ` + strconv.Itoa(strawDoc),
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
func (b *Backend) forget(ctx context.Context, rest int) error {
	for more := true; more; {
		start := time.Now()
		var err error
		if more, err = free(ctx, b.writer, func(t *tx) (bool, error) { return forgetStep(t.conn, t.hasty) }); err != nil {
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
type forgetter struct {
	mu      sync.Mutex
	owed    bool // whether there may be a mark that is this process's to see to
	planned *time.Timer
	pause   time.Duration
	closed  bool

	ctx    context.Context // of the work under way; ended by close
	cancel context.CancelFunc
	work   sync.WaitGroup // what is planned or under way
}

// forgetSoon is told that a mark was left.
func (b *Backend) forgetSoon() {
	b.forgetter.mu.Lock()
	defer b.forgetter.mu.Unlock()
	b.forgetter.owed = true
	b.planForgetting(max(forgetDelay, b.forgetter.pause))
}

// takeUpMark is told that others have left a mark, who may be about to see to it.
func (b *Backend) takeUpMark(since time.Time) {
	age := time.Since(since)
	b.forgetter.mu.Lock()
	defer b.forgetter.mu.Unlock()
	b.forgetter.owed = age > abandoned
	b.planForgetting(max(forgetDelay, abandoned-age))
}

// planForgetting plans to forget, unless that is planned or under way. The caller has the lock.
func (b *Backend) planForgetting(delay time.Duration) {
	f := &b.forgetter
	if f.planned != nil || f.closed {
		return
	}
	if f.cancel == nil {
		f.ctx, f.cancel = context.WithCancel(context.Background())
	}
	f.work.Add(1)
	f.planned = time.AfterFunc(delay, func() {
		defer f.work.Done()
		b.forgetPlanned()
	})
}

func (b *Backend) forgetPlanned() {
	f := &b.forgetter
	f.mu.Lock()
	f.owed = false
	f.mu.Unlock()
	start := time.Now()
	err := b.forget(f.ctx, forgetRest)

	f.mu.Lock()
	defer f.mu.Unlock()
	f.planned, f.pause = nil, forgetPause*time.Since(start)/(1+forgetRest)
	switch {
	case err != nil: // the disk is full, say
		f.owed = true
		b.planForgetting(max(abandoned, f.pause))
	case f.owed: // anew, meanwhile
		b.planForgetting(max(forgetDelay, f.pause))
	}
}

// close ends what is planned or under way, and reports whether there is something left to do.
func (f *forgetter) close() (owed bool) {
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
	owed, f.owed = f.owed, false
	return owed
}
