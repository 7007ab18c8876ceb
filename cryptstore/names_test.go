package cryptstore_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"memento"
	"memento/cryptstore"
	"memento/memstore"
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
}
