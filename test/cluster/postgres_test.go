package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"testing"
	"time"

	"memento/test/faultproxy"
	"memento/test/needs"
	"memento/test/services"
)

// TestPostgres has servers share a database, each over failing connections of its own,
// while the database is restarted as after crashes.
func TestPostgres(t *testing.T) {
	db, err := services.StartPostgres(t.Context(), "")
	needs.Check(t, err)
	t.Cleanup(func() {
		if err := db.Stop(); err != nil {
			t.Error(err)
		}
	})
	started := 0
	run(t, func(t *testing.T) (*cluster, deck) {
		started++
		at, err := url.Parse(db.URL())
		if err != nil {
			t.Fatal(err)
		}
		wires := make(wires, numServers)
		places := make([]place, numServers)
		for i := range wires {
			p, err := faultproxy.ListenTCP(at.Host)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { p.Close() })
			wires[i] = p
			places[i] = place{
				url: fmt.Sprintf("postgres://%s%s?schema=cluster%d&sslmode=disable", p.Addr(), at.Path, started),
				env: []string{"PGUSER=" + at.User.Username()},
			}
		}
		c := startCluster(t, places)
		ctx := t.Context()
		return c, slices.Concat(clientFaults(c.fronts), databaseFaults(wires), deck{
			{3, c.killed(ctx, 300*time.Millisecond)},
			{2, func(*rand.Rand) fault {
				return fault{
					name:  "crash of the database",
					begin: func() error { return db.Restart(ctx, services.Immediate) },
				}
			}},
			// After a crash, the numbers of transactions that left no trace are used
			// again.
			{3, func(*rand.Rand) fault {
				return fault{
					name: "crash of the database that COMMIT does not reach",
					begin: func() error {
						wires.set(faultproxy.Fault{Match: commits()})
						time.Sleep(2 * time.Millisecond)
						return db.Restart(ctx, services.Immediate)
					},
					end: func() error { wires.set(faultproxy.Fault{}); return nil },
				}
			}},
		})
	})
}

// commits returns the forms of a COMMIT in the protocol: as text, or as the name of the
// statement that pgx has prepared for it.
func commits() []string {
	sum := sha256.Sum256([]byte("COMMIT"))
	return []string{"COMMIT", "stmtcache_" + hex.EncodeToString(sum[:24])}
}

// databaseFaults returns the faults of connections to the database.
func databaseFaults(w wires) deck {
	const moment = 500 * time.Millisecond
	return deck{
		{1, w.card("cut connections", moment/5, true, always(faultproxy.Fault{}))},
		{3, w.card("cut in the middle of answers", 2*moment, false, func(r *rand.Rand) faultproxy.Fault {
			return faultproxy.Fault{CutAfter: 1 + r.Int64N(3000)}
		})},
		{3, w.card("lost answers to COMMIT", 2*moment, false, always(faultproxy.Fault{Match: commits(), Carried: true}))},
		{2, w.card("lost COMMIT", 2*moment, false, always(faultproxy.Fault{Match: commits()}))},
		{2, w.card("delay", moment, false, func(r *rand.Rand) faultproxy.Fault {
			return faultproxy.Fault{Delay: upTo(r, 50*time.Millisecond)}
		})},
		{2, w.card("refused connections", 2*moment, true, always(faultproxy.Fault{Refuse: true}))},
		{2, w.card("silence", 3*moment, false, always(faultproxy.Fault{Silent: true}))},
		{1, lasting(outage, w.card("long silence", 0, false, always(faultproxy.Fault{Silent: true})))},
		{1, lasting(outage, w.card("long outage", 0, true, always(faultproxy.Fault{Refuse: true})))},
	}
}
