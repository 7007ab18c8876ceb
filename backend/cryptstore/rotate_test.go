package cryptstore_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/backend/cryptstore"
	"memento/backend/memstore"
)

func encryption(t testing.TB, b memento.Backend) *cryptstore.Backend {
	t.Helper()
	c, ok := cryptstore.Of(b)
	if !ok {
		t.Fatal("it is not encrypted")
	}
	return c
}

func keysInUse(t *testing.T, b memento.Backend) map[string]int {
	t.Helper()
	use, err := encryption(t, b).KeysInUse(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return use
}

func TestRotate(t *testing.T) {
	inner := memstore.New(nil)
	defer inner.Close()
	old := newRing(t)
	b := wrap(t, inner, old, nil)
	stores := map[memento.StoreID]memento.Workspace{}
	for i := range 6 {
		ws := workspace
		if i%2 == 1 {
			ws = "another"
		}
		id := newStore(t, b, ws)
		stores[id] = ws
		apply(t, b, id, memento.Put{Path: "/a", Content: "text"})
		if i == 0 {
			if _, err := b.UpdateStore(t.Context(), ws, id, memento.StoreUpdate{Archive: true}); err != nil {
				t.Fatal(err)
			}
		}
	}
	describe := func() (infos []memento.StoreInfo) {
		for id, ws := range stores {
			info, err := b.GetStore(t.Context(), ws, id)
			if err != nil {
				t.Fatal(err)
			}
			infos = append(infos, info)
		}
		return infos
	}
	updated := map[memento.StoreID]time.Time{}
	for _, info := range describe() {
		updated[info.ID] = info.UpdatedAt
	}
	both, id, err := old.Add(true)
	if err != nil {
		t.Fatal(err)
	}
	next := wrap(t, inner, both, nil)

	// Cut off after two stores, and called again.
	ctx, cancel := context.WithCancel(t.Context())
	done, err := encryption(t, next).Rotate(ctx, &cryptstore.RotateOptions{Progress: func(done, total int) {
		if done == 2 {
			cancel()
		}
		if total != 6 {
			t.Errorf("%d of %d stores", done, total)
		}
	}})
	if !errors.Is(err, context.Canceled) || done.Rewrapped != 2 {
		t.Errorf("cut off: %+v, %v", done, err)
	}
	if use := keysInUse(t, next); use[old.Primary()] != 4 || use[id] != 2 {
		t.Errorf("keys in use: %v", use)
	}
	if done, err = encryption(t, next).Rotate(t.Context(), nil); err != nil || done != (cryptstore.Rotated{Stores: 6, Rewrapped: 4}) {
		t.Errorf("called again: %+v, %v", done, err)
	}
	if done, err = encryption(t, next).Rotate(t.Context(), nil); err != nil || done != (cryptstore.Rotated{Stores: 6}) {
		t.Errorf("once more: %+v, %v", done, err)
	}
	for _, info := range describe() {
		if !info.UpdatedAt.Equal(updated[info.ID]) {
			t.Errorf("store %s seems to be updated at %v", info.ID, info.UpdatedAt)
		}
	}
	// The old key is needed no more.
	alone, err := both.Remove(old.Primary())
	if err != nil {
		t.Fatal(err)
	}
	last := wrap(t, inner, alone, nil)
	for id := range stores {
		holds(t, last, id, "/a", "text")
	}
	if use := keysInUse(t, last); len(use) != 1 || use[id] != 6 {
		t.Errorf("keys in use: %v", use)
	}
	// A store that cannot be done does not keep the others.
	foreign := newStore(t, inner, workspace) // without encryption
	more, _, err := alone.Add(true)
	if err != nil {
		t.Fatal(err)
	}
	c := encryption(t, last)
	if _, err := c.Rotate(t.Context(), nil); !errors.Is(err, memento.ErrDecrypt) {
		t.Errorf("with a store without encryption: %v", err)
	}
	if err := inner.DeleteStore(t.Context(), workspace, foreign); err != nil {
		t.Fatal(err)
	}
	if done, err := encryption(t, wrap(t, inner, more, nil)).Rotate(t.Context(), &cryptstore.RotateOptions{Workspace: "another"}); err != nil || done.Rewrapped != 3 {
		t.Errorf("one workspace: %+v, %v", done, err)
	}
}

// A write to a store whose keys are wrapped with an older key wraps them again.
func TestRotatedByWriters(t *testing.T) {
	inner := memstore.New(nil)
	defer inner.Close()
	old := newRing(t)
	b := wrap(t, inner, old, nil)
	written, left := newStore(t, b, workspace), newStore(t, b, workspace)
	both, id, err := old.Add(true)
	if err != nil {
		t.Fatal(err)
	}
	next := wrap(t, inner, both, nil)
	if _, err := next.Get(t.Context(), left, memento.ByPath("/a")); !errors.Is(err, memento.ErrNotExist) {
		t.Error(err)
	}
	apply(t, next, written, memento.Put{Path: "/a", Content: "text"})
	if use := keysInUse(t, next); use[id] != 1 || use[old.Primary()] != 1 {
		t.Errorf("keys in use: %v", use)
	}
	holds(t, next, written, "/a", "text")
}

func TestDataKeys(t *testing.T) {
	inner := memstore.New(nil)
	defer inner.Close()
	ring := newRing(t)
	b := wrap(t, inner, ring, nil)
	other := wrap(t, inner, ring, nil) // which knows the keys as they are now
	store := newStore(t, b, workspace)
	first := apply(t, b, store, memento.Put{Path: "/a", Content: "before"})[0]
	holds(t, other, store, "/a", "before")

	start := time.Now().Add(time.Hour)
	for range 3 {
		done, err := encryption(t, b).Rotate(t.Context(), &cryptstore.RotateOptions{DataKeys: true, Before: start})
		if err != nil || done != (cryptstore.Rotated{Stores: 1, DataKeys: 1}) {
			t.Fatalf("%+v, %v", done, err)
		}
	}
	if done, err := encryption(t, b).Rotate(t.Context(), &cryptstore.RotateOptions{DataKeys: true, Before: time.Now().Add(-time.Hour)}); err != nil || done.DataKeys != 0 {
		t.Errorf("a store that has a new key already: %+v, %v", done, err)
	}
	apply(t, b, store, memento.Put{Path: "/b", Content: "after"})
	holds(t, other, store, "/b", "after") // by a key that it does not know yet
	holds(t, other, store, "/a", "before")
	apply(t, other, store, memento.Put{Path: "/a", Content: "later", If: memento.IfSHA256(memento.HashContent("before"))})
	holds(t, b, store, "/a", "later")
	if v, err := other.GetVersion(t.Context(), store, first.ID); err != nil || v.Content != "before" {
		t.Errorf("%+v, %v", v, err)
	}
	if made := apply(t, b, store, memento.Put{Path: "/b", Content: "after"}); len(made) != 0 {
		t.Errorf("the same text made %+v", made)
	}
}

// Keys change again and again while others read and write.
func TestRotateUnderWriters(t *testing.T) {
	dir := t.TempDir()
	k := kindNamed("sqlitestore")
	b, err := k.wrapped(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	another, err := k.wrapped(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer another.Close()
	store := newStore(t, b, workspace)
	ring, err := cryptstore.OpenKeyFile(filepath.Join(dir, "keys.json"))
	if err != nil {
		t.Fatal(err)
	}
	inner, err := k.open(t.Context(), filepath.Join(dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	rotator := wrap(t, inner, ring, nil)
	defer rotator.Close()

	var done atomic.Bool
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			b := []memento.Backend{b, another}[i%2]
			p := memento.Path(fmt.Sprint("/", i))
			for n := 0; !done.Load(); n++ {
				text := fmt.Sprint("text ", n)
				if _, err := b.Apply(t.Context(), store, ann, []memento.Change{memento.Put{Path: p, Content: text}}); err != nil {
					t.Errorf("put: %v", err)
					return
				}
				if m, err := b.Get(t.Context(), store, memento.ByPath(p)); err != nil || m.Content != text {
					t.Errorf("read %q, %v, want %q", m.Content, err, text)
					return
				}
			}
		})
	}
	for range 20 {
		if r, err := encryption(t, rotator).Rotate(t.Context(), &cryptstore.RotateOptions{DataKeys: true}); err != nil || r.DataKeys != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	done.Store(true)
	wg.Wait()
	n := 0
	for v, err := range rotator.ListVersions(t.Context(), store, memento.VersionListOptions{Contents: true}) {
		if n++; err != nil || v.SHA256 != memento.HashContent(v.Content) {
			t.Fatalf("%+v, %v", v, err)
		}
	}
	t.Logf("%d versions under 21 keys", n)
}

// What is imported into a store that another process has just copied back is sealed by
// the keys that the store has now.
func TestImportIntoCopy(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			k.need(t)
			inner, err := k.open(t.Context(), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer inner.Close()
			ring, opts := newRing(t), &cryptstore.Options{EncryptNames: k.names}
			b, other := wrap(t, inner, ring, opts), wrap(t, inner, ring, opts)
			store := newStore(t, b, workspace)
			v := apply(t, b, store, memento.Put{Path: "/a", Content: "text"})[0]
			holds(t, other, store, "/a", "text") // by keys that are destroyed now
			if err := b.DeleteStore(t.Context(), workspace, store); err != nil {
				t.Fatal(err)
			}
			if _, err := b.CreateStore(t.Context(), workspace, memento.StoreSpec{Name: "copy", ID: store}); err != nil {
				t.Fatal(err)
			}
			v.Content = "text"
			if err := other.Import(t.Context(), store, []memento.Version{v}); err != nil {
				t.Fatal(err)
			}
			holds(t, b, store, "/a", "text")
			holds(t, other, store, "/a", "text")
		})
	}
}

// An envelope that names another key than the one it needs does not pass for done.
func TestRotateNoticesOtherKey(t *testing.T) {
	inner := memstore.New(nil)
	defer inner.Close()
	old := newRing(t)
	store := newStore(t, wrap(t, inner, old, nil), workspace)
	both, id, err := old.Add(true)
	if err != nil {
		t.Fatal(err)
	}
	next := wrap(t, inner, both, nil)
	info, err := inner.GetStore(t.Context(), workspace, store)
	if err != nil {
		t.Fatal(err)
	}
	says := strings.Replace(info.Envelope, old.Primary(), id, 1)
	if _, err := inner.UpdateStore(t.Context(), workspace, store, memento.StoreUpdate{Envelope: &says}); err != nil {
		t.Fatal(err)
	}
	if done, err := encryption(t, next).Rotate(t.Context(), nil); !errors.Is(err, memento.ErrDecrypt) {
		t.Errorf("%+v, %v", done, err)
	}
}
