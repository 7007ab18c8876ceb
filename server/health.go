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
)

// health answers whether the process lives (/healthz) and whether it should be
// sent requests (/readyz). Neither needs a key, so they say no more than that.
type health struct {
	backend  memento.Backend
	draining atomic.Bool

	mu      sync.Mutex
	checked time.Time
	state   string

	warnings sync.Map // what is warned of → a sentence, without secrets
}

// warn has /readyz name a warning until it is replaced; "" takes it back.
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

// warned returns the warnings, in order.
func (h *health) warned() []string {
	var all []string
	h.warnings.Range(func(_, text any) bool {
		all = append(all, text.(string))
		return true
	})
	slices.Sort(all)
	return all
}

// What /readyz says. With all but the first it answers 503.
const (
	stateReady       = "ready"
	stateFull        = "storage full" // reading and removing still work
	stateUnavailable = "unavailable"
	stateDraining    = "draining"
)

const (
	readyWithin = 2 * time.Second // for the backend to answer
	readyTTL    = time.Second     // how long an answer is used, however many ask
)

// around answers questions about health, and has next answer the others.
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
	// The deadline of what was answered before on the connection still holds.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(headerTimeout))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(struct {
		Status   string   `json:"status"`
		Warnings []string `json:"warnings,omitempty"`
	}{word, warnings})
}

// look returns whether the backend answers, and takes writes.
func (h *health) cachedState() (state string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := time.Now(); now.Sub(h.checked) >= readyTTL {
		// Not the request's context: the answer is for all who ask.
		ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
		defer cancel()
		h.state = checkBackend(ctx, h.backend)
		h.checked = time.Now()
	}
	return h.state
}

// ask returns what a backend says before ctx ends, even if it does not mind ctx.
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

// check reads something, and asks whether something could be written.
func check(ctx context.Context, b memento.Backend) error {
	for _, err := range b.ListStores(ctx, memento.DefaultWorkspace, memento.StoreListOptions{Limit: 1}) {
		if err != nil {
			return err
		}
	}
	if c, ok := b.(memento.ReadyChecker); ok {
		return c.Ready(ctx)
	}
	return nil
}
