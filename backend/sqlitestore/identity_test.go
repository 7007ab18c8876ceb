//go:build !windows

package sqlitestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"memento"
	"memento/backend/sqlitestore"
)

// If the file, its log or its directory was removed or replaced, later writes would be lost
// when the process ends: they are refused, and a listing of stores reports the same error.
func TestMovedFile(t *testing.T) {
	for what, move := range map[string]func(dir, file string) error{
		"file removed": func(dir, file string) error { return os.Remove(file) },
		"file moved":   func(dir, file string) error { return os.Rename(file, file+".aside") },
		"file replaced": func(dir, file string) error {
			return errors.Join(os.WriteFile(file+".new", nil, 0o600), os.Rename(file+".new", file))
		},
		"log removed":  func(dir, file string) error { return os.Remove(file + "-wal") },
		"folder moved": func(dir, file string) error { return os.Rename(dir, dir+".aside") },
		"folder gone":  func(dir, file string) error { return os.RemoveAll(dir) },
		"folder copied": func(dir, file string) error {
			return errors.Join(os.Rename(dir, dir+".aside"), os.CopyFS(dir, os.DirFS(dir+".aside")))
		},
	} {
		t.Run(what, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "folder")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "memento.db")
			b, err := sqlitestore.Open(t.Context(), file, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close() //nolint:errcheck // its files were removed
			info, err := b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "s"})
			if err != nil {
				t.Fatal(err)
			}
			put := func(text string) error {
				_, err := b.Apply(t.Context(), info.ID, memento.Actor{}, []memento.Change{memento.Put{Path: "/a", Content: text}})
				return err
			}
			if err := put("before"); err != nil {
				t.Fatal(err)
			}
			if err := move(dir, file); err != nil {
				t.Fatal(err)
			}
			if err := put("after"); !errors.Is(err, memento.ErrUnavailable) {
				t.Errorf("a write was answered with %v", err)
			}
			var listErr error
			for _, err := range b.ListStores(t.Context(), memento.DefaultWorkspace, memento.StoreListOptions{}) {
				listErr = err
			}
			if !errors.Is(listErr, memento.ErrUnavailable) {
				t.Errorf("a listing was answered with %v", listErr)
			}
			if m, err := b.Get(t.Context(), info.ID, memento.ByPath("/a")); err == nil && m.Content != "before" {
				t.Errorf("the refused write is read: %q", m.Content)
			}
		})
	}
}
