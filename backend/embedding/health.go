package embedding

import (
	"errors"
	"sync"
	"time"
)

// A health decides when the Embedder is asked again after a failure.
type health struct {
	longest time.Duration // of a pause without a Retry-After

	mu    sync.Mutex
	fault int // failures since it worked
	until time.Time
}

// Pauses after failures.
const (
	firstPause   = time.Second
	longestPause = 5 * time.Minute
	longestRetry = time.Hour        // of what an Embedder asks for
	longestSlow  = 10 * time.Second // after a query that took longer than a search waits
)

// wait returns how long not to ask.
func (h *health) wait() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return max(0, time.Until(h.until))
}

// works notes a success. It reports whether there were failures before.
func (h *health) works() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	failed := h.fault > 0
	h.fault, h.until = 0, time.Time{}
	return failed
}

// fails notes a failure. It reports whether it is the first one. Several at the same time
// count as one.
func (h *health) fails(err error) (first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	var pause time.Duration
	if !now.Before(h.until) {
		pause = min(firstPause<<min(h.fault, 16), h.longest)
		h.fault++
		first = h.fault == 1
	}
	if retry, ok := errors.AsType[*RetryError](err); ok {
		pause = max(pause, min(retry.After, longestRetry))
	}
	if until := now.Add(pause); until.After(h.until) {
		h.until = until
	}
	return first
}
