package sqlitestore

import (
	"context"
	"fmt"

	"memento"

	"zombiezen.com/go/sqlite"
)

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
