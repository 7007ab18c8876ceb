package dirstore

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"memento"
	"memento/backend"
)

// When a store was deleted, and copied back under its ID by one process, the other
// processes find it at its new location.
func TestCopiedBack(t *testing.T) {
	s := newSite(t)
	other := s.open(nil)
	spec := memento.StoreSpec{Name: "notes", ID: backend.NewStoreID(time.Now())}
	location := filepath.Join(s.base, otherFolders, "notes", defaultFolder)
	for range 3 {
		if _, err := s.b.CreateStore(t.Context(), memento.DefaultWorkspace, spec); err != nil {
			t.Fatal(err)
		}
		write := func(b *Backend, p memento.Path, text string) {
			t.Helper()
			if _, err := b.Apply(t.Context(), spec.ID, s.by, []memento.Change{memento.Put{Path: p, Content: text}}); err != nil {
				t.Fatal(err)
			}
		}
		write(other, "/a", "by the other")
		write(s.b, "/b", "by the first")
		write(other, "/c", "by the other")
		for name, want := range map[string]string{"a": "by the other", "b": "by the first", "c": "by the other"} {
			if text, err := os.ReadFile(filepath.Join(location, name)); err != nil || string(text) != want {
				t.Errorf("the file %s has %q, %v", name, text, err)
			}
		}
		if err := s.b.DeleteStore(t.Context(), memento.DefaultWorkspace, spec.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Dir(location)); !os.IsNotExist(err) {
			t.Errorf("the folder is still there (%v)", err)
		}
	}
	if left, err := os.ReadDir(filepath.Join(s.base, otherFolders)); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
