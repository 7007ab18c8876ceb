package s3store

import (
	"sync"

	"memento/internal/lru"
)

// A cache is an LRU cache of immutable values, bounded by their bytes. It is safe for
// concurrent use.
type cache struct {
	mu     sync.Mutex
	max    int64
	size   int64
	values lru.Map[cacheKey, cached]
	hits   int64
	misses int64
}

// A cacheKey names a segment's header or table (name), a blob (dir and name) or contents of a
// record (dir, n and i). dir is the ID of the store.
type cacheKey struct {
	kind cacheKind
	dir  string
	name string
	n    int64
	i    int
}

type cacheKind byte

const (
	cachedContents cacheKind = iota
	cachedHeader
	cachedTable
)

type cached struct {
	value any
	size  int64
}

func newCache(max int64) *cache { return &cache{max: max} }

func (c *cache) get(key cacheKey) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.values.Get(key)
	if ok {
		c.hits++
	} else {
		c.misses++
	}
	return v.value, ok
}

func (c *cache) put(key cacheKey, value any, size int64) {
	size += 200
	if size > c.max {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(key)
	c.values.Put(key, cached{value, size})
	c.size += size
	for old := range c.values.Oldest() {
		if c.size <= c.max {
			break
		}
		c.drop(old)
	}
}

// remove evicts a value that must not be kept.
func (c *cache) remove(key cacheKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(key)
}

func (c *cache) drop(key cacheKey) {
	if v, ok := c.values.Peek(key); ok {
		c.size -= v.size
		c.values.Remove(key)
	}
}

func (c *cache) counts() (hits, misses, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hits, c.misses, c.size
}
