package s3store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/s3store"
	"memento/test/services"
)

const workspace memento.Workspace = "tests"

var tester = memento.Actor{Kind: memento.ActorUser, ID: "tester"}

// openWith opens a backend on the first server, below a prefix of the test's.
func openWith(t *testing.T, dir string, change func(*s3store.Location, *s3store.Options)) *s3store.Backend {
	t.Helper()
	at, opts, err := server(services.S3).at(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&at, opts)
	}
	b, err := s3store.Open(t.Context(), at, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func newStore(t *testing.T, b *s3store.Backend) memento.StoreInfo {
	t.Helper()
	settings := memento.DefaultSettings()
	settings.Sensitive.Mode = memento.Off
	info, err := b.CreateStore(t.Context(), workspace, memento.StoreSpec{
		Name: "test", Settings: &settings, Limits: memento.Limits{Memories: 100_000, Bytes: 1 << 30, MemoryBytes: 1 << 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func put(t *testing.T, b *s3store.Backend, id memento.StoreID, path memento.Path, content string) memento.Version {
	t.Helper()
	done, err := b.Apply(t.Context(), id, tester, []memento.Change{memento.Put{Path: path, Content: content}})
	if err != nil {
		t.Fatal(err)
	}
	return done.Versions[0]
}

// asks checks the requests that a call makes.
func asks(t *testing.T, b *s3store.Backend, what string, want s3store.Stats, call func(context.Context) error) {
	t.Helper()
	before := b.Stats()
	if err := call(t.Context()); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	after := b.Stats()
	got := s3store.Stats{
		Gets: after.Gets - before.Gets, GetsNotFound: after.GetsNotFound - before.GetsNotFound, Puts: after.Puts - before.Puts,
		PutsRefused: after.PutsRefused - before.PutsRefused, Lists: after.Lists - before.Lists, Deletes: after.Deletes - before.Deletes,
		Heads: after.Heads - before.Heads, Failures: after.Failures - before.Failures,
	}
	if got != want {
		t.Errorf("%s makes the requests %+v, want %+v", what, got, want)
	}
}

// Operations take the number of requests that docs/s3.md gives.
func TestRequests(t *testing.T) {
	dir := t.TempDir()
	b := openWith(t, dir, nil)
	var id memento.StoreID
	asks(t, b, "CreateStore", s3store.Stats{Puts: 3}, func(ctx context.Context) error {
		info, err := b.CreateStore(ctx, workspace, memento.StoreSpec{Name: "first"})
		id = info.ID
		return err
	})
	asks(t, b, "CreateStore with a unique name", s3store.Stats{Lists: 1, Puts: 4}, func(ctx context.Context) error {
		_, err := b.CreateStore(ctx, "others", memento.StoreSpec{Name: "unique", UniqueName: true})
		return err
	})
	apply := func(changes ...memento.Change) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := b.Apply(ctx, id, tester, changes)
			return err
		}
	}
	get := func(b *s3store.Backend, path memento.Path) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := b.Get(ctx, id, memento.ByPath(path))
			return err
		}
	}
	asks(t, b, "a small Put", s3store.Stats{Puts: 1}, apply(memento.Put{Path: "/a", Content: "x"}))
	asks(t, b, "a large Put", s3store.Stats{Puts: 2}, apply(memento.Put{Path: "/large", Content: strings.Repeat("x", 17<<10)}))
	asks(t, b, "a no-op", s3store.Stats{GetsNotFound: 1}, apply(memento.Put{Path: "/a", Content: "x"}))
	asks(t, b, "a warm Get", s3store.Stats{GetsNotFound: 1}, get(b, "/a"))
	asks(t, b, "a warm Get of a large memory", s3store.Stats{GetsNotFound: 1}, get(b, "/large"))
	var many []memento.Change
	for i := range 100 {
		many = append(many, memento.Put{Path: memento.Path(fmt.Sprintf("/dir/%d", i)), Content: fmt.Sprint(i)})
	}
	asks(t, b, "100 Puts as one", s3store.Stats{Puts: 1}, apply(many...))
	asks(t, b, "the rename of a directory", s3store.Stats{Puts: 1}, apply(memento.Move{From: "/dir", To: "/moved"}))
	list := func(b *s3store.Backend) func(context.Context) error {
		return func(ctx context.Context) error {
			for _, err := range b.List(ctx, id, memento.ListOptions{Depth: 2}) {
				if err != nil {
					return err
				}
			}
			return nil
		}
	}
	asks(t, b, "List", s3store.Stats{GetsNotFound: 1}, list(b))
	search := func(ctx context.Context) error {
		found, err := b.Search(ctx, id, memento.SearchOptions{Query: "42"})
		if err == nil && len(found) != 1 {
			err = fmt.Errorf("found %d", len(found))
		}
		return err
	}
	// Not found: the next record, twice, and an index in the bucket.
	asks(t, b, "the first Search", s3store.Stats{GetsNotFound: 3}, search)
	asks(t, b, "Search", s3store.Stats{GetsNotFound: 1}, search)
	asks(t, b, "a page of history", s3store.Stats{GetsNotFound: 1}, func(ctx context.Context) error {
		for _, err := range b.ListVersions(ctx, id, memento.VersionListOptions{Limit: 50}) {
			if err != nil {
				return err
			}
		}
		return nil
	})
	asks(t, b, "GetStore", s3store.Stats{GetsNotFound: 1}, func(ctx context.Context) error { _, err := b.GetStore(ctx, workspace, id); return err })
	asks(t, b, "an update of the description", s3store.Stats{Puts: 1}, func(ctx context.Context) error {
		_, err := b.UpdateStore(ctx, workspace, id, memento.StoreUpdate{Description: new("x")})
		return err
	})
	asks(t, b, "ListStores of one store", s3store.Stats{Lists: 1, GetsNotFound: 1}, func(ctx context.Context) error {
		for _, err := range b.ListStores(ctx, workspace, memento.StoreListOptions{}) {
			if err != nil {
				return err
			}
		}
		return nil
	})

	// Another server reads what it does not know yet, and what others write.
	other := openWith(t, dir, nil)
	// Not found: the manifest, the read times, and the record after the six.
	asks(t, other, "a cold Get", s3store.Stats{Gets: 6, GetsNotFound: 3}, get(other, "/a"))
	put(t, other, id, "/b", "y")
	asks(t, b, "a Get after another server wrote", s3store.Stats{Gets: 1, GetsNotFound: 2}, get(b, "/b"))
	put(t, other, id, "/b", "z")
	asks(t, b, "a Put after another server wrote", s3store.Stats{PutsRefused: 1, Gets: 2, GetsNotFound: 3, Puts: 1}, apply(memento.Put{Path: "/c", Content: "x"}))

	before := b.Stats()
	for i := range 400 {
		put(t, b, id, "/n", fmt.Sprint(i))
	}
	// A compaction runs beside the writes. It does not list the log, since the records of
	// this store are too young to expire.
	want := before
	want.Puts += 400 + 2
	got := b.Stats()
	for wait := time.Now().Add(2 * time.Minute); got.Puts < want.Puts && time.Now().Before(wait); got = b.Stats() {
		time.Sleep(10 * time.Millisecond)
	}
	if got.Puts != want.Puts || got.Requests() != want.Requests() {
		t.Errorf("400 Puts, of which 256 are compacted, bring the requests from %+v to %+v", before, got)
	}
	third := openWith(t, dir, nil)
	before = third.Stats()
	if err := list(third)(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := third.Stats()
	if n := after.Requests() - before.Requests(); n > 256+64+32 {
		t.Errorf("a cold List of a store with more than 400 records takes %d requests", n)
	}
	if all := b.Stats(); all.PutsRefused != 3 || // two of them when it was opened
		all.Retries != 0 || all.Failures != 0 {
		t.Errorf("in all: %+v", all)
	}
}
