package sqlitestore

import (
	"context"
	"fmt"

	"memento"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// What makes a write durable. The promise: when a write is reported as done, it has been
// flushed to the medium, and a crash of the process or of the machine does not take it back.
// A write that has failed has no effect, not even after a crash.
//
//  1. SQLite writes the changed pages to the end of its log (WAL).
//  2. At COMMIT it flushes the log: synchronous=FULL. From here on the write is done. Only
//     what changes nothing but the search index is not flushed: see setSynchronous.
//  3. If the flush fails, undoFailedCommit removes the transaction from the log. If that
//     fails, too, the outcome is unknown: memento.ErrUncertain.
//  4. Later a checkpoint flushes the log, copies its pages to the database, flushes that,
//     and starts the log from its beginning: see checkpoint.go. The order is SQLite's.
//
// The name of a new file is flushed by installTemp in files.go, and by SQLite.

// makeDurable makes SQLite flush each commit of a connection.
func makeDurable(c *sqlite.Conn) error {
	for _, pragma := range []string{"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL"} {
		if err := sqlitex.ExecuteTransient(c, pragma, nil); err != nil {
			return err
		}
	}
	return nil
}

// setSynchronous sets whether SQLite flushes each commit: FULL, or NORMAL for those of the
// search index, which lose nothing that was reported as done. Flushing a later commit
// flushes them, too.
func (w *writer) setSynchronous(how string) {
	// Not a kept statement: this pragma takes effect when it is prepared.
	if err := sqlitex.ExecuteTransient(w.conn.Conn, "PRAGMA synchronous = "+how, nil); err != nil {
		w.doubtful.Store(true) // a new connection flushes
	}
}

// undoFailedCommit makes sure that a transaction whose COMMIT has failed with err has no
// effect. It returns err, or memento.ErrUncertain if it cannot make sure.
//
// SQLite commits by writing pages to the end of its log and flushing them. If only the
// flush fails, or a later step, the transaction is rolled back, but the log still contains
// it: after a crash, the next process to open the file would find it. The next transaction
// overwrites it, so an empty one is committed at once. When that has been flushed, the
// failed transaction is gone.
func (w *writer) undoFailedCommit(err error) error {
	if !w.conn.AutocommitEnabled() {
		_ = w.conn.exec("ROLLBACK")
	}
	if code := sqlite.ErrCode(err); code.ToPrimary() == sqlite.ResultFull || code == sqlite.ResultIOErrWrite && w.space.isOutOfSpace(err) {
		return err // the last page of the transaction, which makes it valid, was not written
	}
	again := w.begin(context.Background())
	if again == nil {
		again = w.commitEmpty()
	}
	if again != nil {
		return fmt.Errorf("%w: the database could not confirm the change, and it may be found after a crash (%w)", memento.ErrUncertain, translate(err))
	}
	return err
}

// commitEmpty commits the open transaction, which changes no data but writes a page.
func (w *writer) commitEmpty() error {
	err := w.conn.exec(fmt.Sprintf("PRAGMA application_id = %d", appID))
	if err == nil {
		err = w.conn.exec("COMMIT")
	}
	if !w.conn.AutocommitEnabled() {
		_ = w.conn.exec("ROLLBACK")
	}
	return err
}
