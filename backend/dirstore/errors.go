package dirstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"memento"
	"memento/backend"
)

// translate turns errors of the operating system into those of the root package, and
// removes file names: they belong to the host.
func translate(err error) error {
	switch {
	case err == nil, backend.IsTranslated(err, memento.ErrForeign, context.Canceled, context.DeadlineExceeded):
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w (%v)", memento.ErrNoSpace, bare(err))
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w (%v)", memento.ErrReadOnly, bare(err))
	case errors.Is(err, fs.ErrClosed):
		return memento.ErrClosed
	}
	return fmt.Errorf("storage failed: %w", bare(err))
}

// bare returns err without what the functions of package os add to it.
func bare(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	if at, ok := errors.AsType[*os.LinkError](err); ok {
		return at.Err
	}
	return err
}

// fail wraps err as the failure of op; nil stays nil.
func fail(op string, err error) error { return backend.Failure(op, translate(err)) }

// foreign returns the error for a path at which something is not a memory.
func foreign(op string, at memento.Path, reason string) error {
	return &memento.Error{Op: op, Path: at, Err: fmt.Errorf("%w: %s", memento.ErrForeign, reason)}
}

// refused reports whether the database has refused a change because of a rule, so that
// the same change would be refused again.
func refused(err error) bool {
	for _, rule := range []error{
		memento.ErrInvalid, memento.ErrInvalidPath, memento.ErrTooLarge, memento.ErrProtected, memento.ErrArchived,
		memento.ErrIsDir, memento.ErrNotDir, memento.ErrExist, memento.ErrConflict, memento.ErrNotExist,
	} {
		if errors.Is(err, rule) {
			return true
		}
	}
	return false
}
