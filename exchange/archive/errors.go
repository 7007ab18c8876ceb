package archive

import (
	"errors"
	"fmt"
	"strings"

	"memento"
)

// Errors of this package.
var (
	// ErrNotEmpty says that a history is to be read into a store that has one, or that a
	// store is to be written to a folder that has files.
	ErrNotEmpty = errors.New("is not empty")
	// ErrNoHistory says that an archive is to be read with its history, and has none.
	ErrNoHistory = errors.New("the archive has no history")
	// ErrTooLarge says that an archive has more than ReadOptions.MaxBytes.
	ErrTooLarge = errors.New("larger than the limit")
)

// A FormatError says what is wrong with an archive, or with a folder. It is
// [memento.ErrInvalid].
type FormatError struct {
	Entry  string // file or entry with the error; "" for the archive as a whole
	Reason string
}

func (e *FormatError) Error() string {
	if e.Entry == "" {
		return "invalid archive: " + e.Reason
	}
	return fmt.Sprintf("invalid archive: %s: %s", quoted(e.Entry), e.Reason)
}

func (e *FormatError) Unwrap() error { return memento.ErrInvalid }

func malformed(entry, format string, args ...any) error {
	return &FormatError{Entry: entry, Reason: fmt.Sprintf(format, args...)}
}

// quoted makes a name from outside safe to print on a terminal.
func quoted(name string) string {
	const most = 200
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return fmt.Sprintf("%q", name)
}
