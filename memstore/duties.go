package memstore

import (
	"context"
	"maps"
	"slices"
	"time"

	"memento"
)

// Workspaces returns the workspaces that have stores, in order of their names.
func (b *Backend) Workspaces(ctx context.Context) ([]memento.Workspace, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if err := b.open(ctx, "list workspaces"); err != nil {
		return nil, err
	}
	found := map[memento.Workspace]bool{}
	for _, s := range b.stores {
		found[s.info.Workspace] = true
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// Elect chooses this handle: there is no other.
func (b *Backend) Elect(ctx context.Context, duty string, term time.Duration) (bool, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	err := b.open(ctx, "elect")
	return err == nil, err
}
