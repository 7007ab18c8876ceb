package cluster

import (
	"fmt"
	"math/rand/v2"
	"time"

	"memento/test/faultproxy"
)

// wires are connections that can fail, separately for each server.
type wires []*faultproxy.TCP

// some chooses one wire, or all of them.
func (w wires) some(r *rand.Rand) (chosen wires, name string) {
	if i := r.IntN(len(w) + 1); i < len(w) {
		return w[i : i+1], fmt.Sprintf(" of server%d", i)
	}
	return w, " of all servers"
}

func (w wires) set(f faultproxy.Fault) {
	for _, p := range w {
		p.Set(f)
	}
}

// card returns the card of a fault that draw chooses.
func (w wires) card(name string, most time.Duration, cut bool, draw func(*rand.Rand) faultproxy.Fault) func(*rand.Rand) fault {
	return func(r *rand.Rand) fault {
		chosen, whose := w.some(r)
		set := func(f faultproxy.Fault) error {
			chosen.set(f)
			for _, p := range chosen {
				if cut {
					p.Cut()
				}
			}
			return nil
		}
		drawn := draw(r)
		var enough int64
		if drawn.CutAfter > 0 || len(drawn.Match) > 0 {
			enough = few
		}
		return fault{
			name: name, whose: whose, hold: upTo(r, most), enough: enough,
			begin: func() error { return set(drawn) },
			end:   func() error { return set(faultproxy.Fault{}) },
			did: func() (n int64) {
				for _, p := range chosen {
					n += p.Did()
				}
				return n
			},
		}
	}
}

func always(f faultproxy.Fault) func(*rand.Rand) faultproxy.Fault {
	return func(*rand.Rand) faultproxy.Fault { return f }
}

// clientFaults returns the faults of connections to the servers.
func clientFaults(w wires) deck {
	const moment = 300 * time.Millisecond
	return deck{
		{1, w.card("clients cut off", moment, true, always(faultproxy.Fault{}))},
		{1, w.card("answers to clients cut off", moment, false, func(r *rand.Rand) faultproxy.Fault {
			return faultproxy.Fault{CutAfter: 1 + r.Int64N(2000)}
		})},
		{2, w.card("lost answers to clients", moment, false, always(faultproxy.Fault{Match: []string{"POST "}, Carried: true}))},
	}
}
