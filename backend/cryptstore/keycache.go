package cryptstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"memento"
)

const (
	maxCachedKeys       = 4096 // largest number of stores whose keys are cached
	maxCachedWorkspaces = 1 << 16

	// maxKeyAge is how long cached keys are used without reading the store's envelope
	// again: another process may have deleted the store and created it again, from a copy,
	// with the same ID.
	maxKeyAge = time.Second
)

// A keyCache caches the keys of recently used stores.
type keyCache struct {
	mu         sync.Mutex
	stores     map[memento.StoreID]*cachedKeys
	workspaces map[memento.StoreID]memento.Workspace // workspaces of stores
}

type cachedKeys struct {
	keys        *keys
	checked     time.Time // when these were last found to be the store's keys
	rewrapTried bool      // whether this process has tried to wrap them with the primary key
}

func (c *keyCache) get(id memento.StoreID) (entry cachedKeys, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.stores[id]; e != nil {
		return *e, true
	}
	return cachedKeys{}, false
}

// put caches keys that belonged to their store at the given time.
func (c *keyCache) put(k *keys, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stores == nil {
		c.stores = map[memento.StoreID]*cachedKeys{}
	}
	e := c.stores[k.store]
	if e == nil {
		for id := range c.stores { // any other
			if len(c.stores) < maxCachedKeys {
				break
			}
			delete(c.stores, id)
		}
		e = &cachedKeys{}
		c.stores[k.store] = e
	}
	e.keys, e.checked = k, at
}

// claimRewrap reports whether the caller should wrap a store's keys again. It returns true
// once for a store.
func (c *keyCache) claimRewrap(id memento.StoreID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.stores[id]
	if e == nil || e.rewrapTried {
		return false
	}
	e.rewrapTried = true
	return true
}

func (c *keyCache) remove(id memento.StoreID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.stores, id)
}

func (c *keyCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stores, c.workspaces = nil, nil
}

// noteWorkspace caches the workspace of a store. Keys are bound to a workspace: if it is
// another than before, the cached keys are dropped, so that moving a store within the
// storage gives no access.
func (c *keyCache) noteWorkspace(id memento.StoreID, ws memento.Workspace) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.workspaces == nil || len(c.workspaces) >= maxCachedWorkspaces {
		c.workspaces = map[memento.StoreID]memento.Workspace{}
	}
	c.workspaces[id] = ws
	if e := c.stores[id]; e != nil && e.keys.ws != ws {
		delete(c.stores, id)
	}
}

func (c *keyCache) workspace(id memento.StoreID) (memento.Workspace, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ws, ok := c.workspaces[id]
	return ws, ok
}

// keysForReading returns the keys of a store, for reading.
//
// Errors: ErrNoStore, ErrDecrypt.
func (b *Backend) keysForReading(ctx context.Context, op string, id memento.StoreID) (*keys, error) {
	if e, ok := b.keyCache.get(id); ok && time.Since(e.checked) < maxKeyAge {
		return e.keys, nil
	}
	return b.loadKeys(ctx, op, id)
}

// keysForWriting returns the keys of a store, for writing. If they are not wrapped with the
// ring's primary key, it wraps them again.
func (b *Backend) keysForWriting(ctx context.Context, op string, id memento.StoreID) (*keys, error) {
	if e, ok := b.keyCache.get(id); ok && time.Since(e.checked) < maxKeyAge {
		return e.keys, nil
	}
	k, err := b.loadKeys(ctx, op, id)
	if err != nil {
		return nil, err
	}
	if k.ringKey != b.ring.Primary() && b.keyCache.claimRewrap(id) {
		if again, err := b.rewrap(ctx, k, k.secrets); err == nil { // after an error, Rotate will do it
			return again, nil
		}
	}
	return k, nil
}

// loadKeys reads a store's envelope, and unwraps it unless its keys are cached.
func (b *Backend) loadKeys(ctx context.Context, op string, id memento.StoreID) (*keys, error) {
	at := time.Now()
	ws, info, err := b.describe(ctx, id)
	if errors.Is(err, memento.ErrNoStore) {
		b.keyCache.remove(id)
		return nil, &memento.Error{Op: op, Err: memento.ErrNoStore}
	}
	if err != nil {
		return nil, err
	}
	if e, ok := b.keyCache.get(id); ok && e.keys.ws == ws && e.keys.envelope == info.Envelope {
		b.keyCache.put(e.keys, at)
		return e.keys, nil
	}
	k, err := b.unwrap(ctx, ws, id, info.Envelope)
	if err != nil {
		return nil, &memento.Error{Op: op, Err: err}
	}
	b.keyCache.put(k, at)
	return k, nil
}

// unwrap opens a store's envelope. Its errors name the store.
func (b *Backend) unwrap(ctx context.Context, ws memento.Workspace, id memento.StoreID, envelope string) (*keys, error) {
	k, err := unwrap(ctx, b.ring, ws, id, envelope)
	if err != nil {
		return nil, &storeError{id, err}
	}
	return k, nil
}

// A storeError says which store's keys an error is about.
type storeError struct {
	store memento.StoreID
	err   error
}

func (e *storeError) Error() string { return "store " + string(e.store) + ": " + e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

// describe finds a store in any workspace.
func (b *Backend) describe(ctx context.Context, id memento.StoreID) (memento.Workspace, memento.StoreInfo, error) {
	known, ok := b.keyCache.workspace(id)
	if ok {
		info, err := b.inner.GetStore(ctx, known, id)
		if !errors.Is(err, memento.ErrNoStore) {
			return known, info, err
		}
	}
	workspaces, err := b.Workspaces(ctx)
	if err != nil {
		return "", memento.StoreInfo{}, err
	}
	for _, ws := range workspaces {
		if ok && ws == known {
			continue
		}
		info, err := b.inner.GetStore(ctx, ws, id)
		if errors.Is(err, memento.ErrNoStore) {
			continue
		}
		if err == nil {
			b.keyCache.noteWorkspace(id, ws)
		}
		return ws, info, err
	}
	return "", memento.StoreInfo{}, &memento.Error{Op: "get store", Err: memento.ErrNoStore}
}

// reloadKeys is called when something cannot be decrypted with k. It returns the store's
// present keys, and whether they are others than k, because another process has added some.
func (b *Backend) reloadKeys(ctx context.Context, op string, k *keys) (*keys, bool) {
	fresh, err := b.loadKeys(ctx, op, k.store)
	return fresh, err == nil && fresh.envelope != k.envelope
}
