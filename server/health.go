package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"memento"
	"memento/backend"
)

// health serves /healthz, which says whether the process runs, and /readyz, which says
// whether it should receive requests. Neither needs a key, so they say no more than
// that.
type health struct {
	backend  memento.Backend
	draining atomic.Bool

	mu      sync.Mutex
	checked time.Time
	state   string

	warnings sync.Map // by subject: a sentence without secrets
}

// warn sets the warning about a subject that /readyz shows; "" removes it.
func (h *health) warn(about, text string) {
	if h == nil {
		return
	}
	if text == "" {
		h.warnings.Delete(about)
	} else {
		h.warnings.Store(about, text)
	}
}

// warned returns the warnings in order of their subjects.
func (h *health) warned() []string {
	var all []string
	h.warnings.Range(func(_, text any) bool {
		all = append(all, text.(string))
		return true
	})
	slices.Sort(all)
	return all
}

// The states that /readyz reports. Its status is 503 for all except the first.
const (
	stateReady       = "ready"
	stateFull        = "storage full" // reading and deleting still work
	stateUnavailable = "unavailable"
	stateDraining    = "draining"
)

const (
	readyWithin = 2 * time.Second // the time limit of a check of the backend
	readyTTL    = time.Second     // how long the result of a check is reused
)

// around answers health requests, and passes the others to next.
func (h *health) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := r.Method == http.MethodGet || r.Method == http.MethodHead
		if asked && (r.URL.Path == "/healthz" || r.URL.Path == "/readyz") {
			limitBodyWait(w, r)
		}
		switch {
		case asked && r.URL.Path == "/healthz":
			writeHealth(w, http.StatusOK, "ok", nil)
		case asked && r.URL.Path == "/readyz" && h.draining.Load():
			writeHealth(w, http.StatusServiceUnavailable, stateDraining, nil)
		case asked && r.URL.Path == "/readyz":
			switch state := h.cachedState(); state {
			case stateReady:
				writeHealth(w, http.StatusOK, state, h.warned())
			default:
				writeHealth(w, http.StatusServiceUnavailable, state, nil)
			}
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func writeHealth(w http.ResponseWriter, status int, word string, warnings []string) {
	limitAnswer(w, headerTimeout)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(struct {
		Status   string   `json:"status"`
		Warnings []string `json:"warnings,omitempty"`
	}{word, warnings})
}

// cachedState returns the state of the backend: the result of a check not older than
// readyTTL.
func (h *health) cachedState() (state string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := time.Now(); now.Sub(h.checked) >= readyTTL {
		// Not the request's context: other requests use the result, too.
		ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
		defer cancel()
		h.state = checkBackend(ctx, h.backend)
		h.checked = time.Now()
	}
	return h.state
}

// checkBackend returns the state of a backend. It returns when ctx ends, even if the
// backend ignores ctx.
func checkBackend(ctx context.Context, b memento.Backend) (state string) {
	answered := make(chan error, 1)
	go func() { answered <- check(ctx, b) }()
	select {
	case err := <-answered:
		switch {
		case err == nil:
			return stateReady
		case errors.Is(err, memento.ErrNoSpace):
			return stateFull
		}
	case <-ctx.Done():
	}
	return stateUnavailable
}

// check reads from a backend, and asks it whether it can write.
func check(ctx context.Context, b memento.Backend) error {
	for _, err := range b.ListStores(ctx, memento.DefaultWorkspace, memento.StoreListOptions{Limit: 1}) {
		if err != nil {
			return err
		}
	}
	if c, ok := b.(backend.ReadyChecker); ok {
		return c.Ready(ctx)
	}
	return nil
}
