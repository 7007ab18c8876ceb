package archive

import (
	"errors"
	"fmt"
	"strings"

	"memento"
)

// Errors that are this package's own.
var (
	// ErrNotEmpty is of a store that has a history already when another is to be
	// read into it, and of a folder that has files already when a store is to be
	// written into it.
	ErrNotEmpty = errors.New("is not empty")
	// ErrNoHistory is of an archive without a history that is to be read with it.
	ErrNoHistory = errors.New("the archive has no history")
	// ErrTooLarge is of an archive or a folder with more than ReadOptions.MaxBytes.
	ErrTooLarge = errors.New("larger than what may be read")
)

// A FormatError says what is wrong with an archive, or with a folder. It is
// [memento.ErrInvalid].
type FormatError struct {
	Entry  string // the file or entry at fault; "" for the archive as a whole
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

// quoted writes a name from outside so that it can do no harm in a terminal.
func quoted(name string) string {
	const most = 200
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return fmt.Sprintf("%q", name)
}
