package httpapi

import (
	"errors"
	"sync"
	"time"

	"memento"
	"memento/internal/lru"
)

// A storeCache keeps the stores that were used most recently. All requests for a store
// use one memento.Store, so that their edits take turns instead of conflicting. For
// storeTTL, an entry also proves that the store exists in the workspace: another server
// may delete it, and create one with its ID in another workspace.
type storeCache struct {
	now func() time.Time

	mu     sync.Mutex
	stores lru.Map[storeKey, *openStore]
}

type storeKey struct {
	workspace memento.Workspace
	id        memento.StoreID
}

type openStore struct {
	key   storeKey
	store *memento.Store
	users int
	until time.Time // when the store must be looked up again
}

const (
	maxOpenStores = 1024
	storeTTL      = 5 * time.Second
)

// open returns the store of a request, from the cache or by calling open. The caller
// calls leave when the request is answered. look checks that a cached store still
// exists; it is called after storeTTL.
func (s *storeCache) open(key storeKey, open func() (*memento.Store, error), look func() error) (store *memento.Store, leave func(), err error) {
	if o := s.acquire(key, nil); o != nil {
		if s.claimRefresh(o) {
			if err := look(); err != nil {
				if errors.Is(err, memento.ErrNoStore) {
					s.drop(o)
				} else { // the lookup failed
					s.expire(o)
				}
				s.release(o)
				return nil, nil, err
			}
		}
		return o.store, func() { s.release(o) }, nil
	}
	if store, err = open(); err != nil {
		return nil, nil, err
	}
	o := s.acquire(key, store)
	return o.store, func() { s.release(o) }, nil
}

// acquire returns a cached store, and counts the caller as a user. If there is none, it
// adds the given store, or returns nil if that is nil.
func (s *storeCache) acquire(key storeKey, store *memento.Store) *openStore {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.stores.Get(key)
	if !ok {
		if store == nil {
			return nil
		}
		o = &openStore{key: key, store: store, until: s.now().Add(storeTTL)}
		s.stores.Put(key, o)
	}
	o.users++
	return o
}

// claimRefresh reports whether the caller must look the store up again. Of several
// callers, only one must.
func (s *storeCache) claimRefresh(o *openStore) bool {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	stale := !now.Before(o.until)
	if stale {
		o.until = now.Add(storeTTL)
	}
	return stale
}

// expire makes the next caller look the store up.
func (s *storeCache) expire(o *openStore) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.until = time.Time{}
}

// drop removes a store that no longer exists in the workspace.
func (s *storeCache) drop(o *openStore) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cached, _ := s.stores.Peek(o.key); cached == o {
		s.stores.Remove(o.key)
	}
}

// release ends one use of a store, and removes the least recently used stores without
// users if there are too many.
func (s *storeCache) release(o *openStore) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.users--
	for key, old := range s.stores.Oldest() {
		if s.stores.Len() <= maxOpenStores {
			break
		}
		if old.users == 0 {
			s.stores.Remove(key)
		}
	}
}

// store returns the store that the path names. The caller calls the function returned
// with it when the request is answered.
func (c *call) store() (*memento.Store, memento.StoreID, func(), error) {
	name, err := c.pathID("store", "memstore_", "memory store")
	if err != nil {
		return nil, "", nil, err
	}
	id := memento.StoreID(name)
	store, leave, err := c.storeByID(id)
	return store, id, leave, err
}

// storeByID returns a store of the caller's workspace. The caller calls the function
// returned with it at the end.
func (c *call) storeByID(id memento.StoreID) (*memento.Store, func(), error) {
	a := c.api
	return a.stores.open(storeKey{c.who.Workspace, id}, func() (*memento.Store, error) {
		return memento.OpenStore(c.context(), a.backend, c.who.Workspace, id, &memento.StoreOptions{Detector: a.opts.Detector, Observe: a.observe, Searcher: a.opts.Searcher})
	}, func() error {
		_, err := a.backend.GetStore(c.context(), c.who.Workspace, id)
		return err
	})
}

// inStore returns a handler that opens the store that the path names, and calls do with
// it.
func inStore(do func(*API, *call, *memento.Store, memento.StoreID) error) func(*API, *call) error {
	return func(a *API, c *call) error {
		store, id, leave, err := c.store()
		if err != nil {
			return err
		}
		defer leave()
		return do(a, c, store, id)
	}
}

// changing is inStore for handlers that change the store. They also get the author of
// the change.
func changing(do func(*API, *call, *memento.Store, memento.StoreID, memento.Actor) error) func(*API, *call) error {
	return inStore(func(a *API, c *call, store *memento.Store, id memento.StoreID) error {
		by, err := c.actor()
		if err != nil {
			return err
		}
		return do(a, c, store, id, by)
	})
}
