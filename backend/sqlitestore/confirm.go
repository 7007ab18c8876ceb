package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"memento"

	"zombiezen.com/go/sqlite"
)

// What looks like damage may only be a failed read: SQLite reports SQLITE_CORRUPT if the
// operating system could not read a page (EIO), and a connection keeps a page that was read
// wrongly in its cache, though the medium has the right one. So damage is only reported if
// a new connection finds it, too. If no new connection can be opened, it is not known
// whether there is damage, and the error is memento.ErrUnavailable.
//
// A connection that was wrong is closed. The connection that writes could even write its
// wrong page to the file: if it is doubtful, it is replaced before the next write.

// errMisread says that a read has failed, or returned wrong data, and that there is no
// damage.
var errMisread = fmt.Errorf("%w: the database was not read correctly; try again", memento.ErrUnavailable)

// isDamage reports whether an error is SQLite's for a damaged file.
func isDamage(err error) bool {
	code := sqlite.ErrCode(err).ToPrimary()
	return code == sqlite.ResultCorrupt || code == sqlite.ResultNotADB
}

// seemsDamaged reports whether the error of a read says that there is damage: to the file,
// to a memory, or to a description.
func seemsDamaged(err error) bool {
	return isDamage(err) || errors.Is(err, memento.ErrDamaged) || errors.Is(err, memento.ErrFormat)
}

// retryOpen calls open, and once more if the file seems to be damaged.
func retryOpen(open func() (*conn, error)) (*conn, error) {
	c, err := open()
	if isDamage(err) {
		c, err = open()
	}
	return c, err
}

// confirm runs a read, which has reported damage on the connection *c, on a new connection,
// which takes the place of *c in the pool.
func confirm[T any](b *Backend, c **conn, do func(*conn) (T, error)) (result T, err error) {
	fresh, err := b.readers.renew(*c)
	if err != nil {
		return result, err
	}
	*c = fresh
	if result, err = do(fresh); !seemsDamaged(err) {
		b.writer.doubtful.Store(true) // it has perhaps read the same
	}
	return result, err
}

// confirmRows is confirm for rows of which some have been yielded. The error is errMisread
// if there is no damage: they may have been wrong.
func confirmRows[T any](ctx context.Context, c *conn, do func(c *conn, yield func(T) bool) error) error {
	if err := do(c, func(T) bool { return ctx.Err() == nil }); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return errMisread
}

// failRead is fail for reads. Unlike an error of a write, that of the operating system says
// that the read may succeed later.
func failRead(op string, err error) error {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultIOErr, sqlite.ResultCantOpen:
		if !isTranslated(err) && !errors.Is(err, memento.ErrNoSpace) {
			err = fmt.Errorf("%w: %v", memento.ErrUnavailable, translate(err))
		}
	}
	return fail(op, err)
}

// renewIfDoubtful replaces the connection if it has reported damage, or has perhaps a wrong
// page in its cache. The caller is the leader.
func (w *writer) renewIfDoubtful() error {
	if !w.doubtful.Load() || w.readOnlyOnFullDisk() {
		return nil
	}
	c, err := retryOpen(func() (*conn, error) { return reopenWriter(w.file, w.busyTimeout) })
	if err != nil {
		return err
	}
	_ = w.conn.Close() // after the new one is open, so that SQLite keeps the log
	c.SetBusyTimeout(0)
	w.conn, w.log.conn = c, c
	w.doubtful.Store(false)
	return nil
}

// reopenWriter opens another connection that writes to a file that is open.
//
// Errors: errMoved.
func reopenWriter(file *fileIdentity, busy time.Duration) (*conn, error) {
	if err := file.check(); err != nil {
		return nil, err
	}
	c, err := openWriter(file.path, busy)
	if err != nil {
		return nil, err
	}
	if err := file.check(); err != nil { // SQLite opens the file that is there now
		c.Close()
		return nil, err
	}
	return c, nil
}
