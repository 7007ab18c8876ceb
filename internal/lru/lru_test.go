package lru

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestOrderOfUse(t *testing.T) {
	var m Map[string, int]
	if _, ok := m.Get("a"); ok || m.Len() != 0 {
		t.Error("an empty map has a value")
	}
	m.Remove("a")
	for range m.Oldest() {
		t.Error("an empty map has an entry")
	}
	for i, key := range []string{"a", "b", "c", "d"} {
		m.Put(key, i)
	}
	m.Get("a")
	m.Put("b", 10)
	m.Peek("c")
	want := func(when string, keys ...string) {
		t.Helper()
		var got []string
		for key := range m.Oldest() {
			got = append(got, key)
		}
		if !slices.Equal(got, keys) || m.Len() != len(keys) {
			t.Errorf("%s: %q, length %d; want %q", when, got, m.Len(), keys)
		}
	}
	want("after uses", "c", "d", "a", "b")
	for key, value := range m.Oldest() {
		if value%2 == 0 {
			m.Remove(key)
		}
	}
	want("removed while iterating", "d")
	m.Put("c", 2)
	want("added again", "d", "c")
	m.RemoveOldest()
	want("the oldest removed", "c")
	m.RemoveOldest()
	m.RemoveOldest()
	want("all removed")
}

// A Map does what a slice of pairs does in which every use moves a pair to the end.
func TestModel(t *testing.T) {
	type pair struct{ key, value int }
	rapid.Check(t, func(t *rapid.T) {
		var m Map[int, int]
		var model []pair
		take := func(key int) (p pair, ok bool) {
			i := slices.IndexFunc(model, func(p pair) bool { return p.key == key })
			if i < 0 {
				return pair{}, false
			}
			p = model[i]
			model = slices.Delete(model, i, i+1)
			return p, true
		}
		for n := range rapid.IntRange(1, 60).Draw(t, "steps") {
			key := rapid.IntRange(0, 6).Draw(t, "key")
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				m.Put(key, n)
				take(key)
				model = append(model, pair{key, n})
			case 1:
				value, ok := m.Get(key)
				p, known := take(key)
				if known {
					model = append(model, p)
				}
				if ok != known || value != p.value {
					t.Fatalf("Get(%d) = %d, %v; want %d, %v", key, value, ok, p.value, known)
				}
			case 2:
				m.Remove(key)
				take(key)
			}
			var got []pair
			for key, value := range m.Oldest() {
				if peeked, ok := m.Peek(key); !ok || peeked != value {
					t.Fatalf("Peek(%d) = %d, %v; want %d", key, peeked, ok, value)
				}
				got = append(got, pair{key, value})
			}
			if !slices.Equal(got, model) || m.Len() != len(model) {
				t.Fatalf("%v, length %d; want %v", got, m.Len(), model)
			}
		}
	})
}
