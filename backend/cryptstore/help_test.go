package cryptstore_test

import (
	"bytes"
	"context"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"memento"
	"memento/backend"
	"memento/backend/cryptstore"
	"memento/backend/memstore"
)

const workspace memento.Workspace = "test"

var ann = memento.Actor{Kind: memento.ActorUser, ID: "ann"}

// An attacked backend shows what somebody with access to the storage has made of it.
type attacked struct {
	memento.Backend
	backend.WorkspaceLister
	backend.SealedImporter
	memory  func(*memento.Memory)
	version func(*memento.Version)
	placed  func(memento.Workspace, memento.StoreID) (memento.Workspace, memento.StoreID) // the store that is found in place of another
}

func newAttacked(inner *memstore.Backend) *attacked {
	return &attacked{Backend: inner, WorkspaceLister: inner, SealedImporter: inner}
}

func (a *attacked) GetStore(ctx context.Context, ws memento.Workspace, id memento.StoreID) (memento.StoreInfo, error) {
	if a.placed == nil {
		return a.Backend.GetStore(ctx, ws, id)
	}
	ws, id = a.placed(ws, id)
	return a.Backend.GetStore(ctx, ws, id)
}

func (a *attacked) Get(ctx context.Context, store memento.StoreID, ref memento.Ref) (memento.Memory, error) {
	m, err := a.Backend.Get(ctx, store, ref)
	if a.memory != nil && err == nil {
		a.memory(&m)
	}
	return m, err
}

func (a *attacked) List(ctx context.Context, store memento.StoreID, opts memento.ListOptions) iter.Seq2[memento.Entry, error] {
	return func(yield func(memento.Entry, error) bool) {
		for e, err := range a.Backend.List(ctx, store, opts) {
			if a.memory != nil && err == nil && !e.Dir {
				a.memory(&e.Memory)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (a *attacked) GetVersion(ctx context.Context, store memento.StoreID, id memento.VersionID) (memento.Version, error) {
	v, err := a.Backend.GetVersion(ctx, store, id)
	if a.version != nil && err == nil {
		a.version(&v)
	}
	return v, err
}

func (a *attacked) ListVersions(ctx context.Context, store memento.StoreID, opts memento.VersionListOptions) iter.Seq2[memento.Version, error] {
	return func(yield func(memento.Version, error) bool) {
		for v, err := range a.Backend.ListVersions(ctx, store, opts) {
			if a.version != nil && err == nil {
				a.version(&v)
			}
			if !yield(v, err) {
				return
			}
		}
	}
}

func newRing(t testing.TB) *cryptstore.Keys {
	t.Helper()
	ring, err := cryptstore.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func wrap(t testing.TB, inner memento.Backend, ring cryptstore.KeyRing, opts *cryptstore.Options) memento.Backend {
	t.Helper()
	b, err := cryptstore.Wrap(t.Context(), inner, ring, opts)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newStore(t testing.TB, b memento.Backend, ws memento.Workspace) memento.StoreID {
	t.Helper()
	info, err := b.CreateStore(t.Context(), ws, memento.StoreSpec{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return info.ID
}

func apply(t testing.TB, b memento.Backend, store memento.StoreID, changes ...memento.Change) []memento.Version {
	t.Helper()
	done, err := b.Apply(t.Context(), store, ann, changes)
	if err != nil {
		t.Fatal(err)
	}
	return done.Versions
}

// holds checks what a memory holds.
func holds(t testing.TB, b memento.Backend, store memento.StoreID, p memento.Path, want string) {
	t.Helper()
	m, err := b.Get(t.Context(), store, memento.ByPath(p))
	if err != nil || m.Content != want || m.SHA256 != memento.HashContent(want) || m.Digest != "" {
		t.Errorf("%s is %+v, %v, want %q", p, m, err, want)
	}
}

// everyByte returns the contents of all files below a directory.
func everyByte(t testing.TB, dir string) []byte {
	t.Helper()
	var all bytes.Buffer
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		all.WriteString(path + "\n")
		if d.IsDir() {
			return nil
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.Bytes()
}

// onlyStore is a backend whose listings have one of its stores.
type onlyStore struct {
	*memstore.Backend
	store memento.StoreID
}

func (o onlyStore) ListStores(ctx context.Context, ws memento.Workspace, opts memento.StoreListOptions) iter.Seq2[memento.StoreInfo, error] {
	return func(yield func(memento.StoreInfo, error) bool) {
		yield(o.GetStore(ctx, ws, o.store))
	}
}
