package dirstore_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"memento"
	"memento/backend/dirstore"
)

// tree returns the paths in a folder, with their contents.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			found[path] = "folder"
			return err
		}
		text, err := os.ReadFile(path)
		found[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A caller that only reads sees the files of any folder as memories, and leaves nothing.
func TestReading(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files []string
		want  []memento.Path
	}{
		{"notes", []string{"a.md", "d/b.md"}, []memento.Path{"/a.md", "/d/b.md"}},
		{"memories", []string{"memories/a.md", "memories/d/b.md"}, []memento.Path{"/a.md", "/d/b.md"}},
		{"a program", []string{"main.go", "README.md"}, nil},
		{"empty", nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, temp := t.TempDir(), t.TempDir()
			t.Setenv("TMPDIR", temp)
			t.Setenv("TMP", temp) // on Windows
			for _, name := range tt.files {
				path := filepath.Join(dir, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte("text of "+name), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			before := tree(t, dir)
			b, err := dirstore.Open(t.Context(), dir, &dirstore.Options{Reading: true})
			if err != nil {
				t.Fatal(err)
			}
			found := map[memento.Path]string{}
			s := memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, nil)
			for e, err := range s.List(t.Context(), memento.ListOptions{Contents: true}) {
				if err != nil {
					t.Fatal(err)
				}
				found[e.Path] = e.Memory.Content
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
			if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
				t.Errorf("the folder has changed: %s", diff)
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
