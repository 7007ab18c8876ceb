package memstore

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"memento"
	"memento/backend"
	"memento/backend/apikey"
	"memento/internal/listing"
)

// AddKey stores a new key.
func (b *Backend) AddKey(ctx context.Context, k apikey.Key) error {
	const op = "add key"
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.open(ctx, op); err != nil {
		return err
	}
	if err := k.Check(); err != nil {
		return err
	}
	for _, known := range b.keys {
		if known.ID == k.ID || known.Hash == k.Hash {
			return &memento.Error{Op: op, Err: memento.ErrExist}
		}
	}
	k.CreatedAt, k.ExpiresAt = backend.StoredTime(k.CreatedAt), backend.StoredTime(k.ExpiresAt)
	k.RevokedAt, k.UsedAt = backend.StoredTime(k.RevokedAt), backend.StoredTime(k.UsedAt)
	b.keys = append(b.keys, k)
	slices.SortStableFunc(b.keys, func(x, y apikey.Key) int {
		return cmp.Or(x.CreatedAt.Compare(y.CreatedAt), cmp.Compare(x.ID, y.ID))
	})
	return nil
}

// KeyByHash returns the key whose secret has this hash.
func (b *Backend) KeyByHash(ctx context.Context, hash apikey.Hash) (apikey.Key, error) {
	const op = "find key"
	b.mu.RLock()
	defer b.mu.RUnlock()
	if err := b.open(ctx, op); err != nil {
		return apikey.Key{}, err
	}
	for _, k := range b.keys {
		if k.Hash == hash {
			return k, nil
		}
	}
	return apikey.Key{}, &memento.Error{Op: op, Err: memento.ErrNotExist}
}

// ListKeys yields the keys of a workspace, or all, oldest first.
func (b *Backend) ListKeys(ctx context.Context, ws memento.Workspace) iter.Seq2[apikey.Key, error] {
	return func(yield func(apikey.Key, error) bool) {
		keys, err := b.keysOf(ctx, ws)
		listing.Yield(ctx, keys, err, yield)
	}
}

func (b *Backend) keysOf(ctx context.Context, ws memento.Workspace) (keys []apikey.Key, err error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if err := b.open(ctx, "list keys"); err != nil {
		return nil, err
	}
	for _, k := range b.keys {
		if ws == "" || k.Workspace == ws {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// UpdateKey changes a key of the workspace.
func (b *Backend) UpdateKey(ctx context.Context, ws memento.Workspace, id memento.KeyID, u apikey.Update) (apikey.Key, error) {
	const op = "update key"
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.open(ctx, op); err != nil {
		return apikey.Key{}, err
	}
	for i := range b.keys {
		if k := &b.keys[i]; k.ID == id && k.Workspace == ws {
			*k = k.Updated(u)
			return *k, nil
		}
	}
	return apikey.Key{}, &memento.Error{Op: op, Err: memento.ErrNotExist}
}
