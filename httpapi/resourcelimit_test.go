package httpapi

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// soon is long enough for what is granted at once, whatever else the machine does.
func soon() time.Time { return time.Now().Add(2 * time.Minute) }

// must takes a share that is there.
func must(t *testing.T, s *limiter, who requester, n int64) *permit {
	t.Helper()
	h, why := s.acquire(t.Context(), who, n, time.Now())
	if why != granted {
		t.Fatalf("%v gets no %d: %v", who, n, why)
	}
	return h
}

// The last quarter of everything is for other workspaces, and the last quarter of that
// for other keys.
func TestThreeQuarters(t *testing.T) {
	s := newLimiter("", 1600)
	a1, a2, b := requester{"a", "1"}, requester{"a", "2"}, requester{"b", "1"}
	take := func(who requester, n int64, want refusal) {
		t.Helper()
		if _, why := s.acquire(t.Context(), who, n, time.Now()); why != want {
			t.Errorf("%v asks for %d: %v; want %v", who, n, why, want)
		}
	}
	take(a1, 901, tooLarge) // which it could never have
	first := must(t, s, a1, 900)
	take(a1, 1, timedOut)
	second := must(t, s, a2, 300)
	take(a2, 1, timedOut)
	third := must(t, s, b, 400)
	take(b, 1, timedOut)
	for _, h := range []*permit{first, second, third} {
		h.release()
		h.release() // once is enough
	}
	if l := s.load(); l.Used != 0 || l.Waiting != 0 || l.Refused["late"] != 3 || l.Refused["outsize"] != 1 {
		t.Errorf("in the end %+v", l)
	}
	must(t, s, a1, 900).release()
}

// Those who wait take turns: one workspace with a hundred requests does not have
// another's single one wait for all of them, nor one key another of its workspace.
func TestTurns(t *testing.T) {
	s := newLimiter("", 1)
	held := must(t, s, requester{"a", "1"}, 1)
	order := make(chan string, 200)
	var waiting sync.WaitGroup
	wait := func(who requester, name string) {
		t.Helper()
		before := s.load().Waiting
		waiting.Go(func() {
			h, why := s.acquire(t.Context(), who, 1, soon())
			if why != granted {
				t.Errorf("%s: %v", name, why)
				return
			}
			order <- name
			h.release()
		})
		for s.load().Waiting == before {
			time.Sleep(50 * time.Microsecond)
		}
	}
	for i := range 100 {
		wait(requester{"a", "1"}, fmt.Sprint("a1 ", i))
	}
	wait(requester{"b", "1"}, "b")
	wait(requester{"a", "2"}, "a2")
	held.release()
	waiting.Wait()
	close(order)
	place, n, last := map[string]int{}, 0, -1
	for name := range order {
		place[name] = n
		var i int
		if _, err := fmt.Sscanf(name, "a1 %d", &i); err == nil {
			if i != last+1 {
				t.Errorf("request %d of a key comes after %d", i, last)
			}
			last = i
		}
		n++
	}
	if place["b"] > 2 || place["a2"] > 4 {
		t.Errorf("another workspace is number %d, another key number %d; want them among the first", place["b"], place["a2"])
	}
}

// Who waits is told in time, and leaves nothing behind; the queue of a workspace is
// bounded, and nobody else's.
func TestWaitsEnd(t *testing.T) {
	s := newLimiter("", 1)
	s.maxWaiting = 3
	who, other := requester{"a", "1"}, requester{"b", "1"}
	held := must(t, s, who, 1)
	start := time.Now()
	if _, why := s.acquire(t.Context(), other, 1, start.Add(50*time.Millisecond)); why != timedOut {
		t.Errorf("%v", why)
	}
	if took := time.Since(start); took < 50*time.Millisecond || took > 10*time.Second {
		t.Errorf("told after %v", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for range 3 {
		waiting.Go(func() {
			if _, why := s.acquire(ctx, who, 1, soon()); why != timedOut {
				t.Errorf("gone: %v", why)
			}
		})
	}
	for s.load().Waiting < 3 {
		time.Sleep(50 * time.Microsecond)
	}
	if _, why := s.acquire(t.Context(), who, 1, soon()); why != queueFull {
		t.Errorf("one too many: %v", why)
	}
	if _, why := s.acquire(t.Context(), other, 1, time.Now()); why != timedOut {
		t.Errorf("another's queue: %v", why)
	}
	cancel()
	waiting.Wait()
	held.release()
	must(t, s, other, 1).release()
	if l := s.load(); l.Used != 0 || l.Waiting != 0 || len(s.nextUp) != 0 {
		t.Errorf("in the end %+v, %d turns", l, len(s.nextUp))
	}
}

// Whatever is asked for in whatever order, no more is given than there is, and all of
// it comes back.
func TestSharesAtRandom(t *testing.T) {
	const most = 100
	s := newLimiter("", most)
	var all sync.WaitGroup
	for g := range 32 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(g)))
			who := requester{fmt.Sprint(g % 40), fmt.Sprint(g % 7)}
			for range 200 {
				h, why := s.acquire(t.Context(), who, r.Int64N(20), time.Now().Add(time.Duration(r.IntN(3))*time.Millisecond))
				if why != granted {
					continue
				}
				if n := r.Int64N(20); h.grow(t.Context(), n, time.Now().Add(time.Millisecond)) != granted && r.IntN(2) == 0 {
					h.release()
					continue
				}
				time.Sleep(time.Duration(r.IntN(200)) * time.Microsecond)
				h.release()
			}
		})
	}
	all.Wait()
	if s.peak > most || s.peak < most/2 {
		t.Errorf("%d of %d were given at once", s.peak, most)
	}
	if l := s.load(); l.Used != 0 || l.Waiting != 0 || len(s.nextUp) != 0 || len(s.workspaces) > 33 {
		t.Errorf("in the end %+v, %d turns, %d workspaces", l, len(s.nextUp), len(s.workspaces))
	}
}

// What was forced is given back as well.
func TestForce(t *testing.T) {
	s := newLimiter("", 10)
	h := must(t, s, requester{"a", "1"}, 5)
	h.force(100)
	if _, why := s.acquire(t.Context(), requester{"b", "1"}, 1, time.Now()); why != timedOut {
		t.Errorf("%v", why)
	}
	h.release()
	must(t, s, requester{"b", "1"}, 5).release()
}
