package httpapi

import (
	"context"
	"sync"
	"time"
)

// shares divide something of which there is only so much, such as places for requests
// or bytes of memory, among those who ask for it.
//
// One workspace never has more than three quarters of it, and one key never more than
// three quarters of that, so that there is always something for others. Those who wait
// take turns by workspace, within a workspace by key, and are served in their order
// within a key. What does not fit at present does not keep others from theirs.
type limiter struct {
	name                        string // for metrics
	max                         int64  // in all
	perWorkspace, perKey        int64  // the most of one
	maxWaiting                  int    // claims of one workspace
	mu                          sync.Mutex
	used, peak                  int64                      // now, and the most since somebody asked
	workspaces                  map[string]*workspaceState // that have or want something
	nextUp                      []*workspaceState          // with claims that wait; the next in front
	waiting                     int                        // claims
	timedOut, queueFull, tooBig uint64                     // refused: after a wait, because too many wait, because it never fits
}

// newShares returns shares of so much.
func newLimiter(name string, most int64) *limiter {
	s := &limiter{name: name, max: most, perWorkspace: threeQuarters(most), maxWaiting: 512, workspaces: map[string]*workspaceState{}}
	s.perKey = threeQuarters(s.perWorkspace)
	return s
}

// threeQuarters of n, or n if a share of so few would be none.
func threeQuarters(n int64) int64 {
	if few := int64(8); n <= few {
		return n
	}
	return n - n/4
}

// A claimant is who asks for a share.
type requester struct{ workspace, key string }

type workspaceState struct {
	name    string
	used    int64
	waiting int
	keys    map[string]*keyState
	nextUp  []*keyState // with claims that wait; the next in front
}

type keyState struct {
	name  string
	used  int64
	queue []*waiter // oldest first
}

// A claim is one that waits.
type waiter struct {
	n       int64
	granted chan struct{}
	done    bool // under the lock of the shares
}

// A share is what one request has of something. Its holder gives it back.
type permit struct {
	limiter   *limiter
	workspace *workspaceState
	key       *keyState
	n         int64
}

// refusal says why somebody got nothing.
type refusal int

const (
	granted   refusal = iota
	timedOut          // others had it for as long as the claim could wait
	queueFull         // others of the workspace wait already
	tooLarge          // nobody ever gets as much
)

// take returns n, once they are there, or why not. It waits until a time, and no
// longer than ctx.
func (s *limiter) acquire(ctx context.Context, who requester, n int64, until time.Time) (*permit, refusal) {
	h := &permit{limiter: s}
	s.mu.Lock()
	h.workspace, h.key = s.state(who)
	return h, s.add(ctx, h, n, until)
}

// grow adds n to a share, or says why not.
func (h *permit) grow(ctx context.Context, n int64, until time.Time) refusal {
	h.limiter.mu.Lock()
	return h.limiter.add(ctx, h, n, until)
}

// add adds n to a share. It is called under the lock, which it gives back.
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

// force adds n to a share, whether they are there or not. It is for what has been done
// already.
func (h *permit) force(n int64) {
	h.limiter.mu.Lock()
	defer h.limiter.mu.Unlock()
	h.limiter.grant(h.workspace, h.key, n)
	h.n += n
}

// release gives a share back, as often as it is called.
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

// Load is how much of something is in use.
type Load struct {
	Resource string // "requests", "streams", "bodies", "scans" or "memory", which is in bytes
	Max      int64  // that there is
	Used     int64
	Waiting  int64 // requests

	// Refused counts requests since the start: "late" after a wait, "crowded" because
	// too many of the workspace waited, "outsize" because they would never have fit.
	Refused map[string]uint64
}

// load describes the shares.
func (s *limiter) load() Load {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Load{s.name, s.max, s.used, int64(s.waiting), map[string]uint64{"late": s.timedOut, "crowded": s.queueFull, "outsize": s.tooBig}}
}

// enter returns the shares of a workspace and a key.
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

// leave forgets a key, and a workspace, that have nothing and want nothing, unless
// they are few: they are likely to come again.
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

// withdraw takes a claim out of its queue.
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

// without returns a list without one of its items, in a new array if that is used
// much less than it could be.
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

// dispatch grants the claims that fit, in turns.
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

// serve grants one claim of a workspace, whose turn is over then.
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
