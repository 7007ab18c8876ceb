//go:build linux || darwin

package dirstore

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"memento"
)

// mode changes what may be done with a file or folder until the test ends.
func (s *site) mode(name string, mode os.FileMode) {
	s.Helper()
	s.do(os.Chmod(s.file(name), mode))
	s.Cleanup(func() { _ = os.Chmod(s.file(name), 0o700) })
}

// A store whose folder cannot be removed is deleted nevertheless, and does not affect
// others.
func TestDeleteWhatCannotBeRemoved(t *testing.T) { asNobody(t, testDeleteWhatCannotBeRemoved) }

func testDeleteWhatCannotBeRemoved(s *site) {
	s.put("/a", "x")
	s.write("guarded/f", "x")
	s.mode("guarded", 0o500)
	s.do(s.b.DeleteStore(s.Context(), memento.DefaultWorkspace, s.store))
	s.reopen()
	info, err := s.b.CreateStore(s.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: defaultStore})
	s.do(err)
	aside := s.base + "/" + hiddenFolder + "/" + string(s.store) + deletedSuffix
	s.store = info.ID
	s.put("/b", "y")
	s.onDisk(map[string]string{"b": "y"})
	s.do(os.Chmod(aside+"/guarded", 0o700))
	s.reopen()
	if _, err := os.Stat(aside); !errors.Is(err, os.ErrNotExist) {
		s.Errorf("what was left is still there: %v", err)
	}
	s.mirrored()
}

// A file without permissions does not affect reads, and is written when that is possible.
func TestPermissions(t *testing.T) {
	for _, mode := range []os.FileMode{0, 0o400, 0o500, 0o300} {
		t.Run(fmt.Sprintf("%o", mode), func(t *testing.T) {
			asNobody(t, func(s *site) { permissions(s, mode) })
		})
	}
}

func permissions(s *site, mode os.FileMode) {
	s.put("/d/a", "one")
	s.put("/top", "one")
	quiet()
	s.mode("d", mode)
	s.lists("/d/a", "/top")
	if got := s.get("/d/a").Content; got != "one" {
		s.Errorf("reads %q", got)
	}
	want := "one"
	switch err := s.try(memento.Put{Path: "/d/a", Content: "two"}); {
	case err == nil:
		want = "two"
	case !errors.Is(err, memento.ErrReadOnly):
		s.Error(err)
	}
	if err := s.try(memento.Put{Path: "/d/new", Content: "n"}); err != nil && !errors.Is(err, memento.ErrReadOnly) {
		s.Errorf("a new memory: %v", err)
	}
	if got := s.get("/d/a").Content; got != want {
		s.Errorf("then reads %q, want %q", got, want)
	}
	s.do(os.Chmod(s.file("d"), 0o700))
	time.Sleep(retryDelay + 100*time.Millisecond)
	s.put("/top", "two")
	s.mirrored()
}

// A stale file does not make its readers, or those that write other files, compare all
// files.
func TestStaleIsRetriedLater(t *testing.T) { asNobody(t, testStaleIsRetriedLater) }

func testStaleIsRetriedLater(s *site) {
	s.put("/d/a", "one")
	s.put("/other", "one")
	quiet()
	s.mode("d", 0o500)
	b := s.open(nil)
	both := []*Backend{s.b, b}
	s.put("/d/a", "two")
	write := func(i int) {
		_, err := both[i%2].Apply(s.Context(), s.store, s.by, []memento.Change{memento.Put{Path: "/other", Content: fmt.Sprint(i)}})
		s.do(err)
	}
	write(0)
	write(1)
	mark := func() mark {
		m, err := s.b.folders[s.store].lock.mark()
		s.do(err)
		return m
	}
	before := mark().dirty
	for i := range 6 {
		write(i)
	}
	if after := mark().dirty; before == 0 || after != before {
		s.Errorf("the mark was %d and is %d", before, after)
	}
	f := s.b.folders[s.store]
	m, sure, err := f.get(s.Context(), memento.ByPath("/d/a"))
	if !sure || err != nil || m.Content != "two" {
		s.Errorf("reads %q, sure %v, %v", m.Content, sure, err)
	}
	s.do(os.Chmod(s.file("d"), 0o700))
	time.Sleep(retryDelay + 100*time.Millisecond)
	write(0)
	if m := mark(); m.dirty != 0 {
		s.Error("the mark stays")
	}
	s.mirrored()
}

// A redacted text is in no file: if a file still has it, the version is not redacted.
func TestRedactStale(t *testing.T) { asNobody(t, testRedactStale) }

func testRedactStale(s *site) {
	s.put("/d/a", "secret")
	s.put("/d/b", "secret, too")
	s.put("/d/c", "secret, three")
	changed, removed, moved := s.get("/d/a").Version, s.get("/d/b").Version, s.get("/d/c").Version
	s.mode("d", 0o500)
	s.apply(memento.Put{Path: "/d/a", Content: "clean"}, memento.Remove{Path: "/d/b"},
		memento.Move{From: "/d/c", To: "/c", Content: new("clean, too")})
	for _, id := range []memento.VersionID{changed, removed, moved} {
		if _, err := s.b.Redact(s.Context(), s.store, id, s.by); !errors.Is(err, memento.ErrReadOnly) {
			s.Errorf("while the file has it: %v", err)
		}
	}
	s.do(os.Chmod(s.file("d"), 0o700))
	for _, id := range []memento.VersionID{changed, removed, moved} {
		if _, err := s.b.Redact(s.Context(), s.store, id, s.by); err != nil {
			s.Error(err)
		}
	}
	s.onDisk(map[string]string{"c": "clean, too", "d/": "", "d/a": "clean"})
}
