package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/backend/pgstore"
	"memento/test/needs"
	"memento/test/services"

	"github.com/jackc/pgx/v5"
)

func open(t *testing.T, url string, opts *pgstore.Options) *pgstore.Backend {
	t.Helper()
	if opts == nil {
		opts = new(pgstore.Options)
	}
	if opts.Schema == "" {
		opts.Schema = schemaOf(t.TempDir())
	}
	b, err := pgstore.Open(t.Context(), url, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func newStore(t *testing.T, b memento.Backend) memento.StoreID {
	t.Helper()
	info, err := b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return info.ID
}

func setIn(ctx context.Context, b memento.Backend, store memento.StoreID, path memento.Path, text string) error {
	_, err := b.Apply(ctx, store, memento.Actor{}, []memento.Change{memento.Put{Path: path, Content: text}})
	return err
}

// What was done though the answer was lost is found out, and not done again; what
// was not is done.
func TestLostAnswers(t *testing.T) {
	for name, what := range map[string]cut{"before": cutBefore, "after": cutAfter} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t)
			b := open(t, w.url, nil)
			store := newStore(t, b)
			cuts := 0
			w.atStatements(func(statement string) cut {
				if statement == "COMMIT" {
					if cuts++; cuts%2 == 1 {
						return what
					}
				}
				return cutNot
			})
			const writes = 20
			for i := range writes {
				// It holds only once: done twice, it would fail.
				_, err := b.Apply(t.Context(), store, memento.Actor{}, []memento.Change{
					memento.Put{Path: memento.Path(fmt.Sprintf("/%d", i)), Content: "text", If: memento.IfAbsent()}})
				if err != nil {
					t.Fatalf("write %d: %v", i, err)
				}
			}
			key, _, err := apikey.New(memento.DefaultWorkspace, "key", apikey.RoleRead, time.Now(), time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			for _, do := range []func() error{
				func() error { return b.AddKey(t.Context(), key) },
				func() error {
					_, err := b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "second", UniqueName: true})
					return err
				},
				func() error {
					old, err := b.GetStore(t.Context(), memento.DefaultWorkspace, store)
					if err != nil {
						return err
					}
					_, err = b.UpdateStore(t.Context(), memento.DefaultWorkspace, store, memento.StoreUpdate{Name: new("other"), IfUpdatedAt: old.UpdatedAt})
					return err
				},
			} {
				if err := do(); err != nil {
					t.Error(err)
				}
			}
			w.atStatements(nil)
			if cuts < writes {
				t.Errorf("only %d commits were seen", cuts)
			}
			n := 0
			for v, err := range b.ListVersions(t.Context(), store, memento.VersionListOptions{}) {
				if n++; err != nil || v.Operation != memento.Created {
					t.Errorf("version %+v, %v", v, err)
				}
			}
			if n != writes {
				t.Errorf("%d versions of %d writes", n, writes)
			}
			if err := b.DeleteStore(t.Context(), memento.DefaultWorkspace, store); err != nil {
				t.Error(err)
			}
		})
	}
}

// If nobody can be asked what became of a write, its error says so.
func TestUncertain(t *testing.T) {
	w := newWire(t)
	b := open(t, w.url, &pgstore.Options{RetryTimeout: 300 * time.Millisecond})
	store := newStore(t, b)
	down := false
	w.atStatements(func(statement string) cut {
		switch {
		case down:
			return cutBefore
		case statement == "COMMIT":
			down = true
			return cutAfter
		}
		return cutNot
	})
	if err := setIn(t.Context(), b, store, "/a", "text"); !errors.Is(err, memento.ErrUncertain) {
		t.Errorf("the answer was lost, and the server too: %v", err)
	}
	_, err := b.Get(t.Context(), store, memento.ByPath("/a"))
	if !errors.Is(err, memento.ErrUnavailable) {
		t.Errorf("without a server: %v", err)
	}
	w.atStatements(nil)
	if _, err := b.Get(t.Context(), store, memento.ByPath("/a")); err != nil {
		t.Errorf("it had happened: %v", err)
	}
}

// A server that restarts costs the patient time, and others errors that say what
// became of their writes.
func TestRestart(t *testing.T) {
	server, err := services.StartPostgres(t.Context(), t.TempDir())
	needs.Check(t, err)
	defer server.Stop()
	schema := schemaOf(t.TempDir())
	patient := open(t, server.URL(), &pgstore.Options{Schema: schema, RetryTimeout: time.Minute})
	hasty := open(t, server.URL(), &pgstore.Options{Schema: schema, RetryTimeout: -1})
	store := newStore(t, patient)
	const writers = 4 // of each kind
	var mu sync.Mutex
	acknowledged, uncertain := map[memento.Path]bool{}, map[memento.Path]bool{}
	write := func(b *pgstore.Backend, path memento.Path) {
		_, err := b.Apply(t.Context(), store, memento.Actor{}, []memento.Change{memento.Put{Path: path, Content: "text", If: memento.IfAbsent()}})
		switch {
		case err == nil:
			mu.Lock()
			acknowledged[path] = true
			mu.Unlock()
		case b == patient:
			t.Errorf("%s: %v", path, err)
		case errors.Is(err, memento.ErrUncertain):
			mu.Lock()
			uncertain[path] = true
			mu.Unlock()
		case errors.Is(err, memento.ErrUnavailable):
			if _, err := patient.Get(t.Context(), store, memento.ByPath(path)); !errors.Is(err, memento.ErrNotExist) {
				t.Errorf("%s should not be there: %v", path, err)
			}
		default:
			t.Errorf("%s: %v", path, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range 2 * writers {
		b := patient
		if i%2 == 1 {
			b = hasty
		}
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				write(b, memento.Path(fmt.Sprintf("/%d/%d", i, n)))
			}
		})
	}
	done := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(acknowledged)
	}
	writeSome := func() {
		for enough := done() + 50; done() < enough && !t.Failed(); {
			time.Sleep(time.Millisecond)
		}
	}
	for range 3 {
		writeSome()
		if err := server.Restart(t.Context(), services.Immediate); err != nil {
			t.Fatal(err)
		}
	}
	writeSome()
	cancel()
	wg.Wait()
	there := map[memento.Path]bool{}
	for x, err := range patient.List(t.Context(), store, memento.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		there[x.Path] = true
		if !acknowledged[x.Path] && !uncertain[x.Path] {
			t.Errorf("%s is there, and nobody was told", x.Path)
		}
	}
	for path := range acknowledged {
		if !there[path] {
			t.Errorf("%s was acknowledged, and is not there", path)
		}
	}
	t.Logf("%d acknowledged, %d uncertain", len(acknowledged), len(uncertain))
	if faults, err := patient.Verify(t.Context()); err != nil || len(faults) > 0 {
		t.Errorf("faults: %v, %v", faults, err)
	}
}

// No error contains the address or the credentials of the database.
func TestSecrets(t *testing.T) {
	const canary = "canary-4711"
	server, err := services.StartPostgres(t.Context(), t.TempDir())
	needs.Check(t, err)
	defer server.Stop()
	b := open(t, server.URL(), &pgstore.Options{RetryTimeout: -1})
	store := newStore(t, b)
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	secret := []string{canary, "127.0.0.1", "localhost", "someone", "postgres@", ".s.PGSQL"}
	check := func(what string, err error, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v", what, err)
			return
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			for _, s := range secret {
				if strings.Contains(fmt.Sprintf("%v %+v %#v", e, e, e), s) {
					t.Errorf("%s: the error tells %q: %v", what, s, e)
				}
			}
		}
	}
	_, err = b.Get(t.Context(), store, memento.ByPath("/a"))
	check("Get", err, memento.ErrUnavailable)
	check("Apply", setIn(t.Context(), b, store, "/a", "text"), memento.ErrUnavailable)
	_, err = b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "late"})
	check("CreateStore", err, memento.ErrUnavailable)
	for _, err := range b.List(t.Context(), store, memento.ListOptions{}) {
		check("List", err, memento.ErrUnavailable)
	}
	_, err = b.AcquireLease(t.Context(), "duty", time.Minute)
	check("AcquireLease", err, memento.ErrUnavailable)
	for _, bad := range []string{
		"postgres://someone:" + canary + "@127.0.0.1:1/db?connect_timeout=x",
		"postgres://someone:" + canary + "%@127.0.0.1:1/db",
		"host=127.0.0.1 user=someone password='" + canary + " port=x",
	} {
		_, err := pgstore.Open(t.Context(), bad, &pgstore.Options{RetryTimeout: -1})
		check("Open "+bad, err, memento.ErrInvalid)
	}
	for _, away := range []string{
		"postgres://someone:" + canary + "@127.0.0.1:1/db?sslmode=disable",
		"host=/nowhere user=someone password=" + canary,
	} {
		_, err := pgstore.Open(t.Context(), away, &pgstore.Options{RetryTimeout: -1})
		check("Open", err, memento.ErrUnavailable)
	}
}

// A database that does not answer is not waited for without end.
func TestSlow(t *testing.T) {
	schema := schemaOf(t.TempDir())
	b := open(t, serverURL(t, ""), &pgstore.Options{Schema: schema, StatementTimeout: 200 * time.Millisecond})
	store := newStore(t, b)
	if err := setIn(t.Context(), b, store, "/a", "text"); err != nil {
		t.Fatal(err)
	}
	other, err := pgx.Connect(t.Context(), serverURL(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(t.Context())
	if _, err := other.Exec(t.Context(), `BEGIN; LOCK TABLE `+schema+`.counters`); err != nil {
		t.Fatal(err)
	}
	if err := setIn(t.Context(), b, store, "/a", "changed"); !errors.Is(err, memento.ErrUnavailable) {
		t.Errorf("while another has the store: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := setIn(ctx, b, store, "/a", "changed"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with a deadline of its own: %v", err)
	}
	if m, err := b.Get(t.Context(), store, memento.ByPath("/a")); err != nil || m.Content != "text" {
		t.Errorf("readers need not wait: %+v, %v", m, err)
	}
	if _, err := other.Exec(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if err := setIn(t.Context(), b, store, "/a", "at last"); err != nil {
		t.Error(err)
	}
}

// Commits wait for the disk, also where the role's setting says that they need not.
func TestSynchronousCommit(t *testing.T) {
	w := newWire(t)
	b := open(t, w.url+"&options=-c%20synchronous_commit%3Doff", nil)
	store := newStore(t, b)
	var seen []string
	w.atStatements(func(statement string) cut {
		seen = append(seen, statement)
		return cutNot
	})
	if err := setIn(t.Context(), b, store, "/a", "text"); err != nil {
		t.Fatal(err)
	}
	w.atStatements(nil)
	if at := slices.Index(seen, "SET LOCAL synchronous_commit = on"); at < 0 || at > slices.Index(seen, "COMMIT") {
		t.Errorf("the statements were %q", seen)
	}
}
