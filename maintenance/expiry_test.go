package maintenance_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
	"memento/backend/memstore"
	"memento/history"
	"memento/maintenance"
	"memento/test/memories"
)

const day = 24 * time.Hour

// aged returns a store whose clock is the caller's to move.
func aged(t *testing.T, expiry memento.Expiry) (s *memento.Store, b memento.Backend, now *time.Time) {
	t.Helper()
	now = new(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	b = memstore.New(&memstore.Options{Now: func() time.Time { return *now }})
	t.Cleanup(func() { b.Close() })
	settings := memento.DefaultSettings()
	settings.Expiry = expiry
	return memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes", Settings: &settings}, memories.Guarded()), b, now
}

func expiredPaths(t *testing.T, s *memento.Store, at time.Time, dryRun bool) (paths []memento.Path) {
	t.Helper()
	expired, err := maintenance.Expire(t.Context(), s, at, dryRun)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range expired {
		paths = append(paths, x.Memory.Path)
	}
	return paths
}

func TestExpire(t *testing.T) {
	s, _, now := aged(t, memento.Expiry{After: 30 * day, Keep: []memento.Pattern{"/profile.md", "*.key"}})
	memories.Put(t, s, "/old.md", "old")
	memories.Put(t, s, "/profile.md", "kept")
	memories.Put(t, s, "/keys/a.key", "kept")
	memories.Put(t, s, "/read.md", "read")
	*now = now.Add(10 * day)
	memories.Put(t, s, "/written.md", "v1")
	*now = now.Add(19 * day)
	if _, err := s.Get(t.Context(), memento.ByPath("/read.md")); err != nil {
		t.Fatal(err)
	}
	if got := expiredPaths(t, s, *now, true); got != nil {
		t.Errorf("on day 29 %q expire", got)
	}
	*now = now.Add(day)
	if got := expiredPaths(t, s, *now, true); got != nil {
		t.Errorf("on day 30, which a coarse read time may not show, %q expire", got)
	}
	*now = now.Add(time.Hour)
	if got := expiredPaths(t, s, *now, true); !cmp.Equal(got, []memento.Path{"/old.md"}) {
		t.Errorf("an hour later %q expire, want /old.md", got)
	}
	// A dry run can look ahead, and changes nothing.
	if got := expiredPaths(t, s, now.Add(60*day), true); !cmp.Equal(got, []memento.Path{"/old.md", "/written.md", "/read.md"}) {
		t.Errorf("on day 90 %q expire, want the longest unused first", got)
	}
	expired, err := maintenance.Expire(t.Context(), s, *now, false)
	if err != nil || len(expired) != 1 || expired[0].Memory.Size != 3 || now.Sub(expired[0].Used) != 30*day+time.Hour {
		t.Fatalf("Expire: %+v, %v", expired, err)
	}
	want := map[memento.Path]string{"/profile.md": "kept", "/keys/a.key": "kept", "/read.md": "read", "/written.md": "v1"}
	if diff := cmp.Diff(want, memories.Contents(t, s)); diff != "" {
		t.Errorf("memories (-want +got):\n%s", diff)
	}
	// The system did it, and it can be undone.
	var made, gone memento.Version
	for v, err := range s.Versions(t.Context(), memento.VersionListOptions{Memory: expired[0].Memory.ID}) {
		if err != nil {
			t.Fatal(err)
		}
		if v.Operation == memento.Deleted {
			gone = v
		} else {
			made = v
		}
	}
	if gone.CreatedBy != (memento.Actor{Kind: memento.ActorSystem, ID: "expiry"}) {
		t.Errorf("expired by %v", gone.CreatedBy)
	}
	if p, _, err := history.RestoreVersion(t.Context(), s, memento.Actor{}, made.ID); err != nil || p != "/old.md" {
		t.Errorf("restored %q, %v", p, err)
	}
	if got := expiredPaths(t, s, *now, true); got != nil {
		t.Errorf("restored, but %q expire at once", got)
	}
}

func TestExpireLeavesAlone(t *testing.T) {
	never, _, now := aged(t, memento.Expiry{})
	memories.Put(t, never, "/a", "x")
	if got := expiredPaths(t, never, now.Add(1e6*time.Hour), false); got != nil {
		t.Errorf("without a rule %q expired", got)
	}

	s, b, now := aged(t, memento.Expiry{After: day})
	memories.Put(t, s, "/rules/a", "x")
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	info.Settings.ReadOnly = []memento.Pattern{"/rules"}
	if _, err := b.UpdateStore(t.Context(), workspace, info.ID, memento.StoreUpdate{Settings: &info.Settings}); err != nil {
		t.Fatal(err)
	}
	if got := expiredPaths(t, s, now.Add(10*day), false); got != nil {
		t.Errorf("read-only, but %q expired", got)
	}

	// What is written between the look and the removal stays.
	raced, inner, now := aged(t, memento.Expiry{After: day})
	memories.Put(t, raced, "/a", "x")
	m := &memories.Meddler{Backend: inner}
	m.Meddle = func() { memories.Put(t, raced, "/a", "y") }
	outrun := memento.OpenNamed(m, workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded())
	if got := expiredPaths(t, outrun, now.Add(10*day), false); got != nil || memories.Contents(t, raced)["/a"] != "y" {
		t.Errorf("%q expired, though it was written meanwhile", got)
	}
	missing := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "missing"}, nil)
	if got := expiredPaths(t, missing, *now, false); got != nil {
		t.Errorf("of a store that does not exist %q expired", got)
	}
}

func TestMaintain(t *testing.T) {
	s, b, now := aged(t, memento.Expiry{After: day})
	memories.Put(t, s, "/a", "1")
	memories.Put(t, s, "/a", "2")
	memories.Put(t, s, "/b", "x")
	settings := memento.DefaultSettings()
	settings.Retention = memento.Retention{Age: day, Versions: 1}
	other := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "other", Settings: &settings}, memories.Guarded())
	memories.Put(t, other, "/a", "1")
	memories.Put(t, other, "/a", "2")
	*now = now.Add(2 * day)
	type done struct {
		Expired  int
		Versions int64
	}
	got := map[string]done{}
	for u, err := range maintenance.New(b, maintenance.Options{Force: true}).Run(t.Context(), workspace, maintenance.ClockCheck{At: *now}) {
		if err != nil {
			t.Error(err)
		}
		got[u.Store.Name] = done{len(u.Expired), u.Pruned.Versions}
	}
	want := map[string]done{"notes": {Expired: 2}, "other": {Versions: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
}

// To be imported is to be used: what is old need not go at once.
func TestImportedMemoriesDoNotExpireAtOnce(t *testing.T) {
	s, _, now := aged(t, memento.Expiry{After: day})
	old := memento.Version{ID: "memver_1", Memory: "mem_1", Operation: memento.Created, Path: "/a", SHA256: memento.HashContent(""), CreatedAt: now.Add(-100 * day)}
	if _, err := s.Import(t.Context(), []memento.Version{old}); err != nil {
		t.Fatal(err)
	}
	if got := expiredPaths(t, s, *now, true); got != nil {
		t.Errorf("%q expire", got)
	}
	if got := expiredPaths(t, s, now.Add(day+time.Hour), true); len(got) != 1 {
		t.Errorf("a day later %q expire", got)
	}
}
