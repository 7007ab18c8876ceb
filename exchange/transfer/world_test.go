package transfer_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"memento"
	"memento/backend/storetest"
	"memento/exchange/transfer"
	"memento/test/engines"
)

// kinds are the backends that stores are copied between.
var kinds = engines.All()

func init() { kinds["encrypted"] = engines.Encrypted(engines.SQLite) }

var someone = memento.Actor{Kind: memento.ActorUser, ID: "test"}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func apply(t *testing.T, b memento.Backend, id memento.StoreID, changes ...memento.Change) []memento.Version {
	t.Helper()
	done, err := b.Apply(t.Context(), id, someone, changes)
	must(t, err)
	return done.Versions
}

// fill makes a store whose history has all that a history can have, and which is over
// limits that came later, protected, and archived if asked for.
func fill(t *testing.T, b memento.Backend, ws memento.Workspace, name string, archived bool) memento.StoreInfo {
	t.Helper()
	ctx := t.Context()
	settings := memento.DefaultSettings()
	settings.Sensitive.Mode = memento.Off
	info, err := b.CreateStore(ctx, ws, memento.StoreSpec{Name: name, Description: "a store to copy", Metadata: map[string]string{"a": "1", "b": ""}, Settings: &settings})
	must(t, err)
	id := info.ID
	put := func(path memento.Path, content string) memento.Change {
		return memento.Put{Path: path, Content: content}
	}
	apply(t, b, id, put("/notes/a.md", "first\n"), put("/notes/b.md", ""), put("/c", "c\r\nd\u2028e"), put("/long", string(make([]byte, 5000))))
	secret := apply(t, b, id, put("/notes/a.md", "to be redacted\n"))[0]
	apply(t, b, id, put("/notes/a.md", "second\n"))
	apply(t, b, id, memento.Move{From: "/notes", To: "/kept/notes"})
	apply(t, b, id, put("/notes", "a file where a directory was"))
	gone := apply(t, b, id, memento.Remove{Path: "/c"})[0]
	apply(t, b, id, put("/c/d", "a directory where a file was"))
	for i := range 30 {
		apply(t, b, id, put("/kept/notes/b.md", fmt.Sprintf("edit %d", i)))
	}
	for _, v := range []memento.VersionID{secret.ID, gone.ID} {
		_, err := b.Redact(ctx, id, v, someone)
		must(t, err)
	}
	settings.ReadOnly = []memento.Pattern{"/kept/**"}
	settings.Retention = memento.Retention{Age: time.Hour, Versions: 3}
	limits := memento.Limits{MemoryBytes: 100, Memories: 2, Bytes: 200, PathBytes: 20}
	info, err = b.UpdateStore(ctx, ws, id, memento.StoreUpdate{Limits: &limits, Settings: &settings, Archive: archived})
	must(t, err)
	return info
}

// soundCopy checks that the target has what the source has, by means of its own.
func soundCopy(t *testing.T, from, to memento.Backend, id memento.StoreID, ws memento.Workspace) {
	t.Helper()
	s, err := from.GetStore(t.Context(), ws, id)
	must(t, err)
	c, err := to.GetStore(t.Context(), ws, id)
	must(t, err)
	storetest.Audit(t, to, c)
	if c.Name != s.Name || c.Description != s.Description || !maps.Equal(c.Metadata, s.Metadata) || c.Limits != s.Limits ||
		!c.Settings.Equal(&s.Settings) || c.Usage != s.Usage || !c.CreatedAt.Equal(s.CreatedAt) || c.Archived() != s.Archived() {
		t.Errorf("the store is %+v, want %+v", c, s)
	}
	if got, want := versions(t, to, id), versions(t, from, id); !slices.EqualFunc(got, want, sameVersion) {
		t.Errorf("the history of %d versions is not that of %d", len(got), len(want))
	}
	got, want := memories(t, to, id), memories(t, from, id)
	for p, m := range want {
		if got[p] != m {
			t.Errorf("the memory at %s is %.300v, want %.300v", p, fmt.Sprint(got[p]), fmt.Sprint(m))
		}
		delete(got, p)
	}
	for p := range got {
		t.Errorf("there is a memory at %s", p)
	}
}

func versions(t *testing.T, b memento.Backend, id memento.StoreID) (all []memento.Version) {
	t.Helper()
	for v, err := range b.ListVersions(t.Context(), id, memento.VersionListOptions{OldestFirst: true, Contents: true}) {
		must(t, err)
		all = append(all, v)
	}
	return all
}

func sameVersion(a, b memento.Version) bool {
	a.Seq, b.Seq = 0, 0
	return a == b
}

func memories(t *testing.T, b memento.Backend, id memento.StoreID) map[memento.Path]memento.Memory {
	t.Helper()
	all := map[memento.Path]memento.Memory{}
	for e, err := range b.List(t.Context(), id, memento.ListOptions{Contents: true}) {
		must(t, err)
		e.Memory.ReadAt = time.Time{}
		if e.Path == "/kept/notes/a.md" { // of which a version is redacted: it may seem newer
			e.Memory.CreatedAt = time.Time{}
		}
		all[e.Path] = e.Memory
	}
	return all
}

// copyAll copies everything, in small batches.
func copyAll(ctx context.Context, t *testing.T, from, to memento.Backend) []transfer.Result {
	t.Helper()
	c := transfer.Copier{From: from, To: to, BatchVersions: 3}
	stores, err := c.Stores(ctx, "")
	must(t, err)
	var results []transfer.Result
	for _, info := range stores {
		r, err := c.Copy(ctx, info)
		if err != nil {
			t.Fatalf("%s: %v", info.Name, err)
		}
		if !r.Verified || len(r.Differences) > 0 {
			t.Errorf("%s: %+v", info.Name, r)
		}
		results = append(results, r)
	}
	return results
}
