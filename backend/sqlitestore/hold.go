package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"memento/backend"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Hold takes exclusive access to the file at path and copies its log into it, until the
// caller calls release. It is for replacing the data to which the file belongs. If there is
// no file, nothing happens.
//
// Errors: backend.ErrInUse if a process, this one included, has the file open;
// memento.ErrFormat if it is another program's database; memento.ErrReadOnly.
func Hold(ctx context.Context, path string) (release func(), err error) {
	h, err := takeHold(ctx, path)
	if err != nil {
		return nil, fail("hold database", translateFileError(err))
	}
	return h.release, nil
}

// A hold is exclusive access to a database.
//
// Every connection to a database in WAL mode has a shared lock on its file for as long as
// it is open, even if it is idle. Leaving WAL mode takes the exclusive lock, so SQLite
// itself reports whether the file is open elsewhere. It also copies the log and removes it:
// then the file is complete.
//
// A process that opened the file just before, and has waited for the lock, cannot damage
// the new file: after WAL mode was left, SQLite checks before it writes whether the file is
// still where it was opened.
type hold struct {
	conn  *sqlite.Conn
	file  *os.File // used instead of conn if SQLite cannot read the file
	whole bool     // whether the file is complete without its log
}

// holdTimeout is how long to wait for processes that use a file for a moment.
const holdTimeout = 2 * time.Second

// takeHold takes exclusive access to the file at path. The file may be damaged, or only its
// log may exist. The caller releases the hold.
//
// Errors: backend.ErrInUse; memento.ErrFormat if it is another program's database.
func takeHold(ctx context.Context, path string) (hold, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return hold{}, nil // there is no file
	}
	sc, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return hold{}, err
	}
	sc.SetInterrupt(ctx.Done())
	sc.SetBusyTimeout(holdTimeout)
	err = exclude(sc)
	if err == nil {
		sc.SetInterrupt(nil)
		return hold{conn: sc, whole: true}, nil
	}
	closeErr := sc.Close()
	switch code := sqlite.ErrCode(err).ToPrimary(); {
	case ctx.Err() != nil:
		return hold{}, ctx.Err()
	case isBusy(err):
		return hold{}, backend.ErrInUse
	case isDamage(err), code == sqlite.ResultIOErr:
		f, err := lockFile(path)
		return hold{file: f}, err
	}
	return hold{}, errors.Join(err, closeErr)
}

// exclude leaves WAL mode and takes the exclusive lock.
func exclude(sc *sqlite.Conn) error {
	mode := ""
	if err := sqlitex.ExecuteTransient(sc, `PRAGMA journal_mode = DELETE`, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		mode = s.ColumnText(0)
		return nil
	}}); err != nil {
		return err
	}
	if mode != "delete" {
		return fmt.Errorf("the log cannot be finished (journal mode %s)", mode)
	}
	if err := sqlitex.ExecuteTransient(sc, `BEGIN EXCLUSIVE`, nil); err != nil {
		return err
	}
	_, err := checkOurs(newConn(sc))
	if isDamage(err) {
		return nil // after the header: the hold is still valid
	}
	return err
}

func (h *hold) release() {
	if h.conn != nil {
		_ = h.conn.Close() // nothing was written
	}
	if h.file != nil {
		_ = h.file.Close()
	}
	h.conn, h.file = nil, nil
}
