package httpapi

import (
	"context"
	"sync"
	"time"
)

// A limiter divides a limited resource among requests: slots for requests, or bytes of
// memory. permits.go and body.go are the places where a request's memory is reserved.
//
// One workspace holds at most three quarters of the resource, and one key at most three
// quarters of that, so that something is left for others. Waiting requests are served in
// turns: by workspace, within a workspace by key, and within a key in the order of their
// arrival. A waiter whose amount does not fit does not block the waiters of other keys.
type limiter struct {
	name                        string // for metrics
	max                         int64  // of the resource
	perWorkspace, perKey        int64  // maximum of one workspace, and of one key
	maxWaiting                  int    // maximum number of waiters of one workspace
	mu                          sync.Mutex
	used, peak                  int64                      // now, and the maximum since the last PeakMemory
	workspaces                  map[string]*workspaceState // by name
	nextUp                      []*workspaceState          // those with waiters; the next one first
	waiting                     int                        // number of waiters
	timedOut, queueFull, tooBig uint64                     // numbers of refusals, by reason
}

// newLimiter returns a limiter of a resource with the given maximum.
func newLimiter(name string, most int64) *limiter {
	s := &limiter{name: name, max: most, perWorkspace: threeQuarters(most), maxWaiting: 512, workspaces: map[string]*workspaceState{}}
	s.perKey = threeQuarters(s.perWorkspace)
	return s
}

// threeQuarters returns three quarters of n, or n if n is too small to be divided.
func threeQuarters(n int64) int64 {
	if few := int64(8); n <= few {
		return n
	}
	return n - n/4
}

// A requester identifies the sender of a request by workspace and key.
type requester struct{ workspace, key string }

type workspaceState struct {
	name    string
	used    int64
	waiting int
	keys    map[string]*keyState
	nextUp  []*keyState // those with waiters; the next one first
}

type keyState struct {
	name  string
	used  int64
	queue []*waiter // oldest first
}

// A waiter is a request in the queue of its key.
type waiter struct {
	n       int64
	granted chan struct{}
	done    bool // whether it was granted; guarded by limiter.mu
}

// A permit is the amount of a resource that one request holds. Its holder calls release.
type permit struct {
	limiter   *limiter
	workspace *workspaceState
	key       *keyState
	n         int64
}

// refusal says why a requester was refused; granted means that it was not.
type refusal int

const (
	granted   refusal = iota
	timedOut          // it did not fit until the end of the wait
	queueFull         // too many requests of the workspace are waiting
	tooLarge          // n exceeds the maximum of one key
)

// acquire takes n from the limiter. It waits until a time, or until ctx ends. The permit
// holds nothing if the refusal is not granted.
func (s *limiter) acquire(ctx context.Context, who requester, n int64, until time.Time) (*permit, refusal) {
	h := &permit{limiter: s}
	s.mu.Lock()
	h.workspace, h.key = s.state(who)
	return h, s.add(ctx, h, n, until)
}

// grow adds n to a permit, or returns the reason for refusing it. It waits as acquire
// does.
func (h *permit) grow(ctx context.Context, n int64, until time.Time) refusal {
	h.limiter.mu.Lock()
	return h.limiter.add(ctx, h, n, until)
}

// add adds n to a permit. The caller holds the lock; add releases it.
func (s *limiter) add(ctx context.Context, h *permit, n int64, until time.Time) refusal {
	if h.n+n > s.perKey {
		s.tooBig++
		s.cleanUp(h.workspace, h.key)
		s.mu.Unlock()
		return tooLarge
	}
	if len(h.key.queue) == 0 && s.fits(h.workspace, h.key, n) {
		s.grant(h.workspace, h.key, n)
		s.mu.Unlock()
		h.n += n
		return granted
	}
	if h.workspace.waiting >= s.maxWaiting {
		s.queueFull++
		s.cleanUp(h.workspace, h.key)
		s.mu.Unlock()
		return queueFull
	}
	c := &waiter{n: n, granted: make(chan struct{})}
	s.enqueue(h.workspace, h.key, c)
	s.mu.Unlock()

	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-c.granted:
	case <-timer.C:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.done {
		s.timedOut++
		s.withdraw(h.workspace, h.key, c)
		s.cleanUp(h.workspace, h.key)
		return timedOut
	}
	h.n += n
	return granted
}

// force adds n to a permit even if that exceeds the maximum. It is for memory that is in
// use already.
func (h *permit) force(n int64) {
	h.limiter.mu.Lock()
	defer h.limiter.mu.Unlock()
	h.limiter.grant(h.workspace, h.key, n)
	h.n += n
}

// release returns all that a permit holds to the limiter. Further calls do nothing.
func (h *permit) release() {
	if h == nil || h.n == 0 {
		return
	}
	s := h.limiter
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= h.n
	h.workspace.used -= h.n
	h.key.used -= h.n
	h.n = 0
	s.cleanUp(h.workspace, h.key)
	s.dispatch()
}

// Load describes the use of one resource.
type Load struct {
	Resource string // "requests", "streams", "bodies", "scans" or "memory", which is in bytes
	Max      int64  // of the resource
	Used     int64
	Waiting  int64 // number of waiting requests

	// Refused counts refused requests since the start, by reason: "late" after a wait,
	// "crowded" because too many requests of the workspace were waiting, "outsize"
	// because the amount exceeds the maximum of one key.
	Refused map[string]uint64
}

// load describes the use of the limiter.
func (s *limiter) load() Load {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Load{s.name, s.max, s.used, int64(s.waiting), map[string]uint64{"late": s.timedOut, "crowded": s.queueFull, "outsize": s.tooBig}}
}

// state returns the state of a requester's workspace and key. It creates what is
// missing.
func (s *limiter) state(who requester) (*workspaceState, *keyState) {
	w := s.workspaces[who.workspace]
	if w == nil {
		w = &workspaceState{name: who.workspace, keys: map[string]*keyState{}}
		s.workspaces[who.workspace] = w
	}
	k := w.keys[who.key]
	if k == nil {
		k = &keyState{name: who.key}
		w.keys[who.key] = k
	}
	return w, k
}

// cleanUp removes the state of a key, and of its workspace, if nothing is used and
// nothing waits. While there are few of them, they are kept, as they are likely to be
// used again.
func (s *limiter) cleanUp(w *workspaceState, k *keyState) {
	const few = 32
	if len(w.keys) > few && k.used == 0 && len(k.queue) == 0 {
		delete(w.keys, k.name)
	}
	if len(s.workspaces) > few && w.used == 0 && w.waiting == 0 {
		delete(s.workspaces, w.name)
	}
}

func (s *limiter) fits(w *workspaceState, k *keyState, n int64) bool {
	return s.used+n <= s.max && w.used+n <= s.perWorkspace && k.used+n <= s.perKey
}

func (s *limiter) grant(w *workspaceState, k *keyState, n int64) {
	s.used += n
	s.peak = max(s.peak, s.used)
	w.used += n
	k.used += n
}

func (s *limiter) enqueue(w *workspaceState, k *keyState, c *waiter) {
	if w.waiting == 0 {
		s.nextUp = append(s.nextUp, w)
	}
	if len(k.queue) == 0 {
		w.nextUp = append(w.nextUp, k)
	}
	k.queue = append(k.queue, c)
	w.waiting++
	s.waiting++
}

// withdraw removes a waiter from the queue of its key.
func (s *limiter) withdraw(w *workspaceState, k *keyState, c *waiter) {
	k.queue = without(k.queue, c)
	if len(k.queue) == 0 {
		w.nextUp = without(w.nextUp, k)
	}
	s.waiting--
	if w.waiting--; w.waiting == 0 {
		s.nextUp = without(s.nextUp, w)
	}
}

// without removes one item from a list in place, and returns the shorter list.
func without[T comparable](list []T, item T) []T {
	for i := range list {
		if list[i] == item {
			copy(list[i:], list[i+1:])
			var none T
			list[len(list)-1] = none
			return list[:len(list)-1]
		}
	}
	return list
}

// dispatch grants the waiters that fit, in turns.
func (s *limiter) dispatch() {
	for some := true; some && s.waiting > 0 && s.used < s.max; {
		some = false
		for _, w := range append([]*workspaceState(nil), s.nextUp...) {
			if s.grantNext(w) {
				some = true
			}
		}
	}
}

// grantNext grants one waiter of a workspace, and moves the workspace to the end of the
// queue. It reports whether one fit.
func (s *limiter) grantNext(w *workspaceState) bool {
	for _, k := range w.nextUp {
		c := k.queue[0]
		if !s.fits(w, k, c.n) {
			continue
		}
		s.grant(w, k, c.n)
		s.withdraw(w, k, c)
		c.done = true
		close(c.granted)
		if len(k.queue) > 0 {
			w.nextUp = append(without(w.nextUp, k), k)
		}
		if w.waiting > 0 {
			s.nextUp = append(without(s.nextUp, w), w)
		}
		return true
	}
	return false
}
