package sqlitestore

import (
	"time"

	"zombiezen.com/go/sqlite"
)

// SQLite's log grows until it is completely copied to the database by a checkpoint, at a
// moment when no connection reads from it. By default SQLite attempts a checkpoint at every
// commit once the log is long. Under steady reading that moment never comes, and every
// commit pays for another copy and its flushes. So the writer decides when to copy, and
// pauses this process's short reads while it restarts the log.

const (
	// logFrames is the length of the log, in pages, at which it is copied.
	logFrames = 4000
	// idleFrames is the length at which it is copied when there are no writes. Once the log
	// is copied, reads use the database file itself.
	idleFrames = 500
	// checkEvery is after how many changes the writer checks the length of the log.
	checkEvery = 64
)

// A checkpointer keeps the log of a connection short.
type checkpointer struct {
	conn         *conn
	pause        func() (resume func()) // pauses reads of this process
	space        *diskSpace             // where the log is copied to
	busyTimeout  time.Duration          // how long to wait for another process that uses the reserve file
	mustTruncate bool                   // whether the log has removed data
	changes      int                    // since the last check
	nextFrames   int                    // length of the log at which it is copied next
}

// onCommit is called after each commit, outside of transactions.
func (k *checkpointer) onCommit(changes int) {
	if k.changes += changes; k.changes >= checkEvery {
		k.check()
	}
}

// check copies the log if it has become long.
func (k *checkpointer) check() {
	k.changes = 0
	if frames := k.frames(); frames >= max(k.nextFrames, logFrames) {
		k.copy()
	}
}

// onIdle is called when there was no write for a while.
func (k *checkpointer) onIdle() {
	switch {
	case k.mustTruncate:
		k.truncate()
	case k.frames() >= idleFrames:
		k.copy()
	}
}

// truncate empties the log, which has older states of pages. If an iteration or another
// process still reads from it, the log stays, and so does mustTruncate.
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

// withReserve runs do, which may make the database larger. If there is no space, it runs do
// again with the reserve.
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

// copy copies the log and restarts it. If an iteration or another process still reads from
// it, the log keeps growing and is copied later. A failure to copy is not reported: all
// data is in the log.
func (k *checkpointer) copy() {
	_ = k.conn.exec(`PRAGMA wal_checkpoint(PASSIVE)`) // copies most of it while others read
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
