package cryptstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"memento"
)

const (
	maxCachedKeys       = 4096 // stores whose keys are held
	maxCachedWorkspaces = 1 << 16

	// How long keys are used without a look at the store's envelope: another process
	// may have deleted the store, and copied it back under its ID.
	maxKeyAge = time.Second
)

// A cache has the keys of stores that were used lately.
type keyCache struct {
	mu         sync.Mutex
	stores     map[memento.StoreID]*cachedKeys
	workspaces map[memento.StoreID]memento.Workspace // of stores that were seen
}

type cachedKeys struct {
	keys        *keys
	checked     time.Time // when these were last known to be the store's
	rewrapTried bool      // whether this process has tried to wrap them by the primary key
}

func (c *keyCache) get(id memento.StoreID) (entry cachedKeys, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.stores[id]; e != nil {
		return *e, true
	}
	return cachedKeys{}, false
}

// put notes keys that were a store's at a time.
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

// offer reports whether nobody has offered yet to wrap a store's keys anew.
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

// saw notes the workspace of a store. Keys that were another's are forgotten: they
// are bound to theirs, and who moves a store within the storage must not gain by it.
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

// toRead returns the keys of a store, for reading.
//
// Errors: ErrNoStore, ErrDecrypt.
func (b *Backend) keysForReading(ctx context.Context, op string, id memento.StoreID) (*keys, error) {
	if e, ok := b.keyCache.get(id); ok && time.Since(e.checked) < maxKeyAge {
		return e.keys, nil
	}
	return b.loadKeys(ctx, op, id)
}

// toWrite returns the keys of a store, for writing. If another key than the ring's
// primary one has wrapped them, they are wrapped anew.
func (b *Backend) keysForWriting(ctx context.Context, op string, id memento.StoreID) (*keys, error) {
	if e, ok := b.keyCache.get(id); ok && time.Since(e.checked) < maxKeyAge {
		return e.keys, nil
	}
	k, err := b.loadKeys(ctx, op, id)
	if err != nil {
		return nil, err
	}
	if k.ringKey != b.ring.Primary() && b.keyCache.claimRewrap(id) {
		if again, err := b.rewrap(ctx, k, k.secrets); err == nil { // else Rotate tries again
			return again, nil
		}
	}
	return k, nil
}

// load reads a store's envelope, and unwraps it unless it is known.
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

// unwrap opens a store's envelope. What fails names the store.
func (b *Backend) unwrap(ctx context.Context, ws memento.Workspace, id memento.StoreID, envelope string) (*keys, error) {
	k, err := unwrap(ctx, b.ring, ws, id, envelope)
	if err != nil {
		return nil, &storeError{id, err}
	}
	return k, nil
}

// A storeError says which store's keys are the matter.
type storeError struct {
	store memento.StoreID
	err   error
}

func (e *storeError) Error() string { return "store " + string(e.store) + ": " + e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

// describe finds a store in whichever workspace it is.
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

// reread is called when something cannot be decrypted by k: it returns other keys if
// the store has others by now, because another process has added some.
func (b *Backend) reloadKeys(ctx context.Context, op string, k *keys) (*keys, bool) {
	fresh, err := b.loadKeys(ctx, op, k.store)
	return fresh, err == nil && fresh.envelope != k.envelope
}
