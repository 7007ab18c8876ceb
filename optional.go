package memento

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// A WorkspaceLister is a [Backend] that knows which workspaces it has.
type WorkspaceLister interface {
	// Workspaces returns the workspaces that have stores, archived ones too, in
	// order of their names.
	Workspaces(context.Context) ([]Workspace, error)
}

// A Leaser is a [Backend] that many servers share, and which chooses one of them
// for what only one need do.
type Leaser interface {
	// AcquireLease reports whether this handle has a duty for a term from now on. If another
	// has it, it has not until that one's term ends; if it has it itself, the new term
	// takes the old one's place. A term is at least a second.
	//
	// Whoever was chosen may stall for longer than its term: a duty must do no harm if
	// two do it at once.
	AcquireLease(ctx context.Context, duty string, term time.Duration) (bool, error)
}

// A Verifier is a [Backend] that can look for damage below what its callers see: in
// tables, indexes or files that do not fit together.
type Verifier interface {
	// Verify reads everything and changes nothing, while others use the backend. It
	// returns a sentence, without its end, for each fault; sentences name stores by
	// their IDs, and hold nothing of what is kept.
	//
	// Errors: ErrUnsupported if there is nothing to look for.
	Verify(context.Context) (faults []string, err error)
}

// A Clock is a [Backend] whose storage has a clock of its own.
type Clock interface {
	// StorageTime returns the time by that clock, in UTC, to the second or better, as
	// it was at some moment of the call.
	//
	// Errors: ErrUnsupported if the storage does not tell.
	StorageTime(context.Context) (time.Time, error)
}

// A NoteKeeper is a [Backend] that keeps small texts for programs, by name. They are no
// memories, and belong to no workspace.
type NoteKeeper interface {
	// Note returns the text that was set last under a name, "" if there is none.
	//
	// Errors: ErrUnsupported, also of SetNote, if what a wrapper stands on keeps none.
	Note(ctx context.Context, name string) (string, error)

	// SetNote sets it. A name is of 1 to 64 letters, digits and hyphens, a text at most
	// 4 KiB of UTF-8.
	//
	// Errors: ErrInvalid, ErrNoSpace, ErrReadOnly.
	SetNote(ctx context.Context, name, text string) error
}

// CheckNote returns ErrInvalid if a [NoteKeeper] does not keep such a note.
func CheckNote(name, text string) error {
	const longest, most = 64, 4 << 10
	foreign := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-')
	}
	if name == "" || len(name) > longest || strings.ContainsFunc(name, foreign) {
		return fmt.Errorf("%w: the name of a note is 1 to %d letters, digits and hyphens", ErrInvalid, longest)
	}
	if len(text) > most || !utf8.ValidString(text) {
		return fmt.Errorf("%w: a note is at most %d bytes of UTF-8", ErrInvalid, most)
	}
	return nil
}

// A Repairer is a [Verifier] that can put right some of what Verify finds, because it
// keeps twice what should be there.
type Repairer interface {
	// Repair puts right what it can, exactly as it was, or with dryRun says what that
	// would be. It returns a sentence, without its end, for each thing; sentences are as
	// those of Verify.
	//
	// Errors: ErrUnsupported if there is nothing that it could repair.
	Repair(ctx context.Context, dryRun bool) (repaired []string, err error)
}

// A Salvager is a [Backend] that keeps contents a second time, elsewhere than where it
// reads them.
type Salvager interface {
	// Salvage returns the contents of a version from there. They have its hash.
	//
	// Errors: ErrNotExist if they are not there, or not whole.
	Salvage(context.Context, StoreID, VersionID) (string, error)
}
