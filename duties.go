package memento

import (
	"context"
	"time"
)

// A WorkspaceLister is a [Backend] that knows which workspaces it has.
type WorkspaceLister interface {
	// Workspaces returns the workspaces that have stores, archived ones too, in
	// order of their names.
	Workspaces(context.Context) ([]Workspace, error)
}

// An Elector is a [Backend] that many servers share, and which chooses one of them
// for what only one need do.
type Elector interface {
	// Elect reports whether this handle has a duty for a term from now on. If another
	// has it, it has not until that one's term ends; if it has it itself, the new term
	// takes the old one's place. A term is at least a second.
	//
	// Whoever was chosen may stall for longer than its term: a duty must do no harm if
	// two do it at once.
	Elect(ctx context.Context, duty string, term time.Duration) (bool, error)
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
