package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/pgstore"
)

// fill makes memories of 100 kB, more than a listing reads at once.
func fill(t *testing.T, b memento.Backend, store memento.StoreID, memories int) {
	t.Helper()
	text := strings.Repeat("0123456789", 10_000)
	var puts []memento.Change
	for i := range memories {
		puts = append(puts, memento.Put{Path: memento.Path(fmt.Sprintf("/%05d", i)), Content: text})
	}
	if _, err := b.Apply(t.Context(), store, memento.Actor{}, puts); err != nil {
		t.Fatal(err)
	}
}

// A large listing is of one moment, holds no connection that others need, and can
// be left at any point.
func TestLargeListing(t *testing.T) {
	const memories = 200
	b := open(t, serverURL(t, ""), &pgstore.Options{MaxConns: 1})
	store := newStore(t, b)
	fill(t, b, store, memories)
	n := 0
	for x, err := range b.List(t.Context(), store, memento.ListOptions{Contents: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if len(x.Memory.Content) != 100_000 {
			t.Fatalf("%s has %d bytes", x.Path, len(x.Memory.Content))
		}
		if n++; n%50 == 1 {
			// Only what was not read yet could show it.
			if err := setIn(t.Context(), b, store, memento.Path(fmt.Sprintf("/%05d", memories-n)), "changed meanwhile"); err != nil {
				t.Fatal(err)
			}
			if n > 1 {
				continue
			}
			for range b.ListVersions(t.Context(), store, memento.VersionListOptions{Contents: true}) {
				if err := setIn(t.Context(), b, store, "/new", fmt.Sprint(time.Now())); err != nil {
					t.Fatal(err)
				}
				break
			}
		}
	}
	if n != memories {
		t.Errorf("listed %d of %d", n, memories)
	}
	for _, stopAt := range []int{1, memories - 1} {
		ctx, cancel := context.WithCancel(t.Context())
		n, last := 0, error(nil)
		for _, err := range b.List(ctx, store, memento.ListOptions{Contents: true}) {
			if last = err; err != nil {
				break
			}
			if n++; n == stopAt {
				cancel()
			}
		}
		cancel()
		if n <= memories && !errors.Is(last, context.Canceled) {
			t.Errorf("cancelled at %d: listed %d, %v", stopAt, n, last)
		}
	}
	if s := b.Stats(); s.Busy != 0 || s.MaxConns != 1 {
		t.Errorf("%+v", s)
	}
}

// A deleted store disappears at once, and its rows soon after.
func TestDeleteLargeStore(t *testing.T) {
	schema := schemaOf(t.TempDir())
	b := open(t, serverURL(t, ""), &pgstore.Options{Schema: schema})
	store, other := newStore(t, b), newStore(t, b)
	const memories = 8000
	var puts []memento.Change
	for i := range memories {
		puts = append(puts, memento.Put{Path: memento.Path(fmt.Sprintf("/%d/%d", i%10, i)), Content: fmt.Sprint("text ", i)})
	}
	for _, changes := range [][]memento.Change{puts, {memento.Move{From: "/1", To: "/moved"}}} {
		if _, err := b.Apply(t.Context(), store, memento.Actor{}, changes); err != nil {
			t.Fatal(err)
		}
	}
	if err := setIn(t.Context(), b, other, "/stays", "text"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Search(t.Context(), store, memento.SearchOptions{Query: "text"}); err != nil {
		t.Fatal(err)
	}
	if err := b.DeleteStore(t.Context(), memento.DefaultWorkspace, store); err != nil {
		t.Fatal(err)
	}
	_, err := b.Get(t.Context(), store, memento.ByPath("/0/0"))
	if !errors.Is(err, memento.ErrNoStore) {
		t.Errorf("Get: %v", err)
	}
	for _, table := range []string{"memories", "contents", "versions", "counters"} {
		if n := rowsOf(t, schema, table); n != 1 {
			t.Errorf("%d rows in %s, of the other store's 1", n, table)
		}
	}
	for _, table := range []string{"search_segments", "search_blocks", "search_deletions", "removals"} {
		if n := rowsOf(t, schema, table); n != 0 {
			t.Errorf("%d rows were left in %s", n, table)
		}
	}
	if faults, err := b.Verify(t.Context()); err != nil || len(faults) > 0 {
		t.Errorf("faults: %v, %v", faults, err)
	}

	// Under the same ID there may be another: a copy.
	if _, err := b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "copy", ID: store}); err != nil {
		t.Fatal(err)
	}
	if err := setIn(t.Context(), b, store, "/0/0", "of the copy"); err != nil {
		t.Fatal(err)
	}
	if m, err := b.Get(t.Context(), store, memento.ByPath("/0/0")); err != nil || m.Content != "of the copy" {
		t.Errorf("Get: %+v, %v", m, err)
	}
}

// A process that still knows a store which another has replaced finds the new one.
func TestReplacedStore(t *testing.T) {
	schema := schemaOf(t.TempDir())
	one := open(t, serverURL(t, ""), &pgstore.Options{Schema: schema})
	two := open(t, serverURL(t, ""), &pgstore.Options{Schema: schema})
	use := map[string]func(b *pgstore.Backend, id memento.StoreID) error{
		"get": func(b *pgstore.Backend, id memento.StoreID) error {
			_, err := b.Get(t.Context(), id, memento.ByPath("/a"))
			return err
		},
		"put": func(b *pgstore.Backend, id memento.StoreID) error { return setIn(t.Context(), b, id, "/b", "text") },
		"search": func(b *pgstore.Backend, id memento.StoreID) error {
			found, err := b.Search(t.Context(), id, memento.SearchOptions{Query: "text"})
			if err == nil && len(found) != 1 {
				err = fmt.Errorf("found %d", len(found))
			}
			return err
		},
		"redact": func(b *pgstore.Backend, id memento.StoreID) error {
			_, err := b.Redact(t.Context(), id, "memver_x", memento.Actor{})
			if errors.Is(err, memento.ErrNotExist) {
				return nil
			}
			return fmt.Errorf("want ErrNotExist, got %v", err)
		},
		"prune": func(b *pgstore.Backend, id memento.StoreID) error {
			_, err := b.Prune(t.Context(), id, memento.PruneOptions{Before: time.Now()})
			return err
		},
	}
	for name, f := range use {
		id := newStore(t, one)
		if err := setIn(t.Context(), one, id, "/a", "text"); err != nil {
			t.Fatal(err)
		}
		if err := f(one, id); err != nil {
			t.Fatal(name, err)
		}
		if err := two.DeleteStore(t.Context(), memento.DefaultWorkspace, id); err != nil {
			t.Fatal(err)
		}
		if _, err := two.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "copy", ID: id}); err != nil {
			t.Fatal(err)
		}
		if err := setIn(t.Context(), two, id, "/a", "text again"); err != nil {
			t.Fatal(err)
		}
		if err := f(one, id); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What does not fit together is found.
func TestVerify(t *testing.T) {
	schema := schemaOf(t.TempDir())
	b := open(t, serverURL(t, ""), &pgstore.Options{Schema: schema})
	store := newStore(t, b)
	for i := range 5 {
		if err := setIn(t.Context(), b, store, memento.Path(fmt.Sprintf("/%d", i%3)), fmt.Sprint("text ", i)); err != nil {
			t.Fatal(err)
		}
	}
	if faults, err := b.Verify(t.Context()); err != nil || len(faults) > 0 {
		t.Errorf("of a sound store: %v, %v", faults, err)
	}
	for _, damage := range []string{
		`UPDATE contents SET data = 'other' WHERE seq = 1`,
		`DELETE FROM contents WHERE seq = 2`,
		`INSERT INTO contents VALUES (1, 77, 'nobody''s')`,
		`UPDATE counters SET bytes = bytes + 1`,
		`UPDATE counters SET last_seq = 3`,
		`UPDATE memories SET size = size + 1, version = 'memver_x' WHERE path = '/0'`,
		`INSERT INTO counters VALUES (99, 0, 0, 0, 0, 0)`,
	} {
		admin(t, `BEGIN; SET LOCAL search_path TO `+schema+`; CREATE TABLE before_contents AS SELECT * FROM contents;
			CREATE TABLE before_counters AS SELECT * FROM counters; CREATE TABLE before_memories AS SELECT * FROM memories; `+damage+`; COMMIT`)
		faults, err := b.Verify(t.Context())
		if err != nil || len(faults) == 0 {
			t.Errorf("%s: %v, %v", damage, faults, err)
		}
		t.Log(faults)
		admin(t, `BEGIN; SET LOCAL search_path TO `+schema+`; DELETE FROM contents; DELETE FROM counters; DELETE FROM memories;
			INSERT INTO contents SELECT * FROM before_contents; INSERT INTO counters SELECT * FROM before_counters; INSERT INTO memories SELECT * FROM before_memories;
			DROP TABLE before_contents, before_counters, before_memories; COMMIT`)
	}
}
