package importer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memento"
	"memento/backend/dirstore"
	"memento/exchange/archive"
	"memento/exchange/importer"

	"github.com/google/go-cmp/cmp"
)

// A vault is opened in place and exported, and the export is imported: every note is
// there once, and images are left alone.
func TestVaultInPlaceAndBack(t *testing.T) {
	files, want := vault(2000)
	delete(files, ".memento/books.db") // of another vault: this one is new
	dir := writeFiles(t, files)
	b, err := dirstore.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s := memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, nil)
	opened := map[string]string{}
	for e, err := range s.List(t.Context(), memento.ListOptions{Contents: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if !e.Foreign {
			opened[string(e.Path)] = e.Memory.Content
		}
	}
	if diff := cmp.Diff(want, opened); diff != "" {
		t.Errorf("opened in place, memories differ:\n%s", diff)
	}
	for name, text := range files {
		if strings.HasPrefix(name, "assets/") || strings.HasPrefix(name, ".") || name == "large.md" {
			if got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name))); err != nil || string(got) != text {
				t.Errorf("%s has changed: %v", name, err)
			}
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	if _, err := archive.UpdateFolder(t.Context(), out, s, nil); err != nil {
		t.Fatal(err)
	}
	copied := newStore(t, memento.StoreSpec{})
	if _, err := open(t, out).Import(t.Context(), copied, ana, &importer.Options{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, contents(t, copied)); diff != "" {
		t.Errorf("exported and imported, memories differ:\n%s", diff)
	}
}
