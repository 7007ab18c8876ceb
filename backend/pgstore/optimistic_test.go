package pgstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/pgstore"

	"github.com/jackc/pgx/v5"
)

// edit makes a change that needs the latest version.
func edit(t *testing.T, b *pgstore.Backend, store memento.StoreID, text string) error {
	t.Helper()
	m, err := b.Get(t.Context(), store, memento.ByPath("/a"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Apply(t.Context(), store, memento.Actor{}, []memento.Change{memento.Put{Path: "/a", Content: text, If: memento.IfVersion(m.Version)}})
	return err
}

// holds checks that a store has one memory, these versions, and nothing that contradicts.
func holds(t *testing.T, b *pgstore.Backend, store memento.StoreID, texts ...string) {
	t.Helper()
	m, err := b.Get(t.Context(), store, memento.ByPath("/a"))
	if err != nil || m.Content != texts[len(texts)-1] {
		t.Errorf("the memory is %q, %v", m.Content, err)
	}
	n := 0
	opts := memento.VersionListOptions{OldestFirst: true, Contents: true}
	for v, err := range b.ListVersions(t.Context(), store, opts) {
		if n++; err != nil || n > len(texts) || v.Content != texts[n-1] || v.Seq != int64(n) {
			t.Errorf("version %d: %+v, %v", n, v, err)
		}
	}
	if n != len(texts) {
		t.Errorf("%d versions, want %d", n, len(texts))
	}
	info, err := b.GetStore(t.Context(), memento.DefaultWorkspace, store)
	if want := (memento.Usage{Memories: 1, Bytes: m.Size}); err != nil || info.Usage != want {
		t.Errorf("usage %+v, want %+v; %v", info.Usage, want, err)
	}
	if faults, err := b.Verify(t.Context()); err != nil || len(faults) > 0 {
		t.Errorf("faults %q, %v", faults, err)
	}
}

// optimistically prepares a store of which b knows the newest version, and that
// nobody else writes to, and returns what was written.
func optimistically(t *testing.T, b *pgstore.Backend) (store memento.StoreID, texts []string) {
	t.Helper()
	store = newStore(t, b)
	texts = []string{"first", "second", "third"}
	if err := setIn(t.Context(), b, store, "/a", texts[0]); err != nil {
		t.Fatal(err)
	}
	for _, text := range texts[1:] {
		if err := edit(t, b, store, text); err != nil {
			t.Fatal(err)
		}
	}
	return store, texts
}

// inEachMode runs a test in each way that statements can go to the server.
func inEachMode(t *testing.T, test func(t *testing.T, mode string)) {
	for _, mode := range []string{"cache_statement", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) { test(t, "default_query_exec_mode="+mode) })
	}
}

func isOptimistic(statement string) bool { return strings.HasPrefix(statement, "WITH l AS") }

// An edit of a memory that was just read is one statement in one round trip. While other
// processes write to the store it takes more, with the same result; afterwards it takes one again.
func TestOptimisticEdits(t *testing.T) { inEachMode(t, optimisticEdits) }

func optimisticEdits(t *testing.T, mode string) {
	w := newWire(t)
	opts := &pgstore.Options{Schema: schemaOf(t.TempDir())}
	b := open(t, w.url+"&"+mode, opts)
	other := open(t, serverURL(t, ""), opts)
	store, texts := optimistically(t, b)
	tried := 0
	w.atStatements(func(statement string) cut {
		if isOptimistic(statement) {
			tried++
		}
		return cutNot
	})
	again := func(by *pgstore.Backend, want int) {
		t.Helper()
		tried = 0
		text := fmt.Sprintf("text %d", len(texts))
		if err := edit(t, by, store, text); err != nil {
			t.Fatal(err)
		}
		if texts = append(texts, text); tried != want {
			t.Errorf("%s: tried %d times, want %d", text, tried, want)
		}
	}
	again(b, 1)
	count(t, w, b, store, "an edit", []memento.Change{memento.Put{Path: "/a", Content: "counted"}}, 1, 1)
	texts = append(texts, "counted")
	again(other, 0)
	again(b, 1) // in vain
	again(b, 0)
	again(b, 1)
	again(other, 0)
	again(b, 1) // in vain
	again(other, 0)
	again(b, 0)
	again(other, 0)
	again(b, 0)
	again(b, 0)
	again(b, 1)
	holds(t, b, store, texts...)
}

// An edit that was planned on cached state is not written if that state is outdated: if the
// limits have changed, the memory was moved, or the store was replaced by another.
func TestOptimisticEditsGiveWay(t *testing.T) { inEachMode(t, optimisticEditsGiveWay) }

func optimisticEditsGiveWay(t *testing.T, mode string) {
	opts := &pgstore.Options{Schema: schemaOf(t.TempDir())}
	b := open(t, serverURL(t, mode), opts)
	other := open(t, serverURL(t, ""), opts)
	store, texts := optimistically(t, b)
	m, err := b.Get(t.Context(), store, memento.ByPath("/a"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) error {
		_, err := b.Apply(t.Context(), store, memento.Actor{}, []memento.Change{memento.Put{Path: "/a", Content: text, If: memento.IfVersion(m.Version)}})
		return err
	}
	update := memento.StoreUpdate{Limits: &memento.Limits{MemoryBytes: 10}}
	if _, err := other.UpdateStore(t.Context(), memento.DefaultWorkspace, store, update); err != nil {
		t.Fatal(err)
	}
	if err := write("longer than that"); !errors.Is(err, memento.ErrTooLarge) {
		t.Errorf("over the limit that another process has set: %v", err)
	}
	holds(t, b, store, texts...)
	if _, err := other.Apply(t.Context(), store, memento.Actor{}, []memento.Change{memento.Move{From: "/a", To: "/b"}, memento.Put{Path: "/a", Content: "new"}}); err != nil {
		t.Fatal(err)
	}
	if err := write("text"); !errors.Is(err, memento.ErrConflict) {
		t.Errorf("another memory is there now: %v", err)
	}
	if err := other.DeleteStore(t.Context(), memento.DefaultWorkspace, store); err != nil {
		t.Fatal(err)
	}
	if err := write("text"); !errors.Is(err, memento.ErrNoStore) {
		t.Errorf("the store is gone: %v", err)
	}
}

// An edit whose answer was lost is made once, and so is one of which the server has
// never heard.
func TestLostAnswersOfEdits(t *testing.T) { inEachMode(t, lostAnswersOfEdits) }

func lostAnswersOfEdits(t *testing.T, mode string) {
	for name, what := range map[string]cut{"before": cutBefore, "after": cutAfter} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t)
			b := open(t, w.url+"&"+mode, nil)
			store, texts := optimistically(t, b)
			cuts := 0
			w.atStatements(func(statement string) cut {
				if isOptimistic(statement) {
					cuts++
					return what
				}
				return cutNot
			})
			for i := range 12 {
				text := fmt.Sprint("text ", i)
				if err := edit(t, b, store, text); err != nil {
					t.Fatal(err)
				}
				texts = append(texts, text)
			}
			if w.atStatements(nil); cuts < 3 {
				t.Errorf("only %d edits were cut off", cuts)
			}
			holds(t, b, store, texts...)
		})
	}
}

// What comes to the server after it was given up does nothing there, whether the edit
// was made in another way meanwhile or not.
func TestLateEdit(t *testing.T) { inEachMode(t, lateEdit) }

func lateEdit(t *testing.T, mode string) {
	for name, unavailable := range map[string]bool{"made": false, "not made": true} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t)
			b := open(t, w.url+"&"+mode, &pgstore.Options{RetryTimeout: 300 * time.Millisecond})
			store, texts := optimistically(t, b)
			w.atStatements(func(statement string) cut {
				switch {
				case isOptimistic(statement):
					return cutLate
				case unavailable && strings.Contains(statement, "SELECT memories, bytes"):
					return cutBefore
				}
				return cutNot
			})
			err := edit(t, b, store, "fourth")
			switch {
			case !unavailable:
				texts = append(texts, "fourth")
			case errors.Is(err, memento.ErrUnavailable):
				err = nil
			}
			if err != nil {
				t.Fatal(err)
			}
			w.atStatements(nil)
			w.deliver()
			holds(t, b, store, texts...)
		})
	}
}

// An optimistic edit does not wait for the lock of the store: the usual way does, and
// reports it.
func TestEditOfHeldStore(t *testing.T) {
	opts := &pgstore.Options{Schema: schemaOf(t.TempDir()), StatementTimeout: time.Second}
	b := open(t, serverURL(t, ""), opts)
	store, texts := optimistically(t, b)
	c, err := pgx.Connect(t.Context(), serverURL(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	for _, statement := range []string{"BEGIN", "SELECT 1 FROM " + opts.Schema + ".counters FOR UPDATE"} {
		if _, err := c.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	if err := edit(t, b, store, "fourth"); !errors.Is(err, memento.ErrUnavailable) || time.Since(start) > 3*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
	if _, err := c.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	holds(t, b, store, texts...)
}

// If the statement is canceled at any moment, even just after the commit, acknowledged edits
// were made, and refused ones were not.
func TestCanceledEdits(t *testing.T) { inEachMode(t, canceledEdits) }

func canceledEdits(t *testing.T, mode string) {
	const slowly = "&application_name=canceled&log_min_duration_statement=0&commit_delay=30000&commit_siblings=0"
	b := open(t, serverURL(t, mode+slowly), nil)
	store, texts := optimistically(t, b)
	c, err := pgx.Connect(t.Context(), serverURL(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(7 * time.Millisecond):
			}
			_, _ = c.Exec(t.Context(), `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'canceled' AND state = 'active'`)
		}
	}()
	now := func() memento.Memory {
		for {
			if m, err := b.Get(t.Context(), store, memento.ByPath("/a")); err == nil {
				return m
			}
		}
	}
	for i := range 20 {
		text := fmt.Sprint("text ", i)
		put := memento.Put{Path: "/a", Content: text, If: memento.IfVersion(now().Version)}
		_, err := b.Apply(t.Context(), store, memento.Actor{}, []memento.Change{put})
		there := now().Content == text
		if there != (err == nil) && !errors.Is(err, memento.ErrUncertain) {
			t.Errorf("%s is there: %v; the answer was %v", text, there, err)
		}
		if there {
			texts = append(texts, text)
		}
	}
	close(stop)
	<-stopped
	holds(t, b, store, texts...)
}

// Version IDs that come again, by an import, name another memory.
func TestEditOfForgedVersion(t *testing.T) {
	b := open(t, serverURL(t, ""), nil)
	store, _ := optimistically(t, b)
	m, err := b.Get(t.Context(), store, memento.ByPath("/a"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Apply(t.Context(), store, memento.Actor{}, []memento.Change{memento.Remove{Path: "/a"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Prune(t.Context(), store, memento.PruneOptions{Before: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	version := func(id memento.VersionID, memory memento.MemoryID, path memento.Path, text string) memento.Version {
		return memento.Version{ID: id, Memory: memory, Path: path, Operation: memento.Created, Content: text,
			SHA256: memento.HashContent(text), Size: int64(len(text)), CreatedAt: m.CreatedAt}
	}
	err = b.Import(t.Context(), store, []memento.Version{
		version(m.Version, "mem_other", "/a", "a text of another length"),
		version("memver_x", "mem_x", "/x", "x"),
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second knows the store's newest version
		if err := setIn(t.Context(), b, store, "/a", fmt.Sprint("new ", time.Now())); err != nil {
			t.Fatal(err)
		}
	}
	if faults, err := b.Verify(t.Context()); err != nil || len(faults) > 0 {
		t.Errorf("faults %q, %v", faults, err)
	}
}
