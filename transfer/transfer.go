// Package transfer copies stores from one backend to another, whatever either is.
//
//	c := transfer.Copier{From: files, To: database}
//	stores, err := c.Stores(ctx, "")
//	for _, info := range stores {
//		result, err := c.Copy(ctx, info)
//	}
//
// A copy has the IDs of the store, its memories and its versions, their times and
// their actors, and the store's name, description, metadata, limits and settings. It
// is archived if the store is. What is new in it: the Seq of versions, when the
// description was last changed and when the store was archived, and when memories
// were last read. A memory of which versions were pruned or redacted may seem to have
// been made later, with one that is left.
//
// Copying goes by batches, and each leaves the target in a state that the source was
// in. What was interrupted goes on where it stopped, and what was copied before is
// brought up to date: the target has to have the beginning of the source's history,
// and nothing else. Until a copy is complete it has wide limits and settings that
// remove nothing, so that maintenance leaves it alone.
//
// The source may be in use. A copy is of what was there when its history was read to
// its end, store by store, and not of one moment of all stores; to copy again brings
// what is new.
package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"memento"
)

// ErrDiffers is of a store in the target that is no copy of the one in the source:
// somebody wrote to it, or it was made in another way. Nothing is done to it.
var ErrDiffers = errors.New("the target has a store of this ID that is no copy of it")

// ErrEncrypted is of a store that was encrypted before it reached the source, which
// was opened without its keys, and of a target that would encrypt it once more.
var ErrEncrypted = fmt.Errorf("the store is encrypted, and the source was opened without its keys: %w", memento.ErrDecrypt)

// ErrDamaged is of a version whose contents in the source are not those of its hash.
// It is not copied, and nothing behind it; what is before it is.
var ErrDamaged = errors.New("the source is damaged")

// A Copier copies stores. It is used by one goroutine.
type Copier struct {
	From, To memento.Backend

	// Encrypts says that To encrypts what it is given. Otherwise a store that is
	// encrypted, and whose source was opened without keys, is copied as it is.
	Encrypts bool

	// Progress is told of versions that were copied or compared, if it is not nil.
	Progress func(Progress)

	// The most of one Import; 0 means 1,000 versions, and 8 MiB. A single version
	// may be larger.
	BatchVersions int
	BatchBytes    int64
}

// A Progress is how far the work on a store is.
type Progress struct {
	Store memento.StoreInfo
	Step  Step
	Done  int64 // versions, in this step
}

// A Step is what is done to a store.
type Step string

// The steps, in their order.
const (
	Comparing Step = "comparing"
	Copying   Step = "copying"
	Verifying Step = "verifying"
)

// A State is what the target had of a store before.
type State string

// The states.
const (
	Absent   State = "absent"   // nothing
	Partial  State = "partial"  // the beginning of its history
	Complete State = "complete" // all of its history
)

// A Result is what became of one store.
type Result struct {
	Store    memento.StoreInfo // of the source, as it was last
	Before   State
	Versions int64 // that were copied, or would be
	Bytes    int64 // of their contents
	Present  int64 // versions that the target had already

	Pruned   int64 // versions that only the target still has: the source has pruned them since
	Redacted int64 // versions that the target had, and that were redacted in the source since

	// Verified says that source and target were compared, and Differences what was
	// found; no more than the first 100 of a store. SourceChanged says that the source was
	// written to meanwhile, so that only what is older was compared.
	Verified      bool
	Differences   []string
	SourceChanged bool
}

// maxDifferences bounds how many differences of a store are told.
const maxDifferences = 100

// Stores returns the stores of the source that have one of the names or IDs, all if
// none is given, oldest first. ws is the only workspace to look in; "" means all
// there are, as far as the backend tells.
//
// Errors: ErrNoStore if a name is of no store, which is wrapped with the name.
func (c *Copier) Stores(ctx context.Context, ws memento.Workspace, names ...string) ([]memento.StoreInfo, error) {
	spaces := []memento.Workspace{ws}
	if ws == "" {
		var err error
		if spaces, err = Workspaces(ctx, c.From); err != nil {
			return nil, err
		}
	}
	var found []memento.StoreInfo
	for _, ws := range spaces {
		var stores []memento.StoreInfo
		for info, err := range c.From.ListStores(ctx, ws, memento.StoreListOptions{IncludeArchived: true}) {
			if err != nil {
				return nil, err
			}
			stores = append(stores, info)
		}
		slices.Reverse(stores)
		found = append(found, stores...)
	}
	found, err := Select(found, names...)
	if err != nil {
		return nil, &memento.Error{Op: "copy", Err: fmt.Errorf("%w in the source", err)}
	}
	return found, nil
}

// Select returns the stores that have one of the names or IDs; all if there are none.
//
// Errors: memento.ErrNoStore if no store has one of them.
func Select(stores []memento.StoreInfo, names ...string) ([]memento.StoreInfo, error) {
	if len(names) == 0 {
		return stores, nil
	}
	var named []memento.StoreInfo
	known := map[string]bool{}
	for _, info := range stores {
		if slices.Contains(names, info.Name) || slices.Contains(names, string(info.ID)) {
			named = append(named, info)
			known[info.Name], known[string(info.ID)] = true, true
		}
	}
	for _, name := range names {
		if !known[name] {
			return nil, fmt.Errorf("%w: %q", memento.ErrNoStore, name)
		}
	}
	return named, nil
}

// Workspaces returns the workspaces of a backend: all if it knows them, otherwise
// those that have keys, and the default.
func Workspaces(ctx context.Context, b memento.Backend) ([]memento.Workspace, error) {
	switch b := b.(type) {
	case memento.WorkspaceLister:
		return b.Workspaces(ctx)
	case guest:
		return []memento.Workspace{b.Workspace()}, nil
	}
	spaces := []memento.Workspace{memento.DefaultWorkspace}
	if keeper, ok := b.(memento.KeyKeeper); ok {
		for k, err := range keeper.ListKeys(ctx, "") {
			if err != nil {
				return nil, err
			}
			if !slices.Contains(spaces, k.Workspace) {
				spaces = append(spaces, k.Workspace)
			}
		}
	}
	slices.Sort(spaces)
	return spaces, nil
}

// A guest is a backend with one workspace, which its user's key decides.
type guest interface{ Workspace() memento.Workspace }

// told passes on progress.
func (c *Copier) told(info memento.StoreInfo, step Step, done int64) {
	if c.Progress != nil {
		c.Progress(Progress{info, step, done})
	}
}

// checkTarget refuses what the target can never have.
func (c *Copier) checkTarget(ctx context.Context, info memento.StoreInfo) error {
	if g, ok := c.To.(guest); ok && g.Workspace() != info.Workspace {
		return fmt.Errorf("%w: the key for the target belongs to the workspace %q, the store to %q", memento.ErrDenied, g.Workspace(), info.Workspace)
	}
	if c.Encrypts && info.Envelope != "" {
		return ErrEncrypted
	}
	if info.Archived() {
		return nil
	}
	// Names are how people find stores, so a second store of a name is only made if
	// the source has two.
	for other, err := range c.To.ListStores(ctx, info.Workspace, memento.StoreListOptions{Name: info.Name}) {
		if err != nil {
			return err
		}
		if other.ID == info.ID {
			continue
		}
		switch _, err := c.From.GetStore(ctx, info.Workspace, other.ID); {
		case errors.Is(err, memento.ErrNoStore):
			return fmt.Errorf("%w: the target has another store named %q, %s", memento.ErrExist, info.Name, other.ID)
		case err != nil:
			return err
		}
	}
	return nil
}
