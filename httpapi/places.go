package httpapi

import "sync"

// places are how many requests may be under way. One key never takes all of them.
type places struct {
	most, each int // in all, and of one key

	mu    sync.Mutex
	taken int
	byKey map[string]int
}

func newPlaces(most int) *places {
	each := most
	if few := 8; most > few { // with so few, a share would be none
		each = most - most/4
	}
	return &places{most: most, each: each, byKey: map[string]int{}}
}

// take takes a place, which the caller leaves, or returns nil if there is none.
func (p *places) take(key string) (leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken >= p.most || p.byKey[key] >= p.each {
		return nil
	}
	p.taken++
	p.byKey[key]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.taken--
		if p.byKey[key]--; p.byKey[key] == 0 {
			delete(p.byKey, key)
		}
	}
}

// maxBulks is how many archives and histories are read at once: all of each is held
// in memory.
const maxBulks = 2
