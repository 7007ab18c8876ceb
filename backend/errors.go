package backend

import (
	"errors"
	"fmt"

	"memento"
)

// IsTranslated reports whether err needs no translation at the boundary of a backend: it
// is an [memento.Error], [memento.PathError] or [memento.LimitError], or an
// [memento.ErrFormat] or [memento.ErrClosed], or one of own, the other errors that the
// backend makes itself.
func IsTranslated(err error, own ...error) bool {
	if _, ok := errors.AsType[*memento.LimitError](err); ok || namesOperation(err) {
		return true
	}
	for _, known := range append(own, memento.ErrFormat, memento.ErrClosed) {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// Failure returns err, which is translated, as the failure of an operation. nil stays
// nil, and an error that names an operation or a path stays as it is.
func Failure(op string, err error) error {
	if err == nil || namesOperation(err) {
		return err
	}
	return &memento.Error{Op: op, Err: err}
}

// namesOperation reports whether err says by itself which operation or path failed.
func namesOperation(err error) bool {
	_, at := errors.AsType[*memento.Error](err)
	_, path := errors.AsType[*memento.PathError](err)
	return at || path
}

// A NewerFormatError says that data was written by a newer memento. It wraps
// [memento.ErrFormat].
type NewerFormatError struct {
	What    string // such as "the file"
	Format  int    // its format
	Highest int    // the highest format that this memento reads
}

// Error implements error.
func (e *NewerFormatError) Error() string {
	return fmt.Sprintf("%s was written by a newer memento (format %d; this one reads up to %d)", e.What, e.Format, e.Highest)
}

// Unwrap returns memento.ErrFormat.
func (e *NewerFormatError) Unwrap() error { return memento.ErrFormat }
