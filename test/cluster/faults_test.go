package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// A fault is something that happens to a cluster for a while.
type fault struct {
	name   string
	whose  string // the servers affected
	begin  func() error
	end    func() error  // ends it; may be nil
	hold   time.Duration // maximum duration
	did    func() int64  // number of times it has struck so far; nil if it strikes once
	enough int64         // number of times after which it ends early; 0 for none
}

// few is how often a fault that breaks operations under way has to strike.
const few = 3

// A deck makes the faults for one kind of cluster. Each of its cards is used as many
// times as it is in the deck.
type deck []card

type card struct {
	times int
	deal  func(r *rand.Rand) fault
}

// shuffled returns all cards in random order.
func (d deck) shuffled(r *rand.Rand, times int) (cards []func(*rand.Rand) fault) {
	for _, c := range d {
		for range c.times * times {
			cards = append(cards, c.deal)
		}
	}
	r.Shuffle(len(cards), func(i, j int) { cards[i], cards[j] = cards[j], cards[i] })
	return cards
}

// recovery is the maximum time after a fault until the cluster works again.
const recovery = 60 * time.Second

// strike makes faults happen one after the other, each while calls succeed before and
// after it.
func (c *cluster) strike(t *testing.T, h *recording, r *rand.Rand, cards []func(*rand.Rand) fault) {
	struck := map[string]int64{}
	for _, deal := range cards {
		c.progress(t, h, 60)
		f := deal(r)
		began := h.now().Round(time.Millisecond)
		n, err := f.happen()
		if err != nil {
			t.Fatalf("%s%s: %v", f.name, f.whose, err)
		}
		struck[f.name] += n
		c.events = append(c.events, fmt.Sprintf("%8v to %8v: %s%s, %d times", began, h.now().Round(time.Millisecond), f.name, f.whose, n))
	}
	c.progress(t, h, 100)
	for name, n := range struck {
		if n == 0 {
			t.Errorf("a fault never struck: %s", name)
		}
	}
}

// happen makes the fault happen, and returns how often it struck.
func (f fault) happen() (struck int64, err error) {
	did := func() int64 { return 1 }
	if f.did != nil {
		before := f.did()
		did = func() int64 { return f.did() - before }
	}
	if err := f.begin(); err != nil {
		return 0, err
	}
	// On a slow machine it may take longer until there is something to strike.
	for began := time.Now(); ; time.Sleep(2 * time.Millisecond) {
		struck = did()
		lasted := time.Since(began)
		if f.enough > 0 && struck >= f.enough || struck > 0 && lasted >= f.hold || lasted >= f.hold+recovery/3 {
			break
		}
	}
	if f.end != nil {
		err = f.end()
	}
	return struck, err
}

// progress waits until n more calls have been answered.
func (c *cluster) progress(t *testing.T, h *recording, n int64) {
	t.Helper()
	from := h.finished.Load()
	for end := time.Now().Add(recovery); h.finished.Load() < from+n; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%v after a fault, %d calls have been answered; the last faults were %q", recovery, h.finished.Load()-from, c.events[max(0, len(c.events)-3):])
			return
		}
	}
}

// killed returns the card of a server that is killed and started again.
func (c *cluster) killed(ctx context.Context, most time.Duration) func(*rand.Rand) fault {
	return func(r *rand.Rand) fault {
		s := c.servers[r.IntN(len(c.servers))]
		return fault{
			name:  "kill -9",
			whose: " of " + s.name,
			begin: func() error { s.kill(); return nil },
			end:   func() error { return s.start(ctx) },
			hold:  upTo(r, most),
		}
	}
}

// restarted returns the card of a server that is stopped cleanly and started again.
func (c *cluster) restarted(ctx context.Context) func(*rand.Rand) fault {
	return func(r *rand.Rand) fault {
		s := c.servers[r.IntN(len(c.servers))]
		return fault{name: "restart", whose: " of " + s.name, begin: s.stop, end: func() error { return s.start(ctx) }}
	}
}

// lasting gives a fault a duration.
func lasting(d time.Duration, deal func(*rand.Rand) fault) func(*rand.Rand) fault {
	return func(r *rand.Rand) fault {
		f := deal(r)
		f.hold, f.enough = d, 0
		return f
	}
}

// outage is longer than servers retry.
const outage = 7 * time.Second

// upTo returns a duration of at least a fifth of most.
func upTo(r *rand.Rand, most time.Duration) time.Duration {
	if most == 0 {
		return 0
	}
	return most/5 + time.Duration(r.Int64N(int64(most-most/5)))
}
