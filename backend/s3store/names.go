package s3store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"memento"
)

// A claim says which store has a unique name, or is being created with it.
type claim struct {
	Rev   string          `json:"rev"`
	Store memento.StoreID `json:"store"`
}

// A uniqueName is a name that at most one store of a workspace may have.
type uniqueName struct {
	ws   memento.Workspace
	name string
}

// claimTimeout is for how long a store that has claimed a name may take to be created.
const claimTimeout = 5 * time.Second

// claim reserves a name for a store that is being created. Errors: ErrExist.
func (b *Backend) claim(ctx context.Context, info memento.StoreInfo) error {
	has := func(s memento.StoreInfo) bool {
		return s.Workspace == info.Workspace && s.Name == info.Name && !s.Archived()
	}
	taken := false
	err := b.listStores(ctx, info.Workspace, memento.StoreListOptions{Name: info.Name}, func(memento.StoreInfo) bool {
		taken = true
		return false
	})
	if err != nil {
		return err
	}
	if taken {
		return errTaken(info.Name)
	}
	key := claimKey(info.Workspace, info.Name)
	mine, err := json.Marshal(claim{random(), info.ID})
	if err != nil {
		return err
	}
	// Most names are new: try without reading first.
	if _, err := b.s3.swap(ctx, key, mine, ifAbsent); !errors.Is(err, errPrecondition) {
		return err
	}
	began := time.Now()
	var waitingFor memento.StoreID
	for {
		data, etag, err := b.s3.get(ctx, key)
		cond := ifMatch(etag)
		switch {
		case errors.Is(err, errNotFound):
			cond = ifAbsent
		case err != nil:
			return err
		default:
			var c claim
			if err := json.Unmarshal(data, &c); err != nil || !isStoreID(c.Store) {
				return fmt.Errorf("%w: the claim of a name is damaged", memento.ErrFormat)
			}
			holder, err := b.lookup(ctx, c.Store)
			switch {
			case err == nil && has(holder):
				return errTaken(info.Name)
			case err != nil && !errors.Is(err, memento.ErrNoStore):
				return err
			case err == nil: // renamed, or archived
			default:
				if waitingFor != c.Store {
					waitingFor, began = c.Store, time.Now()
				}
				free, err := b.tombstone(ctx, c.Store, time.Since(began) > claimTimeout)
				if err != nil {
					return err
				}
				if !free {
					if err := sleep(ctx, 20*time.Millisecond); err != nil {
						return err
					}
					continue
				}
			}
		}
		if _, err := b.s3.swap(ctx, key, mine, cond); !errors.Is(err, errPrecondition) {
			return err
		}
	}
}

// errTaken returns the error of a name that another store has.
func errTaken(name string) error { return fmt.Errorf("%w: a store named %q", memento.ErrExist, name) }

// tombstone reports whether a store that does not exist never will: because it was
// deleted, or because, with force, tombstone writes a record that deletes it as the first
// of its log.
func (b *Backend) tombstone(ctx context.Context, id memento.StoreID, force bool) (bool, error) {
	known, err := b.idUsed(ctx, id)
	if known || err != nil {
		if err == nil {
			_, err = b.lookup(ctx, id) // it may have been created meanwhile
		}
		if errors.Is(err, memento.ErrNoStore) {
			return true, nil
		}
		return false, err
	}
	if !force {
		return false, nil
	}
	r := record{N: 1, Commit: random(), Deleted: true}
	data, err := r.encode()
	if err != nil {
		return false, err
	}
	_, err = b.s3.swap(ctx, logKey(id, 1), data, ifAbsent)
	if errors.Is(err, errPrecondition) {
		return false, nil
	}
	return err == nil, err
}

// inOrder returns the found workspaces for which has is true, sorted.
func inOrder(found []memento.Workspace, has []bool) []memento.Workspace {
	var some []memento.Workspace
	for i, ws := range found {
		if has[i] {
			some = append(some, ws)
		}
	}
	slices.Sort(some)
	return some
}
