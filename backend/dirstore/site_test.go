package dirstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"memento"

	"github.com/google/go-cmp/cmp"
)

// A site is a folder with a backend over it, and the store whose memories are in
// the folder "memories", for tests that change files by hand.
type site struct {
	*testing.T
	base     string
	memories string
	b        *Backend
	store    memento.StoreID
	by       memento.Actor
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{T: t, base: t.TempDir(), by: memento.Actor{Kind: memento.ActorSession, ID: "sesn_test"}}
	s.memories = filepath.Join(s.base, defaultFolder)
	s.b = s.open(nil)
	info, err := s.b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "default"})
	if err != nil {
		t.Fatal(err)
	}
	s.store = info.ID
	return s
}

func (s *site) open(opts *Options) *Backend {
	s.Helper()
	b, err := Open(s.Context(), s.base, opts)
	if err != nil {
		s.Fatalf("open: %v", err)
	}
	s.Cleanup(func() {
		if err := b.Close(); err != nil {
			s.Errorf("close: %v", err)
		}
	})
	return b
}

// reopen makes the backend forget everything except what is on disk.
func (s *site) reopen() {
	s.Helper()
	if err := s.b.Close(); err != nil {
		s.Fatal(err)
	}
	s.b = s.open(nil)
}

func (s *site) try(changes ...memento.Change) error {
	_, err := s.b.Apply(s.Context(), s.store, s.by, changes)
	return err
}

func (s *site) apply(changes ...memento.Change) {
	s.Helper()
	if err := s.try(changes...); err != nil {
		s.Fatalf("Apply: %v", err)
	}
}

func (s *site) put(p memento.Path, text string) {
	s.Helper()
	s.apply(memento.Put{Path: p, Content: text})
}

func (s *site) get(p memento.Path) memento.Memory {
	s.Helper()
	m, err := s.b.Get(s.Context(), s.store, memento.ByPath(p))
	if err != nil {
		s.Fatalf("Get %s: %v", p, err)
	}
	return m
}

func (s *site) getError(p memento.Path, want error) error {
	s.Helper()
	m, err := s.b.Get(s.Context(), s.store, memento.ByPath(p))
	if !errors.Is(err, want) {
		s.Errorf("Get %s: %+v, %v; want %v", p, m, err, want)
	}
	return err
}

// holds checks the contents of all memories.
func (s *site) holds(want map[memento.Path]string) {
	s.Helper()
	got := map[memento.Path]string{}
	for e, err := range s.b.List(s.Context(), s.store, memento.ListOptions{Contents: true}) {
		if err != nil {
			s.Fatal(err)
		}
		got[e.Path] = e.Memory.Content
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("memories (-want +got):\n%s", diff)
	}
}

// versions returns the history, oldest first, in short.
func (s *site) versions() []string {
	s.Helper()
	var list []string
	for v, err := range s.b.ListVersions(s.Context(), s.store, memento.VersionListOptions{OldestFirst: true, Contents: true}) {
		if err != nil {
			s.Fatal(err)
		}
		who := "memento"
		if v.CreatedBy == (memento.Actor{Kind: memento.ActorUser, ID: ByHand}) {
			who = "hand"
		}
		list = append(list, strings.TrimSpace(who+" "+string(v.Operation)+" "+string(v.Path)+" "+v.Content))
	}
	return list
}

func (s *site) wantVersions(want ...string) {
	s.Helper()
	if diff := cmp.Diff(want, s.versions()); diff != "" {
		s.Errorf("history (-want +got):\n%s", diff)
	}
}

func (s *site) file(name string) string { return filepath.Join(s.memories, filepath.FromSlash(name)) }

func (s *site) write(name, text string) {
	s.Helper()
	if err := os.MkdirAll(filepath.Dir(s.file(name)), 0o755); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(s.file(name), []byte(text), 0o644); err != nil {
		s.Fatal(err)
	}
}

// do fails the test on an error.
func (s *site) do(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// tree returns what is below a folder: contents of files, kinds of the rest.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		switch {
		case d.IsDir():
			found[name+"/"] = ""
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			found[name] = "-> " + target
			return err
		case d.Type().IsRegular():
			text, err := os.ReadFile(path)
			found[name] = string(text)
			return err
		default:
			found[name] = d.Type().String()
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return found
}

// onDisk checks all that is in the folder of memories.
func (s *site) onDisk(want map[string]string) {
	s.Helper()
	if diff := cmp.Diff(want, tree(s, s.memories)); diff != "" {
		s.Errorf("files (-want +got):\n%s", diff)
	}
}

// mirrored checks that files and memories are the same; it ignores unmanaged files.
func (s *site) mirrored() {
	s.Helper()
	files := map[memento.Path]string{}
	for name, text := range tree(s, s.memories) {
		if !strings.HasSuffix(name, "/") {
			files[memento.Path("/"+name)] = text
		}
	}
	s.holds(files)
}

func (s *site) listed() (paths []memento.Path) {
	s.Helper()
	for e, err := range s.b.List(s.Context(), s.store, memento.ListOptions{}) {
		if err != nil {
			s.Fatal(err)
		}
		paths = append(paths, e.Path)
	}
	return paths
}

func (s *site) lists(want ...memento.Path) {
	s.Helper()
	slices.Sort(want)
	if diff := cmp.Diff(want, s.listed()); diff != "" {
		s.Errorf("listed (-want +got):\n%s", diff)
	}
}
