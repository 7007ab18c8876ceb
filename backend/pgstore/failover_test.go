package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/backend/pgstore"
	"memento/test/needs"
	"memento/test/services"
)

// A pooler that hands out connections by transaction is in nobody's way.
func TestPooler(t *testing.T) {
	server, err := services.StartPostgres(t.Context(), "")
	needs.Check(t, err)
	defer server.Stop()
	pooler, err := server.StartPgBouncer(t.Context(), 3)
	needs.Check(t, err)
	defer pooler.Stop()
	for _, mode := range []string{"exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			opts := &pgstore.Options{Schema: schemaOf(t.TempDir())}
			b := open(t, pooler.URL()+"&default_query_exec_mode="+mode, opts)
			other := open(t, pooler.URL()+"&default_query_exec_mode="+mode, opts)
			store := newStore(t, b)
			exercise(t, b, store)
			writeTogether(t, []*pgstore.Backend{b, other}, 8, nil)
		})
	}
}

// What was acknowledged is there after a failover, and what was not is wholly there
// or not at all.
func TestFailover(t *testing.T) {
	primary, err := services.StartPostgres(t.Context(), "")
	needs.Check(t, err)
	defer primary.Stop()
	standby, err := primary.StartStandby(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer standby.Stop()
	hosts := func(u string) string {
		at, err := url.Parse(u)
		if err != nil {
			t.Fatal(err)
		}
		return at.Host
	}
	both := fmt.Sprintf("postgres://postgres@%s,%s/postgres?sslmode=disable&target_session_attrs=read-write", hosts(primary.URL()), hosts(standby.URL()))
	opts := &pgstore.Options{Schema: schemaOf(t.TempDir())}
	b, other := open(t, both, opts), open(t, both, opts)
	writeTogether(t, []*pgstore.Backend{b, other}, 8, func() {
		if err := primary.Kill(); err != nil {
			t.Error(err)
		}
		if err := standby.Promote(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// writeTogether has writers append lines to one memory, each through one of the
// backends. trouble is called halfway. In the end every acknowledged line must be there, and no refused one.
func writeTogether(t *testing.T, backends []*pgstore.Backend, writers int, trouble func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	store := newStore(t, backends[0])
	if err := setIn(ctx, backends[0], store, "/all", ""); err != nil {
		t.Fatal(err)
	}
	const writes = 40
	var acknowledged sync.Map // texts
	var done, conflicts atomic.Int64
	halfway := make(chan struct{})
	var wg sync.WaitGroup
	for n := range writers {
		b := backends[n%len(backends)]
		wg.Go(func() {
			for i := 0; i < writes && ctx.Err() == nil; {
				text := fmt.Sprintf("%d-%d", n, i)
				err := appendLine(ctx, b, store, text)
				switch {
				case err == nil:
					acknowledged.Store(text, true)
					if done.Add(1) == int64(writers*writes/2) {
						close(halfway)
					}
					i++
				case errors.Is(err, memento.ErrConflict):
					conflicts.Add(1)
				case errors.Is(err, memento.ErrUncertain): // it may be there, so not again
					i++
				case errors.Is(err, memento.ErrUnavailable):
				default:
					t.Errorf("%s: %v", text, err)
					return
				}
			}
		})
	}
	if trouble != nil {
		<-halfway
		trouble()
	}
	wg.Wait()
	if ctx.Err() != nil {
		t.Fatal("the writers were not done in time")
	}
	t.Logf("%d writes, and %d conflicts", done.Load(), conflicts.Load())
	m, err := backends[0].Get(ctx, store, memento.ByPath("/all"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for line := range strings.Lines(m.Content) {
		seen[strings.TrimSpace(line)]++
	}
	acknowledged.Range(func(text, _ any) bool {
		if seen[text.(string)] != 1 {
			t.Errorf("%s was acknowledged, and is there %d times", text, seen[text.(string)])
		}
		return true
	})
	for text, n := range seen {
		if n != 1 {
			t.Errorf("%s is there %d times", text, n)
		}
	}
	if faults, err := backends[0].Verify(ctx); err != nil || len(faults) > 0 {
		t.Errorf("faults %q, %v", faults, err)
	}
}

// appendLine adds a line to the memory that all writers share, unless it has changed meanwhile.
func appendLine(ctx context.Context, b *pgstore.Backend, store memento.StoreID, text string) error {
	m, err := b.Get(ctx, store, memento.ByPath("/all"))
	if err != nil {
		return err
	}
	put := memento.Put{Path: "/all", Content: m.Content + text + "\n", If: memento.IfVersion(m.Version)}
	_, err = b.Apply(ctx, store, memento.Actor{}, []memento.Change{put})
	return err
}
