//go:build linux || darwin

package sqlitestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memento"
	"memento/backend/sqlitestore"
	"memento/test/nobody"
)

var reader = memento.Actor{Kind: memento.ActorUser, ID: "reader"}

// makeReadable makes a database in dir with two versions of a memory, and returns its path. If
// left is set, it is as after a crash: the newest version is only in the log.
func makeReadable(t *testing.T, dir string, left bool) (path string, store memento.StoreID) {
	t.Helper()
	path = filepath.Join(dir, "m.db")
	b, err := sqlitestore.Open(t.Context(), path, &sqlitestore.Options{Reserve: -1})
	if err != nil {
		t.Fatal(err)
	}
	info, err := b.CreateStore(t.Context(), "team", memento.StoreSpec{Name: "notes"})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two words"} {
		if _, err := b.Apply(t.Context(), info.ID, reader, []memento.Change{memento.Put{Path: "/a", Content: text}}); err != nil {
			t.Fatal(err)
		}
	}
	if !left {
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		return path, info.ID
	}
	crashed := filepath.Join(dir, "crashed.db")
	for _, suffix := range []string{"", "-wal"} {
		text, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(crashed+suffix, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return crashed, info.ID
}

// checkReadable checks that a database that cannot be written can be read, that writes are
// refused, and that nothing stays in the folder for temporary files.
func checkReadable(t *testing.T, path string, store memento.StoreID) {
	t.Helper()
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	if b, err := sqlitestore.Open(t.Context(), path, nil); !errors.Is(err, memento.ErrReadOnly) {
		t.Errorf("opened for writing: %v, %v", b, err)
	}
	b, err := sqlitestore.Open(t.Context(), path, &sqlitestore.Options{Reading: true})
	if err != nil {
		t.Fatal(err)
	}
	m, err := b.Get(t.Context(), store, memento.ByPath("/a"))
	if err != nil || m.Content != "two words" {
		t.Errorf("read %q, %v", m.Content, err)
	}
	var texts []string
	for v, err := range b.ListVersions(t.Context(), store, memento.VersionListOptions{Path: "/a", OldestFirst: true, Contents: true}) {
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, v.Content)
	}
	if strings.Join(texts, "; ") != "one; two words" {
		t.Errorf("the history is %q", texts)
	}
	if found, err := b.Search(t.Context(), store, memento.SearchOptions{Query: "words"}); err != nil || len(found) != 1 {
		t.Errorf("searched: %v, %v", found, err)
	}
	b.MarkRead(store, m.ID)
	if err := b.SyncReads(t.Context()); err != nil {
		t.Error(err)
	}
	_, err = b.Apply(t.Context(), store, reader, []memento.Change{memento.Put{Path: "/b", Content: "x"}})
	if !errors.Is(err, memento.ErrReadOnly) {
		t.Errorf("wrote: %v, want ErrReadOnly", err)
	}
	if _, err := b.CreateStore(t.Context(), "team", memento.StoreSpec{Name: "more"}); !errors.Is(err, memento.ErrReadOnly) {
		t.Errorf("made a store: %v, want ErrReadOnly", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A file that another user made, or that was made read-only, can be read, with what is only in
// its log.
func TestUnwritableFile(t *testing.T) {
	for name, left := range map[string]bool{"closed": false, "after a crash": true} {
		t.Run(name, func(t *testing.T) {
			nobody.Run(t, func() {
				dir := t.TempDir()
				path, store := makeReadable(t, dir, left)
				for _, name := range []string{path, path + "-wal"} {
					if err := os.Chmod(name, 0o400); err != nil && !errors.Is(err, os.ErrNotExist) {
						t.Fatal(err)
					}
				}
				if err := os.Chmod(dir, 0o500); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
				checkReadable(t, path, store)
			})
		})
	}
}
