//go:build linux || darwin

package dirstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"memento"
)

// A folder that can only be read is read with its history, and with what was changed by
// hand since. Nothing is left in the temporary folder, and writers are refused.
func TestReadOnlyFolder(t *testing.T) { asNobody(t, testReadOnlyFolder) }

func testReadOnlyFolder(s *site) {
	s.put("/a", "one")
	s.put("/a", "two")
	s.put("/d/b", "b")
	quiet()
	s.do(os.WriteFile(s.file("d/b"), []byte("by hand"), 0o600))
	s.do(s.b.Close())
	var folders []string
	s.do(filepath.WalkDir(s.base, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o400)
		if e.IsDir() {
			folders = append(folders, path)
			mode = 0o500
		}
		return os.Chmod(path, mode)
	}))
	s.Cleanup(func() {
		for _, path := range folders {
			_ = os.Chmod(path, 0o700)
		}
	})
	temp := s.TempDir()
	s.Setenv("TMPDIR", temp)

	if b, err := Open(s.Context(), s.base, nil); !errors.Is(err, memento.ErrReadOnly) {
		s.Errorf("opened for writing: %v, %v", b, err)
	}
	b, err := Open(s.Context(), s.base, &Options{Reading: true})
	s.do(err)
	m, err := b.Get(s.Context(), s.store, memento.ByPath("/a"))
	if err != nil || m.Content != "two" {
		s.Errorf("read %q, %v", m.Content, err)
	}
	m, err = b.Get(s.Context(), s.store, memento.ByPath("/d/b"))
	if err != nil || m.Content != "by hand" {
		s.Errorf("read %q, %v; want what was written by hand", m.Content, err)
	}
	var versions []string
	for v, err := range b.ListVersions(s.Context(), s.store, memento.VersionListOptions{Path: "/a", OldestFirst: true, Contents: true}) {
		s.do(err)
		versions = append(versions, v.Content)
	}
	if len(versions) != 2 || versions[0] != "one" || versions[1] != "two" {
		s.Errorf("the history is %q", versions)
	}
	s.do(b.Close())
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		s.Errorf("left behind: %v, %v", left, err)
	}
}
