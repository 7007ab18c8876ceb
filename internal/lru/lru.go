// Package lru keeps values in the order in which they were last used, so that a cache can
// drop the least recently used ones first.
package lru

import "iter"

// A Map is a map that knows the order of use of its entries. It does not drop any itself:
// what is too much, and what may not be dropped now, is known to its user. The zero Map is
// empty and ready to use. It is not safe for concurrent use.
type Map[K comparable, V any] struct {
	entries map[K]*entry[K, V]
	// recent is the end of a ring: next is the most recently used entry, prev the least.
	recent entry[K, V]
}

type entry[K comparable, V any] struct {
	key        K
	value      V
	prev, next *entry[K, V]
}

// Len returns the number of entries.
func (m *Map[K, V]) Len() int { return len(m.entries) }

// Get returns the value of a key, and counts as a use of it.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	e := m.entries[key]
	if e == nil {
		return value, false
	}
	m.unlink(e)
	m.link(e)
	return e.value, true
}

// Peek is Get, and no use.
func (m *Map[K, V]) Peek(key K) (value V, ok bool) {
	if e := m.entries[key]; e != nil {
		return e.value, true
	}
	return value, false
}

// Put sets the value of a key, and counts as a use of it.
func (m *Map[K, V]) Put(key K, value V) {
	e := m.entries[key]
	if e == nil {
		e = &entry[K, V]{key: key}
		if m.entries == nil {
			m.entries = map[K]*entry[K, V]{}
			m.recent.next, m.recent.prev = &m.recent, &m.recent
		}
		m.entries[key] = e
	} else {
		m.unlink(e)
	}
	e.value = value
	m.link(e)
}

// Remove removes a key.
func (m *Map[K, V]) Remove(key K) {
	if e := m.entries[key]; e != nil {
		m.unlink(e)
		delete(m.entries, key)
	}
}

// RemoveOldest removes the least recently used entry, if there is one.
func (m *Map[K, V]) RemoveOldest() {
	for key := range m.Oldest() {
		m.Remove(key)
		return
	}
}

// Oldest iterates over all entries, the least recently used first. The current entry may
// be removed meanwhile; nothing else may be changed.
func (m *Map[K, V]) Oldest() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		if m.entries == nil {
			return
		}
		for e := m.recent.prev; e != &m.recent; {
			newer := e.prev
			if !yield(e.key, e.value) {
				return
			}
			e = newer
		}
	}
}

// link makes an entry the most recently used one.
func (m *Map[K, V]) link(e *entry[K, V]) {
	e.prev, e.next = &m.recent, m.recent.next
	e.prev.next, e.next.prev = e, e
}

func (m *Map[K, V]) unlink(e *entry[K, V]) {
	e.prev.next, e.next.prev = e.next, e.prev
}
