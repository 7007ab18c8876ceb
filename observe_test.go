package memento_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
	"memento/backend/memstore"
	"memento/maintenance"
	"memento/test/memories"
)

// A witness keeps what it is told.
type witness struct {
	mu   sync.Mutex
	seen []memento.Observation
}

func (w *witness) observe(_ context.Context, o memento.Observation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, o)
}

// told returns what was told since it was last asked.
func (w *witness) told() []memento.Observation {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = nil
	return seen
}

// ops returns which operations were told since it was last asked.
func (w *witness) ops() (ops []string) {
	for _, o := range w.told() {
		ops = append(ops, o.Op)
	}
	return ops
}

// watched returns a store that is watched, its ID and its witness.
func watched(t *testing.T, b memento.Backend) (*memento.Store, memento.StoreID, *witness) {
	t.Helper()
	w := &witness{}
	opts := memories.Guarded()
	opts.Observe = w.observe
	s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, opts)
	id, err := s.Ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if told := w.told(); len(told) != 0 {
		t.Fatalf("told of looking it up: %+v", told)
	}
	return s, id, w
}

// Every call is told once, with what it came to.
func TestObserve(t *testing.T) {
	b := memstore.New(nil)
	s, id, w := watched(t, b)
	memories.Put(t, s, "/a", "one")
	memories.Put(t, s, "/a", "two")
	memories.Put(t, s, "/b", "three")
	first := memories.Versions(t, s, memento.VersionListOptions{})[0]
	w.told()
	ctx := t.Context()
	tests := []struct {
		op  string
		do  func() error
		err error
	}{
		{"get", func() error { _, err := s.Get(ctx, memento.ByPath("/a")); return err }, nil},
		{"get", func() error { _, err := s.Get(ctx, memento.ByPath("/missing")); return err }, memento.ErrNotExist},
		{"list", func() error { return lastError(s.List(ctx, memento.ListOptions{})) }, nil},
		{"list", func() error {
			for _, err := range s.List(ctx, memento.ListOptions{}) {
				return err // its caller goes away
			}
			return nil
		}, nil},
		{"search", func() error { _, err := s.Search(ctx, memento.SearchOptions{Query: "two"}); return err }, nil},
		{"get version", func() error { _, err := s.Version(ctx, first.ID); return err }, nil},
		{"get version", func() error { _, err := s.Version(ctx, "memver_unknown"); return err }, memento.ErrNotExist},
		{"list versions", func() error { return lastError(s.Versions(ctx, memento.VersionListOptions{})) }, nil},
		{"redact", func() error { _, err := s.Redact(ctx, first.ID, ann); return err }, nil},
		{"redact", func() error { _, err := s.Redact(ctx, "memver_unknown", ann); return err }, memento.ErrNotExist},
		{"apply", func() error { _, err := s.Apply(ctx, ann, memento.Put{Path: "/c", Content: "x"}); return err }, nil},
		{"apply", func() error { _, err := s.Apply(ctx, ann); return err }, nil},
		{"apply", func() error { _, err := s.Apply(ctx, ann, memento.Remove{Path: "/missing"}); return err }, memento.ErrNotExist},
		{"import", func() error { _, err := s.Import(ctx, nil); return err }, nil},
		{"import", func() error { _, err := s.Import(ctx, []memento.Version{{}}); return err }, memento.ErrInvalid},
		{"prune", func() error { _, err := maintenance.PruneHistory(ctx, s, time.Now(), false); return err }, nil},
	}
	for _, tt := range tests {
		before := time.Now()
		err := tt.do()
		if !errors.Is(err, tt.err) || tt.err == nil && err != nil {
			t.Errorf("%s: %v, want %v", tt.op, err, tt.err)
		}
		told := w.told()
		if len(told) != 1 {
			t.Errorf("%s: told %+v", tt.op, told)
			continue
		}
		o := told[0]
		if o.Op != tt.op || o.Store != id || o.Err != err {
			t.Errorf("%s: told %+v; its caller got %v", tt.op, o, err)
		}
		if o.Start.Before(before) || o.Took < 0 || o.Start.Add(o.Took).After(time.Now()) {
			t.Errorf("%s: from %v, for %v", tt.op, o.Start, o.Took)
		}
	}

	// What does more asks more, and what is refused before asks nothing.
	for name, tt := range map[string]struct {
		do   func() error
		want []string
	}{
		"edit": {func() error {
			_, err := s.Edit(ctx, ann, "/b", func(old string) (string, error) { return old + "x", nil })
			return err
		}, []string{"get", "apply"}},
		"delete":       {func() error { return s.DeleteMemory(ctx, ann, idOf(b, id, "/c"), "") }, []string{"get", "apply"}},
		"path":         {func() error { _, _ = s.Get(ctx, memento.ByPath("a//b")); return nil }, nil},
		"listing":      {func() error { _ = lastError(s.List(ctx, memento.ListOptions{Dir: "a"})); return nil }, nil},
		"detector":     {func() error { _, _ = s.Apply(ctx, ann, memento.Put{Path: "/" + testKey}); return nil }, nil},
		"information":  {func() error { _, err := s.Info(ctx); return err }, nil},
		"what is kept": {func() error { _, err := maintenance.PruneHistory(ctx, s, time.Now(), true); return err }, []string{"prune"}},
	} {
		if err := tt.do(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tt.want, w.ops()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}

	// Of a store that is gone, every call fails, and is told.
	if err := b.DeleteStore(ctx, workspace, id); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		lastError(s.List(ctx, memento.ListOptions{})), lastError(s.Versions(ctx, memento.VersionListOptions{})),
	} {
		if !errors.Is(err, memento.ErrNoStore) {
			t.Error(err)
		}
	}
	for _, o := range w.told() {
		if !errors.Is(o.Err, memento.ErrNoStore) {
			t.Errorf("%s: told of %v", o.Op, o.Err)
		}
	}
}

func lastError[T any](seq func(func(T, error) bool)) (last error) {
	for _, err := range seq {
		last = err
	}
	return last
}

func idOf(b memento.Backend, store memento.StoreID, p memento.Path) memento.MemoryID {
	m, _ := b.Get(context.Background(), store, memento.ByPath(p))
	return m.ID
}

// An apply is told with its receipt, but not with what was never written.
func TestObserveReceipts(t *testing.T) {
	b := memstore.New(nil)
	s, id, w := watched(t, b)
	r, err := s.Apply(t.Context(), ann, memento.Put{Path: "/a", Content: testKey})
	if err != nil {
		t.Fatal(err)
	}
	told := w.told()
	if len(told) != 1 || len(told[0].Receipt.Masked) != 1 {
		t.Fatalf("told %+v", told)
	}
	if diff := cmp.Diff(r.Applied, told[0].Receipt.Applied); diff != "" {
		t.Error("versions and usage (-returned +told):\n" + diff)
	}
	if diff := cmp.Diff(r.Masked, told[0].Receipt.Masked); diff != "" {
		t.Error("masked (-returned +told):\n" + diff)
	}
	if _, err := s.Apply(t.Context(), ann, memento.Put{Path: "/a", Content: testKey, If: memento.IfAbsent()}); !errors.Is(err, memento.ErrExist) {
		t.Fatal(err)
	}
	told = w.told()
	if len(told) != 1 || !errors.Is(told[0].Err, memento.ErrExist) || told[0].Receipt.Masked != nil || told[0].Receipt.Versions != nil {
		t.Errorf("of what was refused: %+v", told)
	}

	// By settings that do not hold any more, the backend is asked again.
	settings := memento.DefaultSettings()
	settings.Sensitive.Mode = memento.Off
	if _, err := b.UpdateStore(t.Context(), workspace, id, memento.StoreUpdate{Settings: &settings}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), ann, memento.Put{Path: "/b", Content: testKey}); err != nil {
		t.Fatal(err)
	}
	told = w.told()
	if len(told) != 2 || !errors.Is(told[0].Err, memento.ErrConflict) || told[1].Err != nil || len(told[1].Receipt.Versions) != 1 || told[1].Receipt.Masked != nil {
		t.Errorf("of a change by other rules: %+v", told)
	}

	// An import, and what a scan has found, are told as well.
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	v := memento.Version{ID: "memver_1", Memory: "mem_1", Operation: memento.Created, Path: "/c", Content: "text", SHA256: memento.HashContent("text"), CreatedAt: at}
	if _, err := s.Import(t.Context(), []memento.Version{v}); err != nil {
		t.Fatal(err)
	}
	if ops := w.ops(); !cmp.Equal(ops, []string{"import"}) {
		t.Errorf("an import: %q", ops)
	}
	fixed := 0
	for x, err := range s.Scan(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		fixed++
		w.told()
		if err := s.Fix(t.Context(), ann, x, false); err != nil {
			t.Fatal(err)
		}
		told := w.told()
		if len(told) != 3 || told[0].Op != "get version" || told[1].Op != "apply" || len(told[1].Receipt.Versions) != 1 || told[2].Op != "redact" {
			t.Errorf("a fix: %+v", told)
		}
	}
	if fixed != 1 {
		t.Errorf("%d versions were fixed, want 1", fixed)
	}
}

// A store that keeps no history prunes after every write.
func TestObserveForgetting(t *testing.T) {
	s, b := screened(t, func(s *memento.Settings) { s.Retention = memento.Retention{} })
	id, err := s.Ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{}
	opts := memories.Guarded()
	opts.Observe = w.observe
	if s, err = memento.OpenStore(t.Context(), b, workspace, id, opts); err != nil {
		t.Fatal(err)
	}
	memories.Put(t, s, "/a", "one")
	if ops := w.ops(); !cmp.Equal(ops, []string{"apply", "prune"}) {
		t.Errorf("told %q", ops)
	}
}

// Nobody need watch.
func TestNobodyObserves(t *testing.T) {
	s := memento.OpenNamed(memstore.New(nil), workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded())
	memories.Put(t, s, "/a", "one")
	reads, writes := everyUse(t, s)
	for name, err := range writes {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"Get", "List", "Versions", "Search", "Edit"} {
		if err := reads[name]; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
