package refcount

import (
	"sync"
	"testing"
)

func TestMap(t *testing.T) {
	made := 0
	m := New[string](func() *int { made++; n := made; return &n })
	first, again, other := m.Acquire("a"), m.Acquire("a"), m.Acquire("b")
	if first != again || first == other {
		t.Errorf("users of one key have %p and %p, of another %p", first, again, other)
	}
	if m.Users("a") != 2 || m.Users("b") != 1 || m.Users("c") != 0 || m.Len() != 2 {
		t.Errorf("%d, %d and %d users of %d keys", m.Users("a"), m.Users("b"), m.Users("c"), m.Len())
	}
	m.Release("a")
	if m.Acquire("a") != first {
		t.Error("the value is another while it is in use")
	}
	m.Release("a")
	m.Release("a")
	m.Release("b")
	if m.Len() != 0 {
		t.Errorf("%d keys without users are kept", m.Len())
	}
	if m.Acquire("a") == first {
		t.Error("a value that nobody used is there again")
	}
}

// Never do two users of a key have different values, and nothing is left over.
func TestMapConcurrently(t *testing.T) {
	m := New[int](func() *sync.Mutex { return new(sync.Mutex) })
	var wg sync.WaitGroup
	var counts [3]int // each guarded by the value of its key
	for i := range 8 {
		wg.Go(func() {
			for n := range 1000 {
				key := (i + n) % len(counts)
				lock := m.Acquire(key)
				lock.Lock()
				counts[key]++
				lock.Unlock()
				m.Release(key)
			}
		})
	}
	wg.Wait()
	if sum := counts[0] + counts[1] + counts[2]; sum != 8000 || m.Len() != 0 {
		t.Errorf("counted %d, %d keys are left", sum, m.Len())
	}
}
