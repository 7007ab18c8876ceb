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
	whose  string // of which servers
	begin  func() error
	end    func() error  // undoes it; may be nil
	hold   time.Duration // how long it lasts at most
	did    func() int64  // how often it has struck so far; nil if it does so once
	enough int64         // how often it must strike to end early; 0 if it does not
}

// few strikes of what breaks things that are under way do all there is to do.
const few = 3

// A deck makes the faults of one kind of cluster. Every one of its cards is played as
// often as it is there.
type deck []card

type card struct {
	times int
	deal  func(r *rand.Rand) fault
}

// shuffled returns all cards in an order that r decides.
func (d deck) shuffled(r *rand.Rand, times int) (cards []func(*rand.Rand) fault) {
	for _, c := range d {
		for range c.times * times {
			cards = append(cards, c.deal)
		}
	}
	r.Shuffle(len(cards), func(i, j int) { cards[i], cards[j] = cards[j], cards[i] })
	return cards
}

// recovery is how long a cluster may take, once a fault is over, to do work again.
const recovery = 60 * time.Second

// strike lets faults happen one after the other, each amid work that succeeds.
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

// happen lets it happen, and returns how often it struck.
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

// killed is the card of a server that dies and is started again.
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

// restarted is the card of a server that is stopped in good order and started again.
func (c *cluster) restarted(ctx context.Context) func(*rand.Rand) fault {
	return func(r *rand.Rand) fault {
		s := c.servers[r.IntN(len(c.servers))]
		return fault{name: "restart", whose: " of " + s.name, begin: s.stop, end: func() error { return s.start(ctx) }}
	}
}

// lasting has a fault last for so long.
func lasting(d time.Duration, deal func(*rand.Rand) fault) func(*rand.Rand) fault {
	return func(r *rand.Rand) fault {
		f := deal(r)
		f.hold, f.enough = d, 0
		return f
	}
}

// outage is longer than servers go on trying.
const outage = 7 * time.Second

// upTo is a duration of at least a fifth of most.
func upTo(r *rand.Rand, most time.Duration) time.Duration {
	if most == 0 {
		return 0
	}
	return most/5 + time.Duration(r.Int64N(int64(most-most/5)))
}
