package pgstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/pgstore"
)

// edit writes what only the one who has read the latest version may write.
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
	if err := put(t.Context(), b, store, "/a", texts[0]); err != nil {
		t.Fatal(err)
	}
	for _, text := range texts[1:] {
		if err := edit(t, b, store, text); err != nil {
			t.Fatal(err)
		}
	}
	return store, texts
}

func isOptimistic(statement string) bool { return strings.HasPrefix(statement, "WITH k AS") }

// An edit of what was just read is one statement in one round trip, unless others
// write to the store too; then it is as right, and goes back to one when they are gone.
func TestOptimisticEdits(t *testing.T) {
	w := newWire(t)
	opts := &pgstore.Options{Schema: schemaOf(t.TempDir())}
	b := open(t, w.url, opts)
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

// What is planned by what is remembered is written by nothing else: neither by other
// limits, nor if the memory has moved, nor to a store that has come in another's place.
func TestOptimisticEditsGiveWay(t *testing.T) {
	opts := &pgstore.Options{Schema: schemaOf(t.TempDir())}
	b := open(t, serverURL(t, ""), opts)
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
func TestLostAnswersOfEdits(t *testing.T) {
	for name, what := range map[string]cut{"before": cutBefore, "after": cutAfter} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t)
			b := open(t, w.url, nil)
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
func TestLateEdit(t *testing.T) {
	for name, unavailable := range map[string]bool{"made": false, "not made": true} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t)
			b := open(t, w.url, &pgstore.Options{Patience: 300 * time.Millisecond})
			store, texts := optimistically(t, b)
			w.atStatements(func(statement string) cut {
				switch {
				case isOptimistic(statement):
					return cutLate
				case unavailable && strings.HasPrefix(statement, "SELECT memories, bytes"):
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
