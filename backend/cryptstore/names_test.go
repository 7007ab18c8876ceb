package cryptstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"memento"
	"memento/backend/cryptstore"
	"memento/backend/memstore"
)

// With encrypted names, rules and errors are about those that users know.
func TestEncryptedNames(t *testing.T) {
	inner := memstore.New(nil)
	defer inner.Close()
	ring := newRing(t)
	b := wrap(t, inner, ring, &cryptstore.Options{EncryptNames: true})
	store := newStore(t, b, workspace)
	paths := []memento.Path{"/a", "/b/1", "/b/2", "/b/deep/3", "/c.md", "/z/1", "/é"}
	for _, p := range slices.Backward(paths) {
		apply(t, b, store, memento.Put{Path: p, Content: string(p)})
	}
	var got []memento.Path
	for e, err := range b.List(t.Context(), store, memento.ListOptions{Contents: true}) {
		if err != nil || e.Memory.Content != string(e.Path) || e.Memory.Path != e.Path {
			t.Errorf("%+v, %v", e, err)
		}
		got = append(got, e.Path)
	}
	if !slices.Equal(got, paths) {
		t.Errorf("listed are %q, want %q", got, paths)
	}
	for e, err := range inner.List(t.Context(), store, memento.ListOptions{}) {
		if err != nil || slices.Contains(paths, e.Path) || strings.Contains(string(e.Path), "deep") {
			t.Errorf("kept is %s, %v", e.Path, err)
		}
	}

	settings := memento.DefaultSettings()
	settings.ReadOnly = []memento.Pattern{"/b/**"}
	if _, err := b.UpdateStore(t.Context(), workspace, store, memento.StoreUpdate{Settings: &settings}); err != nil {
		t.Fatal(err)
	}
	at := func(what string, err, want error, path memento.Path) {
		t.Helper()
		failed, ok := errors.AsType[*memento.Error](err)
		if !errors.Is(err, want) || !ok || failed.Path != path {
			t.Errorf("%s: %v, want %v about %s", what, err, want, path)
		}
	}
	_, err := b.Apply(t.Context(), store, ann, []memento.Change{memento.Remove{Path: "/b"}})
	at("removing what is read-only", err, memento.ErrProtected, "/b/1")
	_, err = b.Apply(t.Context(), store, ann, []memento.Change{memento.Put{Path: "/a/below", Content: "x"}})
	at("below a memory", err, memento.ErrNotDir, "/a")
	_, err = b.Get(t.Context(), store, memento.ByPath("/none/at/all"))
	at("what does not exist", err, memento.ErrNotExist, "/none/at/all")
	text := "imported"
	v := memento.Version{ID: "memver_new", Memory: "mem_new", Operation: memento.Created, Path: "/b/new", Content: text, SHA256: memento.HashContent(text),
		CreatedAt: apply(t, b, store, memento.Put{Path: "/y", Content: "y"})[0].CreatedAt}
	at("importing what is read-only", b.Import(t.Context(), store, []memento.Version{v}), memento.ErrProtected, "/b/new")
	m, err := b.Get(t.Context(), store, memento.ByPath("/b/1"))
	if err != nil {
		t.Fatal(err)
	}
	away := v
	away.Memory, away.Operation, away.Path = m.ID, memento.Modified, "/moved"
	at("importing a move of what is read-only", b.Import(t.Context(), store, []memento.Version{away}), memento.ErrProtected, "/b/1")
	v.Path = "/imported"
	if err := b.Import(t.Context(), store, []memento.Version{v}); err != nil {
		t.Error(err)
	}
	holds(t, b, store, "/imported", "imported")

	// Whether names are encrypted is the store's, not the handle's.
	clear := wrap(t, inner, ring, nil)
	holds(t, clear, store, "/b/deep/3", "/b/deep/3")
	other := newStore(t, clear, workspace)
	apply(t, clear, other, memento.Put{Path: "/in/clear", Content: "x"})
	holds(t, b, other, "/in/clear", "x")
	if _, err := inner.Get(t.Context(), other, memento.ByPath("/in/clear")); err != nil {
		t.Error(err)
	}

	// A name that somebody else has given.
	if _, err := inner.Apply(t.Context(), store, ann, []memento.Change{memento.Put{Path: "/by/hand", Content: "x"}}); err != nil {
		t.Fatal(err)
	}
	failed := false
	for e, err := range b.List(t.Context(), store, memento.ListOptions{}) {
		if failed = err != nil; !failed || !errors.Is(err, memento.ErrDecrypt) {
			t.Errorf("listed is %+v, %v", e, err)
		}
	}
	if !failed {
		t.Error("it is not noticed")
	}
	holds(t, b, store, "/a", "/a")

	// The history says which of its versions it is, so that they can be redacted.
	gone, err := inner.Apply(t.Context(), store, ann, []memento.Change{memento.Remove{Path: "/by/hand"}})
	if err != nil {
		t.Fatal(err)
	}
	for last, more := gone.Versions[0].ID, true; more; {
		more = false
		for _, err := range b.ListVersions(t.Context(), store, memento.VersionListOptions{}) {
			if err == nil {
				continue
			}
			_, at, found := strings.Cut(err.Error(), "version ")
			id, _, _ := strings.Cut(at, ":")
			if !errors.Is(err, memento.ErrDecrypt) || !found {
				t.Fatalf("the history fails with %v", err)
			}
			if last = memento.VersionID(id); more {
				t.Fatal("it continues after an error")
			}
			more = true
		}
		if more {
			if _, err := b.Redact(t.Context(), store, last, ann); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Listings are those of a backend whose names are in clear, whatever is asked for.
func TestEncryptedListings(t *testing.T) {
	plain, inner := memstore.New(nil), memstore.New(nil)
	defer plain.Close()
	defer inner.Close()
	b := wrap(t, inner, newRing(t), &cryptstore.Options{EncryptNames: true})
	one, two := newStore(t, plain, workspace), newStore(t, b, workspace)
	names := []string{"a", "b", "a-", "a.b", "é", "0"}
	var paths []memento.Path
	for _, x := range names {
		for _, y := range names {
			if x == "b" {
				paths = append(paths, memento.Path("/dir/"+y))
				continue
			}
			paths = append(paths, memento.Path("/"+x+"/"+y+"/x"), memento.Path("/"+x+"/"+y+"/y/z"), memento.Path("/"+x+y+"-"))
		}
	}
	for _, p := range paths {
		for _, on := range []struct {
			b     memento.Backend
			store memento.StoreID
		}{{plain, one}, {b, two}} {
			apply(t, on.b, on.store, memento.Put{Path: p, Content: string(p)})
		}
	}
	list := func(b memento.Backend, store memento.StoreID, opts memento.ListOptions) (found []memento.Entry) {
		for e, err := range b.List(t.Context(), store, opts) {
			if err != nil {
				t.Fatal(err)
			}
			e = memento.Entry{Path: e.Path, Dir: e.Dir, Usage: e.Usage, Memory: memento.Memory{Path: e.Memory.Path, Content: e.Memory.Content, SHA256: e.Memory.SHA256, Size: e.Memory.Size}}
			found = append(found, e)
		}
		return found
	}
	for _, dir := range []memento.Path{"", "/", "/a", "/a/a", "/dir", "/dir/a", "/none"} {
		for depth := range 4 {
			all := list(plain, one, memento.ListOptions{Dir: dir, Depth: depth})
			after := []string{"", "/", "/a", "/a/", "/a/b", "/zzz", "x"}
			for _, e := range all {
				after = append(after, e.Cursor(), string(e.Path))
			}
			for _, after := range after {
				for _, limit := range []int{0, 1, 3} {
					for _, contents := range []bool{false, true} {
						opts := memento.ListOptions{Dir: dir, Depth: depth, After: after, Limit: limit, Contents: contents}
						want, got := list(plain, one, opts), list(b, two, opts)
						if !slices.Equal(want, got) {
							t.Fatalf("%+v lists %+v, want %+v", opts, got, want)
						}
					}
				}
			}
		}
	}
}

// What is imported is measured, and protected, by the names that users know.
func TestImportedNames(t *testing.T) {
	inner := memstore.New(nil)
	defer inner.Close()
	b := wrap(t, inner, newRing(t), &cryptstore.Options{EncryptNames: true})
	store := newStore(t, b, workspace)
	v := apply(t, b, store, memento.Put{Path: "/a", Content: "x"})[0]
	kept := onlyPath(t, inner, store)
	settings := memento.DefaultSettings()
	settings.ReadOnly = []memento.Pattern{memento.Pattern(kept), "/locked/**"}
	limits := memento.Limits{PathBytes: 10, PathDepth: 2}
	if _, err := b.UpdateStore(t.Context(), workspace, store, memento.StoreUpdate{Settings: &settings, Limits: &limits}); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		path memento.Path
		want error
	}{
		{"/ten/bytes", nil}, // 67 as it is kept
		{"/more/bytes", memento.ErrTooLarge},
		{"/b/b/c", memento.ErrTooLarge},
		{"/locked/1", memento.ErrProtected},
		{"/a", nil}, // it is not one of the read-only paths
	} {
		v := v
		v.ID, v.Content, v.Path = memento.VersionID(fmt.Sprint("memver_", i)), "x", c.path
		if c.path != "/a" {
			v.Memory = memento.MemoryID(fmt.Sprint("mem_", i))
		}
		err := b.Import(t.Context(), store, []memento.Version{v})
		failed, ok := errors.AsType[*memento.Error](err)
		if !errors.Is(err, c.want) || c.want != nil && (!ok || failed.Path != c.path) {
			t.Errorf("%s: %v, want %v", c.path, err, c.want)
		}
		if c.want == nil {
			holds(t, b, store, c.path, "x")
		}
	}
}
