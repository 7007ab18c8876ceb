package backend

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"memento"
)

// The optional interfaces of a Backend for servers, maintenance and repair.

// A WorkspaceLister is a [memento.Backend] that can list its workspaces.
type WorkspaceLister interface {
	// Workspaces returns the workspaces that have stores, archived ones too, in
	// order of their names.
	Workspaces(context.Context) ([]memento.Workspace, error)
}

// A Leaser is a [memento.Backend] that many servers share. A lease chooses one of them for work
// that only one should do.
type Leaser interface {
	// AcquireLease acquires the lease with the given name, or renews it if this handle
	// holds it, for ttl from now on. It returns false while another handle holds the
	// lease. ttl is at least a second.
	//
	// A holder may stall for longer than ttl while another acquires the lease, so the
	// work must do no harm if it is done twice at the same time.
	AcquireLease(ctx context.Context, name string, ttl time.Duration) (bool, error)
}

// A Position is how far a store's history goes.
type Position struct {
	Store memento.StoreID
	Seq   int64     // of the newest version that was made; 0 if none was
	At    time.Time // when it was made, or a time after the newest imported version; no meaning if Seq is 0
}

// A PositionLister is a [memento.Backend] that can tell with one cheap request in which stores
// something happened.
type PositionLister interface {
	// Positions returns the positions of the workspace's newest stores, at most limit, the
	// newest store first. Archived ones are left out. A store whose newest version was made
	// before the call has at least its Seq, whichever process made it.
	//
	// Errors: ErrUnsupported if the backend below a wrapper is not a PositionLister.
	Positions(ctx context.Context, ws memento.Workspace, limit int) ([]Position, error)
}

// A Verifier is a [memento.Backend] that can look for damage in its own storage, such as tables,
// indexes or files that are inconsistent with one another.
type Verifier interface {
	// Verify reads everything and changes nothing. Others can use the backend meanwhile.
	// It returns a sentence, without full stop, for each fault. Sentences name stores by
	// their IDs, and contain no paths or contents of memories.
	//
	// Errors: ErrUnsupported if there is nothing to verify.
	Verify(context.Context) (faults []string, err error)
}

// A Clock is a [memento.Backend] whose storage has a clock of its own.
type Clock interface {
	// StorageTime returns the time by that clock at some moment of the call, in UTC, to
	// the second or better.
	//
	// Errors: ErrUnsupported if the storage does not report its time.
	StorageTime(context.Context) (time.Time, error)
}

// A NoteKeeper is a [memento.Backend] that keeps small texts for programs, by name. They are not
// memories, and belong to no workspace.
type NoteKeeper interface {
	// Note returns the text that was set last under a name, or "".
	//
	// Errors: ErrUnsupported, also of SetNote, if the backend below a wrapper is not a
	// NoteKeeper.
	Note(ctx context.Context, name string) (string, error)

	// SetNote sets the text under a name. A name has 1 to 64 letters, digits and hyphens, a text at most
	// 4 KiB of UTF-8.
	//
	// Errors: ErrInvalid, ErrNoSpace, ErrReadOnly.
	SetNote(ctx context.Context, name, text string) error
}

// CheckNote returns ErrInvalid for a name or a text that a [NoteKeeper] does not accept.
func CheckNote(name, text string) error {
	const longest, most = 64, 4 << 10
	foreign := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-')
	}
	if name == "" || len(name) > longest || strings.ContainsFunc(name, foreign) {
		return fmt.Errorf("%w: the name of a note is 1 to %d letters, digits and hyphens", memento.ErrInvalid, longest)
	}
	if len(text) > most || !utf8.ValidString(text) {
		return fmt.Errorf("%w: a note is at most %d bytes of UTF-8", memento.ErrInvalid, most)
	}
	return nil
}

// A Repairer is a [Verifier] that can repair some of the faults that Verify finds,
// because it keeps the data twice.
type Repairer interface {
	// Repair restores the exact data where it can, or with dryRun reports what it would
	// restore. It returns a sentence for each repair, in the form of those of Verify.
	//
	// Errors: ErrUnsupported if there is nothing that it could repair.
	Repair(ctx context.Context, dryRun bool) (repaired []string, err error)
}

// A Salvager is a [memento.Backend] that keeps a second copy of contents.
type Salvager interface {
	// Salvage returns the contents of a version from the second copy. They match the
	// hash of the version.
	//
	// Errors: ErrNotExist if there is no second copy, or if it is damaged.
	Salvage(context.Context, memento.StoreID, memento.VersionID) (string, error)
}

// A ReadyChecker is a Backend that can report whether it accepts writes at present.
type ReadyChecker interface {
	// Ready returns why writes would be refused, or nil. It changes nothing, and takes no
	// longer than a few milliseconds.
	//
	// Errors: ErrNoSpace, for example; ErrClosed.
	Ready(context.Context) error
}

// A Watcher is a Backend that notices changes which other programs make to its files.
type Watcher interface {
	// Watch makes versions from such changes soon after they were made, until ctx ends.
	// Otherwise the next access makes them.
	//
	// Errors: ErrClosed.
	Watch(ctx context.Context) error
}
