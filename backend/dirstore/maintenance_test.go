package dirstore

import (
	"os"
	"testing"
	"time"

	"memento"
	"memento/history"
	"memento/maintenance"

	"github.com/google/go-cmp/cmp"
)

// An unmanaged file neither expires nor stops the expiry of memories, and a restoration
// does not touch it.
func TestMaintenanceBesideForeignFiles(t *testing.T) {
	s := newSite(t)
	s.write("binary", "\xff\xfe")
	old := time.Now().Add(-1000 * time.Hour)
	s.do(os.Chtimes(s.file("binary"), old, old))
	s.put("/old", "x")
	then := time.Now()
	time.Sleep(2 * time.Millisecond)
	s.put("/new", "y")

	settings := memento.DefaultSettings()
	settings.Expiry.After = time.Hour
	if _, err := s.b.UpdateStore(t.Context(), memento.DefaultWorkspace, s.store, memento.StoreUpdate{Settings: &settings}); err != nil {
		t.Fatal(err)
	}
	store, err := memento.OpenStore(t.Context(), s.b, memento.DefaultWorkspace, s.store, &memento.StoreOptions{Detector: none{}})
	if err != nil {
		t.Fatal(err)
	}
	if expired, err := maintenance.Expire(t.Context(), store, time.Now(), false); err != nil || len(expired) != 0 {
		t.Errorf("expired %+v, %v", expired, err)
	}
	r, err := history.RestoreAsOf(t.Context(), store, s.by, then, false)
	if diff := cmp.Diff(history.Restoration{Removed: []memento.Path{"/new"}}, r); diff != "" || err != nil {
		t.Errorf("restored: %v (-want +got):\n%s", err, diff)
	}
	if expired, err := maintenance.Expire(t.Context(), store, time.Now().Add(3*time.Hour), false); err != nil || len(expired) != 1 {
		t.Errorf("later expired %+v, %v", expired, err)
	}
	if text, err := os.ReadFile(s.file("binary")); err != nil || string(text) != "\xff\xfe" {
		t.Errorf("the file has %q, %v", text, err)
	}
	if _, err := os.Stat(s.file("old")); err == nil {
		t.Error("what expired still has a file")
	}
}
