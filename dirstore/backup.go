package dirstore

import (
	"context"
	"errors"
	"slices"

	"memento"
)

var _ memento.BackupWriter = (*Backend)(nil)

// Backup implements [memento.BackupWriter]. What was changed by hand before the call
// becomes versions first; then the database, which have everything, are copied. What
// is not a memory is not in a backup.
//
// The file is one of package sqlitestore: both can restore it.
func (b *Backend) Backup(ctx context.Context, path string, progress func(done, total int64)) (memento.BackupSummary, error) {
	const op = "backup"
	if err := b.enter(ctx); err != nil {
		return memento.BackupSummary{}, fail(op, err)
	}
	defer b.leave()
	if err := b.refreshAll(ctx); err != nil {
		return memento.BackupSummary{}, fail(op, err)
	}
	return b.db.Backup(ctx, path, progress)
}

// refreshAll brings the database and the files of all stores together.
func (b *Backend) refreshAll(ctx context.Context) error {
	workspaces, err := b.db.Workspaces(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(workspaces, memento.DefaultWorkspace) { // where a folder may become one
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
