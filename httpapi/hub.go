package httpapi

import (
	"sync"

	"memento"
)

// A hub notifies the subscribers of a store of its changes.
type hub struct {
	mu          sync.Mutex
	subscribers map[memento.StoreID]map[chan struct{}]bool
	watchers    map[*watcher]bool
}

// A watcher collects which stores have changed, of all workspaces.
type watcher struct {
	news chan struct{} // receives a value when changed is not empty

	mu      sync.Mutex
	changed map[memento.StoreID]bool
}

// watch returns a watcher. The caller calls leave at the end.
func (h *hub) watch() (w *watcher, leave func()) {
	w = &watcher{news: make(chan struct{}, 1), changed: map[memento.StoreID]bool{}}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers == nil {
		h.watchers = map[*watcher]bool{}
	}
	h.watchers[w] = true
	return w, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers, w)
	}
}

func (w *watcher) note(id memento.StoreID) {
	w.mu.Lock()
	w.changed[id] = true
	w.mu.Unlock()
	select {
	case w.news <- struct{}{}:
	default: // a notification is pending already
	}
}

// take returns the stores that have changed since it was called last.
func (w *watcher) take() map[memento.StoreID]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	changed := w.changed
	w.changed = map[memento.StoreID]bool{}
	return changed
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
	for w := range h.watchers {
		w.note(id)
	}
}
