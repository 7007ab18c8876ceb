package doctor

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"memento"
)

// Stores returns the stores of a workspace, oldest first, including archived ones. A
// store whose description cannot be read is returned with ID and workspace only;
// [Doctor.Store] reports what is wrong with it.
//
// A backend only says that its listing fails. If several descriptions fail with the same
// error text, one may hide the others, and the stores between them. A server does not say
// why it fails: then the error is returned.
//
// Errors: those of the backend that do not concern its data, and of a listing that fails
// for another reason than the description of a store.
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
			opts.Limit = 1 // a backend may read many descriptions in one step
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

// The form of store IDs: memento.StoreSpec.
const (
	idPrefix = "memstore_"
	idDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" // in order
	idLength = 64
)

// unreadable returns the ID of the store at which a listing that continues after last has
// failed. The listing is in descending order of ID: continued after an ID that is not
// greater than the store's, it does not reach the store; otherwise it fails again. So the
// store's ID is the greatest one after which a listing does not fail. It is found digit
// by digit.
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
	if !failsBehind(string(last)) { // the error texts of a server differ each time
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
		return "", failed // the error does not concern one store
	}
	return memento.StoreID(id), nil
}
