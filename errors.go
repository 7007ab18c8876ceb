package memento

import (
	"errors"
	"fmt"
	"io/fs"
)

// Errors that callers distinguish with [errors.Is]. Methods document which they return;
// any other error is a fault of the storage.
var (
	ErrNotExist    = sentinelOf(fs.ErrNotExist, "does not exist") // no such memory, directory or version
	ErrExist       = sentinelOf(fs.ErrExist, "already exists")    // the path, or the unique name, is taken
	ErrIsDir       = errors.New("is a directory")                 // a memory was expected
	ErrNotDir      = errors.New("is a memory, not a directory")   // a path leads through a memory
	ErrInvalidPath = sentinelOf(fs.ErrInvalid, "invalid path")    // see ParsePath; always a *PathError
	ErrInvalid     = sentinelOf(fs.ErrInvalid, "invalid value")   // contents that are not UTF-8, a bad name, a bad limit
	ErrConflict    = errors.New("precondition failed")            // a Condition did not hold
	ErrTooLarge    = errors.New("limit exceeded")                 // always a *LimitError
	ErrNoStore     = errors.New("store does not exist")           // no such store in the workspace
	ErrArchived    = errors.New("store is archived")              // it accepts no new contents
	ErrHead        = errors.New("is the newest version")          // of a living memory; such a version cannot be redacted
	ErrNoMatch     = errors.New("no match")                       // the text to replace is not there
	ErrManyMatches = errors.New("several matches")                // the text to replace is there more than once
	ErrOutOfRange  = errors.New("line out of range")              // a line number that the memory does not have
	ErrUnsupported = errors.New("not supported by this backend")  // an optional interface that it does not implement
	ErrNoSpace     = errors.New("no space left on storage")       // the medium or its quota is full
	ErrReadOnly    = errors.New("storage is read-only")           // the medium refuses writes
	ErrProtected   = errors.New("is read-only")                   // by the store's settings
	ErrSensitive   = errors.New("holds sensitive information")    // always a *SensitiveError; also of instructions that the settings refuse
	ErrNoDetector  = errors.New("no detector")                    // the store's settings ask for one; see StoreOptions
	ErrForeign     = errors.New("is not a memory")                // another kind of file is in its place, and is not touched
	ErrDenied      = errors.New("access denied")                  // by a server: no valid key, or one whose role does not allow it
	ErrUncertain   = errors.New("outcome unknown")                // a write was made whole or not at all, but the answer of the server, database or medium was lost
	ErrUnavailable = errors.New("storage is unavailable")         // nothing was changed; a later attempt may succeed
	ErrDecrypt     = errors.New("cannot be decrypted")            // the key is wrong or missing, or the stored data was tampered with
	ErrDamaged     = errors.New("is damaged")                     // always a *DamageError
	ErrClosed      = errors.New("backend is closed")              // used after Close
	ErrFormat      = errors.New("unknown storage format")         // damaged, foreign, or written by a newer memento
)

// errNotUTF8 is ErrInvalid for contents.
var errNotUTF8 = fmt.Errorf("%w: contents are not valid UTF-8", ErrInvalid)

// ErrLookalike is the ErrProtected of an agent's change at a path that looks like that of
// a read-only memory: see [Settings.LooksReadOnly].
var ErrLookalike = fmt.Errorf("%w for agents: its path looks like that of read-only memories", ErrProtected)

// ErrSettingsChanged is the ErrConflict of a change whose MaskedBy is not the revision
// of the store's settings: its contents have to be masked again, by the new settings.
var ErrSettingsChanged = fmt.Errorf("%w: the settings for sensitive information", ErrConflict)

// An Error says which operation failed, and on which path.
type Error struct {
	Op   string // the method, for example "put"
	Path Path   // the path that the error is about, for a conflict the one in the way; may be ""
	Err  error  // one of the sentinels, or wraps one
}

func (e *Error) Error() string {
	if e.Path == "" {
		return e.Op + ": " + e.Err.Error()
	}
	return fmt.Sprintf("%s %s: %v", e.Op, e.Path, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// A PathError says why a path is not valid. It is [ErrInvalidPath].
type PathError struct {
	Path   string // as given
	Reason string // completes the sentence "Invalid path P: …"
}

func (e *PathError) Error() string {
	return fmt.Sprintf("invalid path %q: %s", e.Path, e.Reason)
}

func (e *PathError) Unwrap() error { return ErrInvalidPath }

// A LimitError says which of a store's limits a change would exceed. It is [ErrTooLarge].
type LimitError struct {
	Limit Limit
	Max   int64 // the limit
	Used  int64 // the present usage; 0 for limits of a single memory or path
	Want  int64 // the usage after the change
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("limit exceeded: %s would be %d, at most %d allowed", e.Limit, e.Want, e.Max)
}

func (e *LimitError) Unwrap() error { return ErrTooLarge }

// A sentinel is an error that is another one as well: one of package io/fs, so that
// programs that know only those, and helpers written for files, work with memories.
type sentinel struct {
	text string
	of   error
}

func sentinelOf(of error, text string) error { return &sentinel{text, of} }

func (e *sentinel) Error() string { return e.text }

// Is reports whether target is the other error; errors.Is compares with e itself.
func (e *sentinel) Is(target error) bool { return target == e.of }
