package httpapi

import (
	"sync"

	"memento"
)

// A hub notifies the subscribers of a store of its changes.
type hub struct {
	mu          sync.Mutex
	subscribers map[memento.StoreID]map[chan struct{}]bool
}

// subscribe returns a channel that receives a value when the store may have changed. The
// caller calls leave at the end.
func (h *hub) subscribe(id memento.StoreID) (news chan struct{}, leave func()) {
	news = make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.subscribers == nil {
		h.subscribers = map[memento.StoreID]map[chan struct{}]bool{}
	}
	if h.subscribers[id] == nil {
		h.subscribers[id] = map[chan struct{}]bool{}
	}
	h.subscribers[id][news] = true
	return news, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if delete(h.subscribers[id], news); len(h.subscribers[id]) == 0 {
			delete(h.subscribers, id)
		}
	}
}

func (h *hub) notify(id memento.StoreID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for news := range h.subscribers[id] {
		select {
		case news <- struct{}{}:
		default: // a notification is pending already
		}
	}
}
