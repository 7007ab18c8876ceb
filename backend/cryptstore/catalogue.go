package cryptstore

import (
	"context"
	"fmt"
	"iter"

	"memento"
	"memento/backend"
)

// forUser returns a description as users see it.
func (b *Backend) forUser(ws memento.Workspace, info memento.StoreInfo) memento.StoreInfo {
	b.keyCache.noteWorkspace(info.ID, ws)
	info.Envelope = ""
	return info
}

func errEnvelope(op string) error {
	return &memento.Error{Op: op, Err: fmt.Errorf("%w: the envelope of an encrypted store holds its keys", memento.ErrUnsupported)}
}

// CreateStore implements [memento.Backend]. Every store gets new keys, even if it is a
// copy.
func (b *Backend) CreateStore(ctx context.Context, ws memento.Workspace, spec memento.StoreSpec) (memento.StoreInfo, error) {
	const op = "create store"
	if spec.Envelope != "" {
		return memento.StoreInfo{}, errEnvelope(op)
	}
	now := b.opts.Now()
	if _, err := spec.NewInfo(ws, now); err != nil {
		return memento.StoreInfo{}, err // before calling a key service
	}
	if spec.ID == "" {
		spec.ID = backend.NewStoreID(now)
	}
	s, err := newSecrets(b.opts.EncryptNames, now)
	if err != nil {
		return memento.StoreInfo{}, &memento.Error{Op: op, Err: err}
	}
	if spec.Envelope, err = wrap(ctx, b.ring, ws, spec.ID, s); err != nil {
		return memento.StoreInfo{}, &memento.Error{Op: op, Err: err}
	}
	info, err := b.inner.CreateStore(ctx, ws, spec)
	if err != nil {
		return memento.StoreInfo{}, err
	}
	b.keyCache.remove(info.ID) // there may have been a store with this ID
	return b.forUser(ws, info), nil
}

// GetStore implements [memento.Backend].
func (b *Backend) GetStore(ctx context.Context, ws memento.Workspace, id memento.StoreID) (memento.StoreInfo, error) {
	info, err := b.inner.GetStore(ctx, ws, id)
	if err != nil {
		return memento.StoreInfo{}, err
	}
	return b.forUser(ws, info), nil
}

// UpdateStore implements [memento.Backend].
func (b *Backend) UpdateStore(ctx context.Context, ws memento.Workspace, id memento.StoreID, u memento.StoreUpdate) (memento.StoreInfo, error) {
	if u.Envelope != nil || u.IfEnvelope != nil {
		return memento.StoreInfo{}, errEnvelope("update store")
	}
	info, err := b.inner.UpdateStore(ctx, ws, id, u)
	if err != nil {
		return memento.StoreInfo{}, err
	}
	return b.forUser(ws, info), nil
}

// DeleteStore implements [memento.Backend]. The store's keys are deleted with it.
func (b *Backend) DeleteStore(ctx context.Context, ws memento.Workspace, id memento.StoreID) error {
	defer b.keyCache.remove(id)
	defer b.texts.Clear()
	return b.inner.DeleteStore(ctx, ws, id)
}

// ListStores implements [memento.Backend].
func (b *Backend) ListStores(ctx context.Context, ws memento.Workspace, opts memento.StoreListOptions) iter.Seq2[memento.StoreInfo, error] {
	return func(yield func(memento.StoreInfo, error) bool) {
		for info, err := range b.inner.ListStores(ctx, ws, opts) {
			if err != nil {
				yield(memento.StoreInfo{}, err)
				return
			}
			if !yield(b.forUser(ws, info), nil) {
				return
			}
		}
	}
}
