package s3store

import (
	"container/list"
	"sync"
)

// A cache is an LRU cache of immutable values, bounded by their bytes. It is safe for
// concurrent use.
type cache struct {
	mu     sync.Mutex
	max    int64
	size   int64
	items  map[cacheKey]*list.Element
	recent *list.List // of *cached, the most recently used first
	hits   int64
	misses int64
}

// A cacheKey names a segment's header (name), a blob (dir and name) or contents of a
// record (dir, n and i). dir is the ID of the store.
type cacheKey struct {
	dir  string
	name string
	n    int64
	i    int
}

type cached struct {
	key   cacheKey
	value any
	size  int64
}

func newCache(max int64) *cache {
	return &cache{max: max, items: map[cacheKey]*list.Element{}, recent: list.New()}
}

func (c *cache) get(key cacheKey) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.items[key]
	if e == nil {
		c.misses++
		return nil, false
	}
	c.hits++
	c.recent.MoveToFront(e)
	return e.Value.(*cached).value, true
}

func (c *cache) put(key cacheKey, value any, size int64) {
	size += 200
	if size > c.max {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(key)
	c.items[key] = c.recent.PushFront(&cached{key, value, size})
	for c.size += size; c.size > c.max; {
		c.drop(c.recent.Back().Value.(*cached).key)
	}
}

// remove evicts a value that must not be kept.
func (c *cache) remove(key cacheKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(key)
}

func (c *cache) drop(key cacheKey) {
	if e := c.items[key]; e != nil {
		c.size -= e.Value.(*cached).size
		c.recent.Remove(e)
		delete(c.items, key)
	}
}

func (c *cache) counts() (hits, misses, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hits, c.misses, c.size
}
