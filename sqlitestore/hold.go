package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"memento"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Hold keeps all others from the file at path, and moves what is in its log into
// it, until the caller calls release: for whoever replaces what the file belongs
// to. If there is no file, nothing happens.
//
// Errors: memento.ErrInUse if a process, this one included, has it open;
// memento.ErrFormat if it is another program's database; memento.ErrReadOnly.
func Hold(ctx context.Context, path string) (release func(), err error) {
	h, err := takeHold(ctx, path)
	if err != nil {
		return nil, fail("hold database", translateFileError(err))
	}
	return h.release, nil
}

// A hold on a database keeps all others from it.
//
// Every connection to a database in WAL mode has a shared lock on its file for as
// long as it is open, though it be idle. To end WAL mode takes the exclusive lock,
// so SQLite itself says whether somebody else has the file open. It also copies the
// log and removes it: the file is whole then.
//
// Whoever opened the file just before, and has waited for the lock, cannot spoil its
// successor: leaving WAL mode has made SQLite look, before it writes, whether the
// file is still where it was opened.
type hold struct {
	conn  *sqlite.Conn
	file  *os.File // instead of conn, if SQLite cannot read the file
	whole bool     // whether all is in the file itself
}

// holdPatience is how long to wait for those who use a file for a moment.
const holdTimeout = 2 * time.Second

// takeHold takes hold of the file at path, which may be damaged, or have only its
// log left. The caller releases it.
//
// Errors: memento.ErrInUse; memento.ErrFormat if it is another program's database.
func takeHold(ctx context.Context, path string) (hold, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return hold{}, nil // of nothing
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
		return hold{}, memento.ErrInUse
	case isDamage(err), code == sqlite.ResultIOErr:
		f, err := lockFile(path)
		return hold{file: f}, err
	}
	return hold{}, errors.Join(err, closeErr)
}

// exclude ends WAL mode and takes the exclusive lock.
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
		return nil // in what is behind the header: no reason to let go
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
