package memstore

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"memento"
	"memento/backend"
	"memento/internal/listing"
)

// CreateStore creates an empty store.
func (b *Backend) CreateStore(ctx context.Context, ws memento.Workspace, spec memento.StoreSpec) (memento.StoreInfo, error) {
	const op = "create store"
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.open(ctx, op); err != nil {
		return memento.StoreInfo{}, err
	}
	info, err := spec.NewInfo(ws, backend.StoredTime(b.now()))
	if err != nil {
		return memento.StoreInfo{}, err
	}
	if spec.ID != "" && b.stores[spec.ID] != nil {
		return memento.StoreInfo{}, &memento.Error{Op: op, Err: fmt.Errorf("%w: a store with the ID %s", memento.ErrExist, spec.ID)}
	}
	if spec.UniqueName {
		for _, s := range b.stores {
			if s.info.Workspace == ws && s.info.Name == spec.Name && !s.info.Archived() {
				return memento.StoreInfo{}, &memento.Error{Op: op, Err: memento.ErrExist}
			}
		}
	}
	b.stores[info.ID] = newStore(info)
	return info.Clone(), nil
}

// ownStore returns a store of the workspace. The caller holds the lock.
func (b *Backend) ownStore(ctx context.Context, op string, ws memento.Workspace, id memento.StoreID) (*store, error) {
	s, err := b.store(ctx, op, id)
	if err != nil {
		return nil, err
	}
	if s.info.Workspace != ws {
		return nil, &memento.Error{Op: op, Err: memento.ErrNoStore}
	}
	return s, nil
}

// GetStore returns the description of a store.
func (b *Backend) GetStore(ctx context.Context, ws memento.Workspace, id memento.StoreID) (memento.StoreInfo, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	s, err := b.ownStore(ctx, "get store", ws, id)
	if err != nil {
		return memento.StoreInfo{}, err
	}
	return s.info.Clone(), nil
}

// UpdateStore changes a store's description.
func (b *Backend) UpdateStore(ctx context.Context, ws memento.Workspace, id memento.StoreID, update memento.StoreUpdate) (memento.StoreInfo, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, err := b.ownStore(ctx, "update store", ws, id)
	if err != nil {
		return memento.StoreInfo{}, err
	}
	info, err := s.info.Updated(update, b.time(s.info.UpdatedAt))
	if err != nil {
		return memento.StoreInfo{}, err
	}
	s.info = info
	return info.Clone(), nil
}

// DeleteStore deletes a store permanently.
func (b *Backend) DeleteStore(ctx context.Context, ws memento.Workspace, id memento.StoreID) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := b.ownStore(ctx, "delete store", ws, id); err != nil {
		return err
	}
	delete(b.stores, id)
	return nil
}

// ListStores yields the workspace's stores, newest first: in descending order of ID, so
// that the next page can start after a store that was deleted in the meantime.
func (b *Backend) ListStores(ctx context.Context, ws memento.Workspace, opts memento.StoreListOptions) iter.Seq2[memento.StoreInfo, error] {
	return func(yield func(memento.StoreInfo, error) bool) {
		infos, err := b.describe(ctx, ws, opts)
		listing.Yield(ctx, infos, err, yield)
	}
}

func (b *Backend) describe(ctx context.Context, ws memento.Workspace, opts memento.StoreListOptions) ([]memento.StoreInfo, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if err := b.open(ctx, "list stores"); err != nil {
		return nil, err
	}
	var infos []memento.StoreInfo
	for id, s := range b.stores {
		if s.info.Workspace == ws && opts.Matches(&s.info) && (opts.After == "" || id < opts.After) {
			infos = append(infos, s.info.Clone())
		}
	}
	slices.SortFunc(infos, func(x, y memento.StoreInfo) int { return cmp.Compare(y.ID, x.ID) })
	if opts.Limit > 0 {
		infos = infos[:min(opts.Limit, len(infos))]
	}
	return infos, nil
}

// Positions implements [backend.PositionLister].
func (b *Backend) Positions(ctx context.Context, ws memento.Workspace, limit int) ([]backend.Position, error) {
	infos, err := b.describe(ctx, ws, memento.StoreListOptions{Limit: limit})
	if err != nil {
		return nil, err
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	var all []backend.Position
	for _, info := range infos {
		if s := b.stores[info.ID]; s != nil {
			all = append(all, backend.Position{Store: info.ID, Seq: s.seq, At: s.latest})
		}
	}
	return all, nil
}
