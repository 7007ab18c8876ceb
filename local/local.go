// Package local opens a store for a program on one machine, with the defaults that
// most programs need: a SQLite file, the store that the command line uses, and the
// detector that masks secrets.
//
// Programs that need something else, such as another backend, several stores or
// options, call what [Open] calls: sqlitestore.Open, memento.OpenNamed and
// sensitive.Default.
package local

import (
	"context"

	"memento"
	"memento/backend/sqlitestore"
	"memento/sensitive"
)

// Open opens the SQLite file at path, which it makes if it does not exist, and
// returns the store named "default" in it. The store is made by its first write.
// Several processes can have the same file open, and "memento --backend sqlite:PATH"
// shows the same store.
//
// The caller closes the backend. It can be used for more stores.
//
// Errors: those of sqlitestore.Open.
func Open(ctx context.Context, path string) (*memento.Store, memento.Backend, error) {
	backend, err := sqlitestore.Open(ctx, path, nil)
	if err != nil {
		return nil, nil, err
	}
	spec := memento.StoreSpec{Name: "default"}
	store := memento.OpenNamed(backend, memento.DefaultWorkspace, spec, &memento.StoreOptions{Detector: sensitive.Default()})
	return store, backend, nil
}
