// Package textcache is a cache of texts with a bounded size, shared by backends.
package textcache

import "sync"

// A Cache keeps values up to an approximate total size. Use [New]. It is safe for concurrent
// use.
//
// It has two generations. New values are added to the young one. When that has half of the
// size, it becomes the old one, and the values of the former old one are dropped, except
// those that were used again. So a value is dropped only after the cache was half filled
// without it, and neither reading nor writing has to keep an order of use.
type Cache[K comparable, V any] struct {
	maxBytes int
	size     func(*V) int

	mu         sync.Mutex
	young, old map[K]V
	bytes      int   // of young
	clears     int64 // how often Clear was called
}

// New returns an empty cache for about maxBytes. size returns how much of them a value
// takes; it must always return the same for a value.
func New[K comparable, V any](maxBytes int, size func(*V) int) *Cache[K, V] {
	return &Cache[K, V]{maxBytes: maxBytes, size: size}
}

// Get returns the value of a key.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if value, ok = c.young[key]; ok {
		return value, true
	}
	if value, ok = c.old[key]; ok {
		c.add(key, value)
	}
	return value, ok
}

// Put sets the value of a key.
func (c *Cache[K, V]) Put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(key, value)
}

// Clears returns how often the cache was cleared, for [Cache.PutUnlessCleared].
func (c *Cache[K, V]) Clears() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clears
}

// PutUnlessCleared is Put, unless the cache was cleared since Clears has returned clears. Call
// Clears before reading the value from storage: if the cache is cleared meanwhile, the
// reason may be this value.
func (c *Cache[K, V]) PutUnlessCleared(key K, value V, clears int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if clears == c.clears {
		c.add(key, value)
	}
}

// add sets the value of a key. The caller holds the lock.
func (c *Cache[K, V]) add(key K, value V) {
	if c.young == nil || c.bytes >= c.maxBytes/2 {
		c.young, c.old, c.bytes = map[K]V{}, c.young, 0
	}
	if before, ok := c.young[key]; ok {
		c.bytes -= c.size(&before)
	}
	c.young[key] = value
	c.bytes += c.size(&value)
}

// Remove removes a key.
func (c *Cache[K, V]) Remove(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before, ok := c.young[key]; ok {
		c.bytes -= c.size(&before)
	}
	delete(c.young, key)
	delete(c.old, key)
}

// Clear removes all keys.
func (c *Cache[K, V]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old, c.bytes = nil, nil, 0
	c.clears++
}
