package doctor

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"memento"
)

// Stores returns the stores of a workspace, oldest first, archived ones too. One
// whose description cannot be read is among them, with its ID and its workspace
// alone; [Doctor.Store] tells what is wrong with it.
//
// A backend only says that its listing fails. Of several descriptions that it fails at
// with the same words, one may hide the others, and the stores between them. A server
// does not say why it fails: then the error is returned.
//
// Errors: those of the backend that say nothing of what it keeps, and of a listing that
// fails otherwise than at single stores.
func (d *Doctor) Stores(ctx context.Context, ws memento.Workspace) ([]memento.StoreInfo, error) {
	var found []memento.StoreInfo
	opts := memento.StoreListOptions{IncludeArchived: true}
	for {
		var failed error
		n := 0
		for info, err := range d.Backend.ListStores(ctx, ws, opts) {
			if err != nil {
				failed = err
				break
			}
			found, opts.After = append(found, info), info.ID
			n++
		}
		switch {
		case failed != nil && !IsDamage(failed):
			return nil, failed
		case failed != nil && opts.Limit == 0:
			opts.Limit = 1 // since a backend may read many descriptions at once
		case failed != nil:
			id, err := d.unreadable(ctx, ws, opts.After, failed)
			if err != nil {
				return nil, err
			}
			found = append(found, memento.StoreInfo{ID: id, Workspace: ws})
			opts.After, opts.Limit = id, 0
		case n == 0 || opts.Limit == 0:
			slices.Reverse(found)
			return found, nil
		}
	}
}

// What IDs of stores are made of: memento.StoreSpec.
const (
	idPrefix = "memstore_"
	idDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" // in order
	idLength = 64
)

// unreadable returns the ID of the store at which a listing behind last failed. The
// listing is in falling order of ID: behind an ID that is not greater than the
// store's, it does not come to the store, and otherwise it fails again. So the store's
// ID is the greatest behind which a listing does not fail, and is found digit by digit.
func (d *Doctor) unreadable(ctx context.Context, ws memento.Workspace, last memento.StoreID, failed error) (memento.StoreID, error) {
	var ended error
	failsBehind := func(after string) bool {
		for _, err := range d.Backend.ListStores(ctx, ws, memento.StoreListOptions{IncludeArchived: true, After: memento.StoreID(after), Limit: 1}) {
			if err != nil && !IsDamage(err) {
				ended = err
			}
			return err != nil && err.Error() == failed.Error()
		}
		return false
	}
	if !failsBehind(string(last)) { // a server has other words each time
		return "", cmp.Or(ended, failed)
	}
	fails := func(after string) bool {
		return ended != nil || last != "" && after >= string(last) || failsBehind(after)
	}
	id := idPrefix
	for len(id) < len(idPrefix)+idLength {
		n := sort.Search(len(idDigits), func(i int) bool { return fails(id + idDigits[i:i+1]) })
		if n == 0 {
			break
		}
		id += idDigits[n-1 : n]
	}
	if ended != nil {
		return "", ended
	}
	if _, err := d.Backend.GetStore(ctx, ws, memento.StoreID(id)); !IsDamage(err) {
		return "", failed // it is not about one store
	}
	return memento.StoreID(id), nil
}
