package httpapi

import (
	"sync"

	"memento"
)

// A hub wakes those who wait for changes of a store.
type hub struct {
	mu      sync.Mutex
	waiting map[memento.StoreID]map[chan struct{}]bool
}

// listen returns a channel that has something when the store may have changed.
func (h *hub) listen(id memento.StoreID) (news chan struct{}, leave func()) {
	news = make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting == nil {
		h.waiting = map[memento.StoreID]map[chan struct{}]bool{}
	}
	if h.waiting[id] == nil {
		h.waiting[id] = map[chan struct{}]bool{}
	}
	h.waiting[id][news] = true
	return news, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if delete(h.waiting[id], news); len(h.waiting[id]) == 0 {
			delete(h.waiting, id)
		}
	}
}

func (h *hub) tell(id memento.StoreID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for news := range h.waiting[id] {
		select {
		case news <- struct{}{}:
		default: // it is told already
		}
	}
}
