package storetest

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"memento"
)

const workspace memento.Workspace = "storetest"

// An env is a backend with one store, for one test.
type env struct {
	testing.TB
	h     Harness
	dir   string
	b     memento.Backend
	store memento.StoreID
	by    memento.Actor

	anyTimes bool // versions may be older than those before them, as imported ones are
}

func newEnv(t testing.TB, h Harness) *env {
	t.Helper()
	e := &env{TB: t, h: h, dir: t.TempDir(), by: memento.Actor{Kind: memento.ActorUser, ID: "tester", Key: "apikey_tester"}}
	e.b = e.open()
	e.store = e.newStore(memento.StoreSpec{Name: "test"})
	return e
}

// open returns another handle, which is closed when the test ends.
func (e *env) open() memento.Backend {
	e.Helper()
	b, err := e.h.Open(e.Context(), e.dir)
	if err != nil {
		e.Fatalf("open: %v", err)
	}
	e.Cleanup(func() {
		if err := b.Close(); err != nil {
			e.Errorf("close: %v", err)
		}
	})
	return b
}

// another returns a second handle on the same data, or the same one if the
// backend is not shared.
func (e *env) another() memento.Backend {
	if !e.h.Shared {
		return e.b
	}
	return e.open()
}

// reopen closes the backend and opens it again, if it can be.
func (e *env) reopen() {
	e.Helper()
	if !e.h.Persistent {
		return
	}
	if err := e.b.Close(); err != nil {
		e.Fatalf("close: %v", err)
	}
	e.b = e.open()
}

func (e *env) newStore(spec memento.StoreSpec) memento.StoreID {
	e.Helper()
	if spec.Settings == nil {
		spec.Settings = unmasked()
	}
	info, err := e.b.CreateStore(e.Context(), workspace, spec)
	if err != nil {
		e.Fatalf("CreateStore: %v", err)
	}
	return info.ID
}

// unmasked returns settings with which a [memento.Store] needs no detector, which no
// backend uses.
func unmasked() *memento.Settings {
	s := memento.DefaultSettings()
	s.Sensitive.Mode = memento.Off
	return &s
}

func (e *env) setSettings(change func(*memento.Settings)) {
	e.Helper()
	s := e.info().Settings
	change(&s)
	if _, err := e.b.UpdateStore(e.Context(), workspace, e.store, memento.StoreUpdate{Settings: &s}); err != nil {
		e.Fatalf("UpdateStore: %v", err)
	}
}

func (e *env) setLimits(l memento.Limits) {
	e.Helper()
	if _, err := e.b.UpdateStore(e.Context(), workspace, e.store, memento.StoreUpdate{Limits: &l}); err != nil {
		e.Fatalf("UpdateStore: %v", err)
	}
}

func (e *env) archive() {
	e.Helper()
	if _, err := e.b.UpdateStore(e.Context(), workspace, e.store, memento.StoreUpdate{Archive: true}); err != nil {
		e.Fatalf("UpdateStore: %v", err)
	}
}

func (e *env) info() memento.StoreInfo {
	e.Helper()
	info, err := e.b.GetStore(e.Context(), workspace, e.store)
	if err != nil {
		e.Fatalf("GetStore: %v", err)
	}
	return info
}

// try applies changes as one.
func (e *env) try(changes ...memento.Change) error {
	_, err := e.b.Apply(e.Context(), e.store, e.by, changes)
	return err
}

// apply applies changes as one, which must succeed.
func (e *env) apply(changes ...memento.Change) []memento.Version {
	e.Helper()
	done, err := e.b.Apply(e.Context(), e.store, e.by, changes)
	if err != nil {
		e.Fatalf("Apply(%v): %v", brief(changes), err)
	}
	return done.Versions
}

// put writes one memory, which must create a version.
func (e *env) put(p memento.Path, content string) memento.Version {
	e.Helper()
	versions := e.apply(memento.Put{Path: p, Content: content})
	if len(versions) != 1 {
		e.Fatalf("Put %s made %d versions, want 1", p, len(versions))
	}
	return versions[0]
}

// fill writes memories in one Apply, each with its path as contents.
func (e *env) fill(paths ...memento.Path) {
	e.Helper()
	changes := make([]memento.Change, len(paths))
	for i, p := range paths {
		changes[i] = memento.Put{Path: p, Content: string(p)}
	}
	e.apply(changes...)
}

// refused applies changes that must fail with want, name the path at, and leave
// no trace.
func (e *env) refused(want error, at memento.Path, changes ...memento.Change) {
	e.Helper()
	before := e.everything()
	err := e.try(changes...)
	if !errors.Is(err, want) {
		e.Errorf("Apply(%v): %v, want %v", brief(changes), err, want)
		return
	}
	if got := pathOf(err); got != at {
		e.Errorf("Apply(%v): %v: error is about %q, want %q", brief(changes), err, got, at)
	}
	if diff := cmp.Diff(before, e.everything()); diff != "" {
		e.Errorf("Apply(%v) failed, but left a trace (-before +after):\n%s", brief(changes), diff)
	}
}

// pathOf returns the path that an error is about.
func pathOf(err error) memento.Path {
	if at, ok := errors.AsType[*memento.PathError](err); ok {
		return memento.Path(at.Path)
	}
	if at, ok := errors.AsType[*memento.Error](err); ok {
		return at.Path
	}
	return ""
}

// brief describes changes without long contents.
func brief(changes []memento.Change) string {
	shown := make([]any, len(changes))
	for i, c := range changes {
		shown[i] = c
		if m, ok := c.(memento.Move); ok && m.Content != nil { // %q would print its address
			shown[i] = []any{m.From, m.To, m.If, *m.Content}
		}
	}
	s := fmt.Sprintf("%q", shown)
	if len(s) > 300 {
		return fmt.Sprintf("%d changes, %s…", len(changes), s[:300])
	}
	return s
}

func (e *env) get(p memento.Path) memento.Memory {
	e.Helper()
	m, err := e.b.Get(e.Context(), e.store, memento.ByPath(p))
	if err != nil {
		e.Fatalf("Get %s: %v", p, err)
	}
	return m
}

func (e *env) missing(p memento.Path) {
	e.Helper()
	if m, err := e.b.Get(e.Context(), e.store, memento.ByPath(p)); !errors.Is(err, memento.ErrNotExist) {
		e.Errorf("Get %s: %+v, %v; want ErrNotExist", p, m, err)
	}
}

// holds checks the contents of all memories, by path.
func (e *env) holds(want map[memento.Path]string) {
	e.Helper()
	got := map[memento.Path]string{}
	for _, x := range e.list(memento.ListOptions{Contents: true}) {
		got[x.Path] = x.Memory.Content
	}
	if diff := cmp.Diff(want, got); diff != "" {
		e.Errorf("memories (-want +got):\n%s", diff)
	}
}

func (e *env) list(opts memento.ListOptions) []memento.Entry {
	e.Helper()
	return all(e, "List", e.b.List(e.Context(), e.store, opts))
}

func (e *env) versions(opts memento.VersionListOptions) []memento.Version {
	e.Helper()
	return all(e, "ListVersions", e.b.ListVersions(e.Context(), e.store, opts))
}

func (e *env) version(id memento.VersionID) memento.Version {
	e.Helper()
	v, err := e.b.GetVersion(e.Context(), e.store, id)
	if err != nil {
		e.Fatalf("GetVersion: %v", err)
	}
	return v
}

// all collects the items of a listing, which must not yield an error.
func all[T any](t testing.TB, what string, seq iter.Seq2[T, error]) []T {
	t.Helper()
	var items []T
	for item, err := range seq {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		items = append(items, item)
	}
	return items
}

// entryPaths returns the paths of entries, those of directories with a slash.
func entryPaths(entries []memento.Entry) []string {
	var paths []string
	for _, x := range entries {
		paths = append(paths, x.Cursor())
	}
	return paths
}

// state is all that the interface shows of a store.
type state struct {
	Info     memento.StoreInfo
	Entries  []memento.Entry
	Versions []memento.Version
}

func (e *env) everything() state {
	e.Helper()
	s := state{e.info(), e.list(memento.ListOptions{Contents: true}), e.versions(memento.VersionListOptions{Contents: true})}
	for i := range s.Entries {
		s.Entries[i].Memory.ReadAt = s.Entries[i].UpdatedAt // it changes without a write
	}
	return s
}

// docs returns the store as one handle reaches it, with the rules of [memento.Store].
func (e *env) docs(b memento.Backend) *memento.Store {
	e.Helper()
	s, err := memento.OpenStore(e.Context(), b, workspace, e.store, nil)
	if err != nil {
		e.Fatalf("OpenStore: %v", err)
	}
	return s
}

// wantError checks which error it is.
func wantError(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

func sortedPaths[V any](m map[memento.Path]V) []memento.Path {
	paths := make([]memento.Path, 0, len(m))
	for p := range m {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	return paths
}
