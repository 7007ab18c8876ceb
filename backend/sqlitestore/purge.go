package sqlitestore

import (
	"context"
	"strconv"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
)

// Deleting from the search index only marks words as deleted. They leave the file when the
// pages that contain them are rewritten. Since FTS5 sorts by words, these are pages of all
// stores. So a transaction that removes something permanently also adds a row to the table
// forgetting: a request to purge the index. The index is then rewritten in steps, between
// which other writes run: a few seconds later, at once for a redaction, and at the latest
// by Close. If the process dies before that, the next process to open the file does it.

const (
	// purgeDelay is how long after a request the purge begins, so that one purge serves
	// several requests.
	purgeDelay = 5 * time.Second
	// After each step, the purge pauses for purgeRestFactor times the duration of the step.
	// The next purge begins after purgePauseFactor times the duration of all steps. So a
	// purge takes up to 5 % of the time.
	purgeRestFactor, purgePauseFactor = 19, 20
	// purgePages is how many pages a step writes: about 10 to 20 ms.
	purgePages = 100
	// orphanedPurgeAge is the age at which any process takes over a request: the process
	// that made it has probably died.
	orphanedPurgeAge = time.Minute
)

// requestPurge requests, in the current transaction, that deleted words leave the pages of
// the index.
func requestPurge(c *conn) error {
	return c.exec(`INSERT INTO forgetting (since) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM forgetting WHERE upto IS NULL)`, micros(time.Now()))
}

// A purgeRequest sums up the rows of the table forgetting.
type purgeRequest struct {
	since time.Time // when the oldest request was made
	begun bool      // whether a purge has begun
	upto  int64     // segments up to this origin are being rewritten
	more  bool      // whether there are requests made after the purge began
}

// readPurgeRequest returns the requests as one. found is false if there are none.
func readPurgeRequest(c *conn) (r purgeRequest, found bool, err error) {
	found, err = c.one(`SELECT min(since), max(upto) IS NOT NULL, max(upto), count(upto) < count(*) FROM forgetting HAVING count(*) > 0`,
		func(s *sqlite.Stmt) {
			r = purgeRequest{timeAt(s, 0), s.ColumnBool(1), s.ColumnInt64(2), s.ColumnBool(3)}
		})
	return r, found, err
}

// purgeStep rewrites a few pages, and reports whether there are more.
//
// All segments of the index become the input of one merge, which drops the words marked as
// deleted. The merge continues from step to step. What is indexed in between goes to new
// segments, and does not disturb it: https://www.sqlite.org/fts5.html, "The 'merge'
// Command".
//
// With lowSpace, a step is smaller: everything that it writes must fit into the reserve.
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
	case segments.since(m.upto) > 1: // the input and the output of the merge
		return true, c.exec(`INSERT INTO words (words, rank) VALUES ('merge', ?)`, pages)
	}
	return m.more, c.exec(`DELETE FROM forgetting WHERE upto IS NOT NULL`)
}

// dummyDoc is the row in the index of a document that exists only for a moment.
const dummyDoc = 1 << 40

func beginPurge(c *conn, pages int) error {
	for _, statement := range []string{
		// A merge of one segment would stop as soon as there is a second one. So there are
		// two from the start: the second has a word that is deleted at once.
		`INSERT INTO words (rowid, store) VALUES (` + strconv.Itoa(dummyDoc) + `, 'straw')`,
		`INSERT INTO words (words, rank) VALUES ('merge', 0)`, // this writes the segment
		`DELETE FROM words WHERE rowid = ` + strconv.Itoa(dummyDoc),
		// Merges of two segments may continue.
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

// purgeIndex removes deleted words from the medium: from the index, from free pages and
// from the log. After each step it pauses for rest times the duration of the step.
func (b *Backend) purgeIndex(ctx context.Context, rest int) error {
	for more := true; more; {
		start := time.Now()
		var err error
		if more, err = writeFreeing(ctx, b.writer, func(t *tx) (bool, error) { return purgeStep(t.conn, t.lowSpace) }); err != nil {
			return err
		}
		b.writer.checkLog() // one step writes as much as many changes
		select {
		case <-time.After(time.Duration(rest) * time.Since(start)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	b.writer.shrink()
	return nil
}

// An indexPurger schedules purges of the index.
type indexPurger struct {
	mu      sync.Mutex
	pending bool // whether there may be a request that this process must carry out
	planned *time.Timer
	pause   time.Duration
	closed  bool

	ctx    context.Context // of the purge in progress; canceled by close
	cancel context.CancelFunc
	work   sync.WaitGroup // what is planned or under way
}

// schedulePurge schedules a purge after this process has made a request.
func (b *Backend) schedulePurge() {
	b.purger.mu.Lock()
	defer b.purger.mu.Unlock()
	b.purger.pending = true
	b.planPurge(max(purgeDelay, b.purger.pause))
}

// adoptPurge schedules a purge for a request of another process, which may be about to
// carry it out itself.
func (b *Backend) adoptPurge(since time.Time) {
	age := time.Since(since)
	b.purger.mu.Lock()
	defer b.purger.mu.Unlock()
	b.purger.pending = age > orphanedPurgeAge
	b.planPurge(max(purgeDelay, orphanedPurgeAge-age))
}

// planPurge starts a timer for a purge, unless one is planned or in progress. The caller
// holds the lock.
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
	case err != nil: // for example, the disk is full
		f.pending = true
		b.planPurge(max(orphanedPurgeAge, f.pause))
	case f.pending: // requested again in the meantime
		b.planPurge(max(purgeDelay, f.pause))
	}
}

// close cancels the purge that is planned or in progress, and reports whether something
// remains to be done.
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
