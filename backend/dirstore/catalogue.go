package dirstore

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"strings"

	"memento"
)

// CreateStore implements [memento.Backend]. The store's folder is made together with its
// first memory.
func (b *Backend) CreateStore(ctx context.Context, ws memento.Workspace, spec memento.StoreSpec) (memento.StoreInfo, error) {
	const op = "create store"
	if err := b.enter(ctx); err != nil {
		return memento.StoreInfo{}, fail(op, err)
	}
	defer b.leave()
	var info memento.StoreInfo
	err := b.inCatalogue(ctx, func() (err error) {
		if spec.ID != "" { // perhaps a store that was deleted here and is copied back
			if err := b.finishDeleting(ctx, spec.ID); err != nil {
				return err
			}
		}
		if info, err = b.db.CreateStore(ctx, ws, spec); err != nil {
			return err
		}
		// The store exists. If it gets no location now, it gets one when it is first
		// used.
		_, _ = b.assignLocation(ctx, info)
		return nil
	})
	if err != nil {
		return memento.StoreInfo{}, fail(op, err)
	}
	return info, nil
}

// finishDeleting finishes the deletion of a store if one was begun. The caller holds the
// catalogue lock.
func (b *Backend) finishDeleting(ctx context.Context, store memento.StoreID) error {
	if strings.ContainsAny(string(store), `/\`) {
		return nil // not an ID; the database will refuse it
	}
	if _, err := b.locations.Lstat(string(store) + deletingSuffix); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return b.finishDelete(ctx, store)
}

// GetStore implements [memento.Backend]. Its usage does not include changes by hand that
// no call has seen yet.
func (b *Backend) GetStore(ctx context.Context, ws memento.Workspace, id memento.StoreID) (memento.StoreInfo, error) {
	return b.db.GetStore(ctx, ws, id)
}

// UpdateStore implements [memento.Backend].
func (b *Backend) UpdateStore(ctx context.Context, ws memento.Workspace, id memento.StoreID, u memento.StoreUpdate) (memento.StoreInfo, error) {
	const op = "update store"
	if err := b.enter(ctx); err != nil {
		return memento.StoreInfo{}, fail(op, err)
	}
	defer b.leave()
	info, err := b.db.UpdateStore(ctx, ws, id, u)
	if err != nil || u.Limits == nil && u.Settings == nil {
		return info, err
	}
	// Files that could not become memories are perhaps accepted now. The update is done,
	// so an error here is not returned.
	if f, err := b.folder(ctx, id); err == nil {
		defer b.releaseFolder(f)
		_ = f.locked(ctx, func() error { return f.tryAgain(unreadable, blocked, withheld) })
	}
	return info, nil
}

// tryAgain makes the next access examine unmanaged files of some kinds again.
func (f *folder) tryAgain(kinds ...fileKind) error {
	if !f.hasUnmanaged() {
		return nil
	}
	var c changes
	for _, r := range f.rowsBelow(memento.Root) {
		for _, k := range kinds {
			if r.status.kind == k {
				again := *r
				again.print = fingerprint{}
				c.put = append(c.put, &again)
			}
		}
	}
	if c.isEmpty() {
		return nil
	}
	return f.end(&c)
}

// DeleteStore implements [memento.Backend]. It removes the store's folder with everything
// in it, including files that are not memories. The store of a folder with [LayoutRoot]
// cannot be deleted: memento.ErrUnsupported.
func (b *Backend) DeleteStore(ctx context.Context, ws memento.Workspace, id memento.StoreID) error {
	const op = "delete store"
	if err := b.enter(ctx); err != nil {
		return fail(op, err)
	}
	defer b.leave()
	if _, err := b.db.GetStore(ctx, ws, id); err != nil {
		return err
	}
	f, err := b.folder(ctx, id)
	if err != nil {
		return fail(op, err)
	}
	defer b.releaseFolder(f)
	if err := b.errKeepsFolder(f); err != nil {
		return fail(op, err)
	}
	return fail(op, b.inCatalogue(ctx, func() error {
		if err := f.lock.acquire(ctx); err != nil {
			return err
		}
		defer f.lock.release()
		return b.deleteLocked(ctx, ws, f)
	}))
}

// deleteLocked deletes a store. The caller holds the catalogue lock and the store's lock.
func (b *Backend) deleteLocked(ctx context.Context, ws memento.Workspace, f *folder) error {
	if err := writeOwn(b.syncer, b.locations, string(f.store)+deletingSuffix, ""); err != nil {
		return err
	}
	b.step("deleting")
	err := b.db.DeleteStore(ctx, ws, f.store)
	b.step("deleted")
	// The store is deleted. If err is not nil this is uncertain, and finishDelete asks
	// the database. What cannot be removed now is removed when the backend is opened.
	_ = b.finishDelete(context.WithoutCancel(ctx), f.store)
	return err
}

// Workspaces implements [backend.WorkspaceLister].
func (b *Backend) Workspaces(ctx context.Context) ([]memento.Workspace, error) {
	return b.db.Workspaces(ctx)
}

// ListStores implements [memento.Backend].
func (b *Backend) ListStores(ctx context.Context, ws memento.Workspace, opts memento.StoreListOptions) iter.Seq2[memento.StoreInfo, error] {
	return func(yield func(memento.StoreInfo, error) bool) {
		err := b.enter(ctx)
		if err == nil {
			err = b.adoptLateDefault(ctx, ws)
			b.leave()
		}
		if err != nil {
			yield(memento.StoreInfo{}, fail("list stores", err))
			return
		}
		b.db.ListStores(ctx, ws, opts)(yield)
	}
}
