// Package refcount has values by key that exist for as long as somebody uses them, such
// as a lock for each path that is being edited.
package refcount

import "sync"

// A Map has a value for each key in use. It is safe for concurrent use. Use [New].
type Map[K comparable, V any] struct {
	make func() V

	mu      sync.Mutex
	entries map[K]*entry[V]
}

type entry[V any] struct {
	value V
	users int
}

// New returns an empty Map, which makes the value of a key with makeValue. That is called
// with the Map locked, so it must not use the Map.
func New[K comparable, V any](makeValue func() V) *Map[K, V] {
	return &Map[K, V]{make: makeValue, entries: map[K]*entry[V]{}}
}

// Acquire returns the value of a key. All users of a key at one time get the same value.
// Each must call [Map.Release] once; with the last call the value is dropped.
func (m *Map[K, V]) Acquire(key K) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[key]
	if e == nil {
		e = &entry[V]{value: m.make()}
		m.entries[key] = e
	}
	e.users++
	return e.value
}

// Release ends one use of the value of a key.
func (m *Map[K, V]) Release(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[key]
	if e.users--; e.users == 0 {
		delete(m.entries, key)
	}
}

// Users returns how many users a key has.
func (m *Map[K, V]) Users(key K) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.entries[key]; e != nil {
		return e.users
	}
	return 0
}

// Len returns how many keys are in use.
func (m *Map[K, V]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.entries)
}
