package dirstore

import (
	"context"
	"errors"
	"slices"

	"memento"
	"memento/backend"
)

var _ backend.BackupWriter = (*Backend)(nil)

// Backup implements [backend.BackupWriter]. It first makes versions from changes by hand,
// then copies the database, which has all memories and their history. Files that are not
// memories are not in a backup.
//
// The result is a file of package sqlitestore: both packages can restore it.
func (b *Backend) Backup(ctx context.Context, path string, progress func(done, total int64)) (backend.BackupSummary, error) {
	const op = "backup"
	if err := b.enter(ctx); err != nil {
		return backend.BackupSummary{}, fail(op, err)
	}
	defer b.leave()
	if err := b.refreshAll(ctx); err != nil {
		return backend.BackupSummary{}, fail(op, err)
	}
	return b.db.Backup(ctx, path, progress)
}

// refreshAll makes versions from changes by hand in all stores, and brings all files up
// to date.
func (b *Backend) refreshAll(ctx context.Context) error {
	workspaces, err := b.db.Workspaces(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(workspaces, memento.DefaultWorkspace) { // where a folder may become a store
		workspaces = append(workspaces, memento.DefaultWorkspace)
	}
	for _, ws := range workspaces {
		for info, err := range b.ListStores(ctx, ws, memento.StoreListOptions{IncludeArchived: true}) {
			if err != nil {
				return err
			}
			if _, err := b.refresh(ctx, info.ID, memento.Root); err != nil && !errors.Is(err, memento.ErrNoStore) {
				return err
			}
		}
	}
	return nil
}
