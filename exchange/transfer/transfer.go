// Package transfer copies stores between any two backends.
//
//	c := transfer.Copier{From: files, To: database}
//	stores, err := c.Stores(ctx, "")
//	for _, info := range stores {
//		result, err := c.Copy(ctx, info)
//	}
//
// A copy has the IDs of the store, its memories and its versions, their times and their
// actors, and the store's name, description, metadata, limits and settings. It is
// archived if the store is. Different are: the Seq of versions, when the description was
// last changed, when the store was archived, and when memories were last read. If
// versions of a memory were pruned or redacted, the time at which the memory was made may
// be that of a later version.
//
// Versions are copied in batches, each of which leaves the target in a state that the
// source was in. An interrupted copy is resumed, and an earlier copy is brought up to
// date: the target must have the beginning of the source's history and nothing else.
// Until a copy is complete it has wide limits and settings that remove nothing, so that
// maintenance does not change it.
//
// The source may be in use. A copy has what was there when the store's history was read
// to its end. Stores are copied one after the other, not at a common point in time.
// Copying again adds what is new.
package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"memento"
	"memento/backend"
	"memento/backend/apikey"
)

// ErrDiffers says that the target has a store of the same ID that is not a copy of the
// source's: it was written to, or made in another way. It is not changed.
var ErrDiffers = errors.New("the target has a store with this ID that is not a copy")

// ErrEncrypted says that a store is encrypted and the source was opened without its keys,
// while the target would encrypt it again.
var ErrEncrypted = fmt.Errorf("the store is encrypted, and the source was opened without its keys: %w", memento.ErrDecrypt)

// ErrDamaged says that a version of the source has contents that do not match their hash.
// Neither that version nor later ones are copied; earlier ones are.
var ErrDamaged = errors.New("the source is damaged")

// A Copier copies stores. It is used by one goroutine.
type Copier struct {
	From, To memento.Backend

	// Encrypts says that To encrypts what is written to it. Otherwise, an encrypted store
	// whose source was opened without keys is copied as it is.
	Encrypts bool

	// Progress, if not nil, is called as versions are copied or compared.
	Progress func(Progress)

	// The maximum size of one Import; 0 means 1,000 versions and 8 MiB. A single version
	// may be larger.
	BatchVersions int
	BatchBytes    int64
}

// A Progress says how far the work on a store is.
type Progress struct {
	Store memento.StoreInfo
	Step  Step
	Done  int64 // versions, in this step
}

// A Step is a part of the work on a store.
type Step string

// The steps, in order.
const (
	Comparing Step = "comparing"
	Copying   Step = "copying"
	Verifying Step = "verifying"
)

// A State says what the target had of a store before.
type State string

// The states.
const (
	Absent   State = "absent"   // nothing
	Partial  State = "partial"  // the beginning of its history
	Complete State = "complete" // all of its history
)

// A Result says what was done for one store.
type Result struct {
	Store    memento.StoreInfo // the latest description in the source
	Before   State
	Versions int64 // number of versions that were copied, or would be
	Bytes    int64 // of their contents
	Present  int64 // number of versions that the target had already

	Pruned   int64 // number of versions that the source has pruned, but the target still has
	Redacted int64 // number of versions that the target had and that were redacted in the source since

	// Verified says that source and target were compared. Differences has the first 100
	// differences. SourceChanged says that the source was written to meanwhile, so that
	// only older versions were compared.
	Verified      bool
	Differences   []string
	SourceChanged bool
}

// maxDifferences is the maximum number of differences reported for a store.
const maxDifferences = 100

// Stores returns the stores of the source that have one of the names or IDs, or all if
// none is given, oldest first. ws limits them to one workspace; "" means all workspaces
// that the backend lists.
//
// Errors: memento.ErrNoStore, wrapped with the name, if there is no such store.
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

// Select returns the stores that have one of the names or IDs, or all if there are none.
//
// Errors: memento.ErrNoStore if there is no store for one of them.
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

// Workspaces returns the workspaces of a backend: all if it can list them, otherwise
// those that have keys, and the default one.
func Workspaces(ctx context.Context, b memento.Backend) ([]memento.Workspace, error) {
	switch b := b.(type) {
	case backend.WorkspaceLister:
		return b.Workspaces(ctx)
	case singleWorkspace:
		return []memento.Workspace{b.Workspace()}, nil
	}
	spaces := []memento.Workspace{memento.DefaultWorkspace}
	if keeper, ok := b.(apikey.Keeper); ok {
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

// A singleWorkspace is a backend limited to the workspace of a key.
type singleWorkspace interface{ Workspace() memento.Workspace }

// report calls Progress.
func (c *Copier) report(info memento.StoreInfo, step Step, done int64) {
	if c.Progress != nil {
		c.Progress(Progress{info, step, done})
	}
}

// checkTarget returns an error if the target can never have a copy of the store.
func (c *Copier) checkTarget(ctx context.Context, info memento.StoreInfo) error {
	if g, ok := c.To.(singleWorkspace); ok && g.Workspace() != info.Workspace {
		return fmt.Errorf("%w: the key for the target belongs to the workspace %q, the store to %q", memento.ErrDenied, g.Workspace(), info.Workspace)
	}
	if c.Encrypts && info.Envelope != "" {
		return ErrEncrypted
	}
	if info.Archived() {
		return nil
	}
	// People find stores by name, so a second store of a name is made only if the source
	// has two.
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
