package sqlitestore

import (
	"context"
	"fmt"

	"memento"

	"zombiezen.com/go/sqlite"
)

// takeBack makes sure that a transaction whose COMMIT has failed with err has not
// happened, and returns err, or memento.ErrUncertain if it cannot.
//
// SQLite commits by writing pages to the end of its log and flushing them. If only the
// flush fails, or what comes after it, the transaction is over, but the log has all of
// it: whoever opens the file after a crash would find it. The next transaction is written
// over it, so an empty one follows at once. When that is flushed, the other is gone.
func (w *writer) undoFailedCommit(err error) error {
	if !w.conn.AutocommitEnabled() {
		_ = w.conn.exec("ROLLBACK")
	}
	if code := sqlite.ErrCode(err); code.ToPrimary() == sqlite.ResultFull || code == sqlite.ResultIOErrWrite && w.space.isOutOfSpace(err) {
		return err // the page that ends the transaction, which comes last, was not written
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

// overwrite commits a transaction that has begun and changes nothing but still writes a page.
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

// twice returns open, tried once more if the file seems to be damaged. SQLite says so
// of a read that the system could not carry out, too, which may pass.
func retryOpen(open func() (*conn, error)) func() (*conn, error) {
	return func() (*conn, error) {
		c, err := open()
		if isDamage(err) {
			c, err = open()
		}
		return c, err
	}
}
