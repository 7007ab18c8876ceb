package main

import (
	"context"

	"memento"
	"memento/sqlitestore"
)

// openBackend opens the default backend, as the command does.
func openBackend(ctx context.Context, file string) (memento.Backend, error) {
	return sqlitestore.Open(ctx, file, nil)
}
