package sqlitestore

import (
	"time"

	"zombiezen.com/go/sqlite"
)

// SQLite's log grows until all of it is copied to the database, by a checkpoint,
// and then, for a moment, nobody reads from it. By itself SQLite tries to copy at
// the end of every commit once the log is long; under steady reading that moment
// never comes, and every commit pays for another copy and its flushes. So the
// writer decides when to copy, and has this process's short reads wait for the
// moment that it takes to start the log over.

const (
	// logFrames is how long the log may become, in pages, before it is copied.
	logFrames = 4000
	// idleFrames is how long it may stay when nobody writes. Reading goes on in
	// the database itself once the log is copied.
	idleFrames = 500
	// checkEvery is after how many changes the writer looks at the log.
	checkEvery = 64
)

// A checkpointer keeps the log of a connection that writes short.
type checkpointer struct {
	conn         *conn
	pause        func() (resume func()) // keeps others from reading from the log
	space        *diskSpace             // into which the log is copied
	busyTimeout  time.Duration          // how long to wait for another process that uses the reserve
	mustTruncate bool                   // whether the log has what must not linger
	changes      int                    // since the last look
	nextFrames   int                    // how long the log must be to be copied
}

// committed is told after each commit, outside of transactions.
func (k *checkpointer) onCommit(changes int) {
	if k.changes += changes; k.changes >= checkEvery {
		k.check()
	}
}

// look copies the log if it has become long.
func (k *checkpointer) check() {
	k.changes = 0
	if frames := k.frames(); frames >= max(k.nextFrames, logFrames) {
		k.copy()
	}
}

// idle is told when nobody has written for a while.
func (k *checkpointer) onIdle() {
	switch {
	case k.mustTruncate:
		k.truncate()
	case k.frames() >= idleFrames:
		k.copy()
	}
}

// truncate empties the log, in which older states of pages linger. While an
// iteration or another process reads from it, it stays, and is stale.
func (k *checkpointer) truncate() {
	resume := k.pause()
	defer resume()
	k.mustTruncate = true
	k.withReserve(func() error {
		_, err := k.conn.one(`PRAGMA wal_checkpoint(TRUNCATE)`, func(s *sqlite.Stmt) { k.mustTruncate = s.ColumnBool(0) })
		return err
	})
	if !k.mustTruncate {
		k.space.onLogCopied()
	}
}

// roomy does something that may make the database larger, with the reserve if there is
// no room otherwise.
func (k *checkpointer) withReserve(do func() error) error {
	err := do()
	if k.space.isOutOfSpace(err) {
		k.space.withReserve(k.busyTimeout, func() { err = do() })
	}
	return err
}

// frames returns the length of the log, in pages.
func (k *checkpointer) frames() (n int) {
	_, _ = k.conn.one(`PRAGMA wal_checkpoint(NOOP)`, func(s *sqlite.Stmt) { n = s.ColumnInt(1) })
	return n
}

// copy copies the log and starts it over. If an iteration or another process
// still reads from it, it goes on growing, and is copied again later. That
// copying fails is nobody's failure: the log has everything.
func (k *checkpointer) copy() {
	_ = k.conn.exec(`PRAGMA wal_checkpoint(PASSIVE)`) // most of it, while others read
	resume := k.pause()
	defer resume()
	left := 0
	err := k.withReserve(func() error {
		_, err := k.conn.one(`PRAGMA wal_checkpoint(RESTART)`, func(s *sqlite.Stmt) {
			if left = 0; s.ColumnBool(0) {
				left = s.ColumnInt(1)
			}
		})
		return err
	})
	k.nextFrames = 0
	if err != nil || left > 0 {
		k.nextFrames = left + logFrames
		return
	}
	k.space.onLogCopied()
}
