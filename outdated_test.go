package memento_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"memento"
	"memento/backend/memstore"
)

// TestRulesChangedByOthers refuses and allows by the limits and settings that hold,
// whatever a Store has seen of them before.
func TestRulesChangedByOthers(t *testing.T) {
	b := memstore.New(nil)
	s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes", Limits: memento.Limits{MemoryBytes: 10}}, guarded())
	mustPut(t, s, "/a", "0123456789")
	id, err := s.ID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	set := func(u memento.StoreUpdate) {
		t.Helper()
		if _, err := b.UpdateStore(t.Context(), workspace, id, u); err != nil {
			t.Fatal(err)
		}
	}
	sensitive := func(mode memento.SensitiveMode, allow ...string) {
		settings := memento.DefaultSettings()
		settings.Sensitive = memento.Sensitive{Mode: mode, Allow: allow}
		set(memento.StoreUpdate{Settings: &settings})
	}
	put := func(p memento.Path, text string) (memento.Receipt, error) {
		return s.Apply(t.Context(), nobody, memento.Put{Path: p, Content: text})
	}
	limited := func(want memento.LimitError, err error) {
		t.Helper()
		if got, ok := errors.AsType[*memento.LimitError](err); !ok || *got != want {
			t.Errorf("%v, want %v", err, &want)
		}
	}

	_, err = put("/b", "0123456789a")
	limited(memento.LimitError{Limit: memento.LimitMemoryBytes, Max: 10, Want: 11}, err)
	set(memento.StoreUpdate{Limits: &memento.Limits{MemoryBytes: 20}})
	if _, err = put("/b", "0123456789a"); err != nil {
		t.Errorf("after the limit was raised: %v", err)
	}
	set(memento.StoreUpdate{Limits: &memento.Limits{MemoryBytes: 5}})
	_, err = put("/c", "0123456")
	limited(memento.LimitError{Limit: memento.LimitMemoryBytes, Max: 5, Want: 7}, err)
	if _, err = put("/a", "9876543210"); err != nil {
		t.Errorf("no larger than it was: %v", err)
	}
	set(memento.StoreUpdate{Limits: &memento.Limits{}})

	key := testKey
	sensitive(memento.Reject)
	if _, err = put("/k", key); !errors.Is(err, memento.ErrSensitive) {
		t.Errorf("rejecting: %v", err)
	}
	sensitive(memento.Reject, key)
	if _, err = put("/k", key); err != nil {
		t.Errorf("allowed by now: %v", err)
	}
	if _, err = put(memento.Path("/"+key), "x"); err != nil {
		t.Errorf("a path allowed by now: %v", err)
	}
	sensitive(memento.Mask)
	r, err := put("/k", "a "+key)
	if err != nil || len(r.Masked) != 1 || contents(t, s)["/k"] != "a "+testKeyMark {
		t.Errorf("masking: %+v, %v", r.Masked, err)
	}
	sensitive(memento.Off)
	if _, err = memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, nil).Apply(t.Context(), nobody, memento.Put{Path: "/k", Content: key}); err != nil {
		t.Errorf("looking for nothing: %v", err)
	}
}

// TestTooLargeIsJudgedByTheBackend: of several things that are wrong, the first is
// told, as with contents of any size, and nothing happens.
func TestTooLargeIsJudgedByTheBackend(t *testing.T) {
	large := strings.Repeat("x", 41)
	put := func(p memento.Path, c memento.Condition) memento.Put {
		return memento.Put{Path: p, Content: large, If: c}
	}
	for i, tt := range []struct {
		want    error
		at      memento.Path
		changes []memento.Change
	}{
		{memento.ErrTooLarge, "/c", []memento.Change{put("/c", memento.Condition{})}},
		{memento.ErrTooLarge, "/a", []memento.Change{put("/a", memento.IfSHA256(memento.HashContent("one")))}},
		{memento.ErrConflict, "/a", []memento.Change{put("/a", memento.IfSHA256(memento.HashContent("two")))}},
		{memento.ErrExist, "/a", []memento.Change{put("/a", memento.IfAbsent())}},
		{memento.ErrIsDir, "/dir", []memento.Change{put("/dir", memento.Condition{})}},
		{memento.ErrNotDir, "/a", []memento.Change{put("/a/b", memento.Condition{})}},
		{memento.ErrInvalidPath, "/a//b", []memento.Change{put("/a//b", memento.Condition{})}},
		{memento.ErrNotExist, "/none", []memento.Change{memento.Remove{Path: "/none"}, put("/c", memento.Condition{})}},
		{memento.ErrTooLarge, "/c", []memento.Change{memento.Remove{Path: "/a"}, put("/c", memento.Condition{}), memento.Remove{Path: "/none"}}},
		{memento.ErrTooLarge, "/c", []memento.Change{memento.Move{From: "/a", To: "/c", Content: &large}}},
		{memento.ErrNotExist, "/none", []memento.Change{memento.Move{From: "/none", To: "/c", Content: &large}}},
		{memento.ErrIsDir, "/dir", []memento.Change{memento.Move{From: "/dir", To: "/c", Content: &large}}},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			s := memento.OpenNamed(memstore.New(nil), workspace, memento.StoreSpec{Name: "notes", Limits: memento.Limits{MemoryBytes: 40}}, guarded())
			mustPut(t, s, "/a", "one")
			mustPut(t, s, "/dir/b", "two")
			_, err := s.Apply(t.Context(), nobody, tt.changes...)
			isAbout(t, err, tt.want, tt.at)
			if held := contents(t, s); len(held) != 2 || held["/a"] != "one" {
				t.Errorf("it left %v", held)
			}
		})
	}
}
