package memstore

import (
	"context"
	"maps"
	"slices"
	"time"

	"memento"
	"memento/backend"
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

// AcquireLease always succeeds: there is no other handle.
func (b *Backend) AcquireLease(ctx context.Context, name string, ttl time.Duration) (bool, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	err := b.open(ctx, "acquire lease")
	return err == nil, err
}

// Note returns the text that was set last under a name.
func (b *Backend) Note(ctx context.Context, name string) (string, error) {
	const op = "read note"
	b.mu.RLock()
	defer b.mu.RUnlock()
	if err := b.open(ctx, op); err != nil {
		return "", err
	}
	return b.notes[name], nil
}

// SetNote sets the text under a name.
func (b *Backend) SetNote(ctx context.Context, name, text string) error {
	const op = "set note"
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.open(ctx, op); err != nil {
		return err
	}
	if err := backend.CheckNote(name, text); err != nil {
		return &memento.Error{Op: op, Err: err}
	}
	b.notes[name] = text
	return nil
}
