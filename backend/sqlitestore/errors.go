package sqlitestore

import (
	"context"
	"errors"
	"fmt"

	"memento"
	"memento/backend"

	"zombiezen.com/go/sqlite"
)

// translate turns SQLite's errors into the root package's. Other errors keep their text,
// which has no path: SQLite's messages have none.
func translate(err error) error {
	if err == nil || isTranslated(err) || errors.Is(err, memento.ErrNoSpace) {
		return err
	}
	// Only when opening does the driver add the file's path.
	code := sqlite.ErrCode(err)
	switch code.ToPrimary() {
	case sqlite.ResultFull:
		return fmt.Errorf("%w (%v)", memento.ErrNoSpace, code)
	case sqlite.ResultReadOnly, sqlite.ResultPerm:
		if code == sqlite.ResultReadOnlyDBMoved {
			return errMoved
		}
		return fmt.Errorf("%w (%v)", memento.ErrReadOnly, code)
	case sqlite.ResultNotADB:
		return fmt.Errorf("%w: the file is not a database (%v)", memento.ErrFormat, code)
	case sqlite.ResultCorrupt:
		return fmt.Errorf("%w: the database is damaged, or the medium cannot be read (%v)", memento.ErrFormat, code)
	case sqlite.ResultBusy:
		return fmt.Errorf("the database is locked by another process (%v)", code)
	case sqlite.ResultCantOpen:
		return fmt.Errorf("the database cannot be opened; check that its directory exists and is writable (%v)", code)
	case sqlite.ResultIOErr:
		return fmt.Errorf("storage failed (%s)", describeCode(code))
	}
	return err
}

func isBusy(err error) bool { return sqlite.ErrCode(err).ToPrimary() == sqlite.ResultBusy }

func isTranslated(err error) bool {
	return backend.IsTranslated(err, context.Canceled, context.DeadlineExceeded)
}

// fail wraps err as the failure of op; nil stays nil.
func fail(op string, err error) error { return backend.Failure(op, translate(err)) }
