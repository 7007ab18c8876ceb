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
type shares struct {
	name                   string // for metrics
	most                   int64  // in all
	ofWorkspace, ofKey     int64  // the most of one
	maxWaiting             int    // claims of one workspace
	mu                     sync.Mutex
	taken, peak            int64                      // now, and the most since somebody asked
	workspaces             map[string]*workspaceShare // that have or want something
	turns                  []*workspaceShare          // with claims that wait; the next in front
	waiting                int                        // claims
	late, crowded, outsize uint64                     // refused: after a wait, because too many wait, because it never fits
}

// newShares returns shares of so much.
func newShares(name string, most int64) *shares {
	s := &shares{name: name, most: most, ofWorkspace: threeQuarters(most), maxWaiting: 512, workspaces: map[string]*workspaceShare{}}
	s.ofKey = threeQuarters(s.ofWorkspace)
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
type claimant struct{ workspace, key string }

type workspaceShare struct {
	name    string
	taken   int64
	waiting int
	keys    map[string]*keyShare
	turns   []*keyShare // with claims that wait; the next in front
}

type keyShare struct {
	name  string
	taken int64
	queue []*claim // oldest first
}

// A claim is one that waits.
type claim struct {
	n       int64
	granted chan struct{}
	done    bool // under the lock of the shares
}

// A share is what one request has of something. Its holder gives it back.
type share struct {
	of        *shares
	workspace *workspaceShare
	key       *keyShare
	n         int64
}

// refusal says why somebody got nothing.
type refusal int

const (
	granted  refusal = iota
	tooLate          // others had it for as long as the claim could wait
	tooMany          // others of the workspace wait already
	tooLarge         // nobody ever gets as much
)

// take returns n, once they are there, or why not. It waits until a time, and no
// longer than ctx.
func (s *shares) take(ctx context.Context, who claimant, n int64, until time.Time) (*share, refusal) {
	h := &share{of: s}
	s.mu.Lock()
	h.workspace, h.key = s.enter(who)
	return h, s.add(ctx, h, n, until)
}

// grow adds n to a share, or says why not.
func (h *share) grow(ctx context.Context, n int64, until time.Time) refusal {
	h.of.mu.Lock()
	return h.of.add(ctx, h, n, until)
}

// add adds n to a share. It is called under the lock, which it gives back.
func (s *shares) add(ctx context.Context, h *share, n int64, until time.Time) refusal {
	if h.n+n > s.ofKey {
		s.outsize++
		s.leave(h.workspace, h.key)
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
		s.crowded++
		s.leave(h.workspace, h.key)
		s.mu.Unlock()
		return tooMany
	}
	c := &claim{n: n, granted: make(chan struct{})}
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
		s.late++
		s.withdraw(h.workspace, h.key, c)
		s.leave(h.workspace, h.key)
		return tooLate
	}
	h.n += n
	return granted
}

// force adds n to a share, whether they are there or not. It is for what has been done
// already.
func (h *share) force(n int64) {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.of.grant(h.workspace, h.key, n)
	h.n += n
}

// release gives a share back, as often as it is called.
func (h *share) release() {
	if h == nil || h.n == 0 {
		return
	}
	s := h.of
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken -= h.n
	h.workspace.taken -= h.n
	h.key.taken -= h.n
	h.n = 0
	s.leave(h.workspace, h.key)
	s.dispatch()
}

// Load is how much of something is in use.
type Load struct {
	Resource string // "requests", "streams", "bodies", "scans" or "memory", which is in bytes
	Most     int64  // that there is
	Taken    int64
	Waiting  int64 // requests

	// Refused counts requests since the start: "late" after a wait, "crowded" because
	// too many of the workspace waited, "outsize" because they would never have fit.
	Refused map[string]uint64
}

// load describes the shares.
func (s *shares) load() Load {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Load{s.name, s.most, s.taken, int64(s.waiting), map[string]uint64{"late": s.late, "crowded": s.crowded, "outsize": s.outsize}}
}

// enter returns the shares of a workspace and a key.
func (s *shares) enter(who claimant) (*workspaceShare, *keyShare) {
	w := s.workspaces[who.workspace]
	if w == nil {
		w = &workspaceShare{name: who.workspace, keys: map[string]*keyShare{}}
		s.workspaces[who.workspace] = w
	}
	k := w.keys[who.key]
	if k == nil {
		k = &keyShare{name: who.key}
		w.keys[who.key] = k
	}
	return w, k
}

// leave forgets a key, and a workspace, that have nothing and want nothing, unless
// they are few: they are likely to come again.
func (s *shares) leave(w *workspaceShare, k *keyShare) {
	const few = 32
	if len(w.keys) > few && k.taken == 0 && len(k.queue) == 0 {
		delete(w.keys, k.name)
	}
	if len(s.workspaces) > few && w.taken == 0 && w.waiting == 0 {
		delete(s.workspaces, w.name)
	}
}

func (s *shares) fits(w *workspaceShare, k *keyShare, n int64) bool {
	return s.taken+n <= s.most && w.taken+n <= s.ofWorkspace && k.taken+n <= s.ofKey
}

func (s *shares) grant(w *workspaceShare, k *keyShare, n int64) {
	s.taken += n
	s.peak = max(s.peak, s.taken)
	w.taken += n
	k.taken += n
}

func (s *shares) enqueue(w *workspaceShare, k *keyShare, c *claim) {
	if w.waiting == 0 {
		s.turns = append(s.turns, w)
	}
	if len(k.queue) == 0 {
		w.turns = append(w.turns, k)
	}
	k.queue = append(k.queue, c)
	w.waiting++
	s.waiting++
}

// withdraw takes a claim out of its queue.
func (s *shares) withdraw(w *workspaceShare, k *keyShare, c *claim) {
	k.queue = without(k.queue, c)
	if len(k.queue) == 0 {
		w.turns = without(w.turns, k)
	}
	s.waiting--
	if w.waiting--; w.waiting == 0 {
		s.turns = without(s.turns, w)
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
func (s *shares) dispatch() {
	for some := true; some && s.waiting > 0 && s.taken < s.most; {
		some = false
		for _, w := range append([]*workspaceShare(nil), s.turns...) {
			if s.serve(w) {
				some = true
			}
		}
	}
}

// serve grants one claim of a workspace, whose turn is over then.
func (s *shares) serve(w *workspaceShare) bool {
	for _, k := range w.turns {
		c := k.queue[0]
		if !s.fits(w, k, c.n) {
			continue
		}
		s.grant(w, k, c.n)
		s.withdraw(w, k, c)
		c.done = true
		close(c.granted)
		if len(k.queue) > 0 {
			w.turns = append(without(w.turns, k), k)
		}
		if w.waiting > 0 {
			s.turns = append(without(s.turns, w), w)
		}
		return true
	}
	return false
}
