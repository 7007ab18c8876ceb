package dirstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"memento"
	"memento/test/proctest"
	"memento/test/race"
)

// cutPower simulates a power failure that lost the latest changes of the index, and the
// marks of locks. keep has the files of the remaining index.
func cutPower(s *site, keep map[string][]byte) {
	s.Helper()
	hidden := filepath.Join(s.base, hiddenFolder)
	for _, name := range []string{indexFile, indexFile + "-wal", indexFile + "-shm"} {
		if err := os.Remove(filepath.Join(hidden, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.Fatal(err)
		}
	}
	for name, data := range keep {
		s.do(os.WriteFile(filepath.Join(hidden, name), data, 0o600))
	}
	locks, err := os.ReadDir(filepath.Join(hidden, locksFolder))
	s.do(err)
	for _, l := range locks {
		s.do(os.Truncate(filepath.Join(hidden, locksFolder, l.Name()), 0))
	}
}

// indexNow returns the files of the index. No process may have the folder open.
func indexNow(s *site) map[string][]byte {
	s.Helper()
	data, err := os.ReadFile(filepath.Join(s.base, hiddenFolder, indexFile))
	s.do(err)
	return map[string][]byte{indexFile: data}
}

// TestPowerCut kills a process while it makes changes, and sets the index back to before
// the memories were made. What was removed, renamed or replaced does not come back, and
// nothing is taken for a change by hand.
func TestPowerCut(t *testing.T) {
	all := scenarios()
	for _, name := range []string{"create deep", "overwrite", "delete", "delete subtree", "move", "move subtree", "move with text", "folder to file", "mixed"} {
		for i, step := range []string{"committed", "unlinked", "renamed", "flushed", "installed", "before-dirsync"} {
			if race.Enabled && i > 0 {
				continue
			}
			t.Run(name+"/"+step, func(t *testing.T) {
				t.Parallel()
				s := newSite(t)
				s.apply(memento.Put{Path: "/a", Content: "a0"}, memento.Put{Path: "/dir/c", Content: "c0"})
				s.do(s.b.Close())
				behind := indexNow(s)
				s.b = s.open(nil)
				s.apply(memento.Put{Path: "/a", Content: "a"}, memento.Put{Path: "/b", Content: "b"},
					memento.Put{Path: "/dir/c", Content: "c"}, memento.Put{Path: "/dir/sub/c", Content: "c"})
				s.do(s.b.Close())
				after := expected(t, s, all[name])
				died := proctest.Start(t, childTask{Kind: "die", Base: s.base, Store: s.store, Scenario: name, Step: step, Nth: 1}).Died(t)
				cutPower(s, behind)
				s.b = s.open(nil)
				s.holds(after)
				s.mirrored()
				for _, v := range s.versions() {
					if v[:4] == "hand" {
						t.Errorf("died=%t: a change was invented: %s", died, v)
					}
				}
			})
		}
	}
}

// An old text that a person puts back after its memory was removed or changed counts as a
// change by hand, whatever the index has lost, and by whatever means it was put back.
func TestOldTextByHand(t *testing.T) {
	for _, tt := range []struct {
		what string
		do   func(s *site)
	}{
		{"written", func(s *site) { s.write("a", "one") }},
		{"moved back", func(s *site) { s.do(os.Rename(filepath.Join(s.base, "aside"), s.file("a"))) }},
		{"with its old time", func(s *site) {
			info, err := os.Stat(filepath.Join(s.base, "aside"))
			s.do(err)
			s.write("a", "one")
			s.do(os.Chtimes(s.file("a"), info.ModTime(), info.ModTime()))
		}},
	} {
		for _, change := range []memento.Change{memento.Remove{Path: "/a"}, memento.Move{From: "/a", To: "/b"}} {
			t.Run(tt.what, func(t *testing.T) {
				s := newSite(t)
				s.put("/a", "one")
				s.do(s.b.Close())
				behind := indexNow(s)
				s.do(os.WriteFile(filepath.Join(s.base, "aside"), []byte("one"), 0o600))
				s.b = s.open(nil)
				s.put("/a", "two")
				s.apply(change)
				s.do(s.b.Close())
				quiet()
				tt.do(s)
				cutPower(s, behind)
				s.b = s.open(nil)
				if got := s.get("/a").Content; got != "one" {
					t.Errorf("%q", got)
				}
				s.mirrored()
			})
		}
	}
}

// A power cut can leave both names of a renamed file, if only one of the two folders was
// flushed. The old one goes, whatever the index knows.
func TestHalfRename(t *testing.T) {
	for _, tt := range []struct {
		what    string
		changes [][]memento.Change // each one flushed wholly
		links   map[string]string  // additional names, by the name that is there
		want    map[memento.Path]string
	}{
		{
			"a file", [][]memento.Change{{memento.Move{From: "/a", To: "/dir/b"}}},
			map[string]string{"a": "dir/b"}, map[memento.Path]string{"/dir/b": "text"},
		},
		{
			"twice", [][]memento.Change{{memento.Move{From: "/a", To: "/b"}}, {memento.Move{From: "/b", To: "/dir/c"}}},
			map[string]string{"a": "dir/c", "b": "dir/c"}, map[memento.Path]string{"/dir/c": "text"},
		},
		{
			"there and back", [][]memento.Change{{memento.Move{From: "/a", To: "/dir/b"}}, {memento.Move{From: "/dir/b", To: "/a"}}},
			map[string]string{"dir/b": "a"}, map[memento.Path]string{"/a": "text"},
		},
		{
			"a new file at the old name", [][]memento.Change{{memento.Move{From: "/a", To: "/dir/b"}, memento.Put{Path: "/a", Content: "new"}}},
			map[string]string{"a": "dir/b"}, map[memento.Path]string{"/dir/b": "text", "/a": "new"},
		},
		{
			"a file of the same text at the old name", [][]memento.Change{{memento.Move{From: "/a", To: "/dir/b"}, memento.Put{Path: "/a", Content: "text"}}, {memento.Remove{Path: "/a"}}},
			map[string]string{"a": "dir/b"}, map[memento.Path]string{"/dir/b": "text"},
		},
	} {
		for _, index := range []string{"lost", "behind"} {
			t.Run(tt.what+"/"+index, func(t *testing.T) {
				s := newSite(t)
				s.put("/a", "text")
				s.do(s.b.Close())
				keep := map[string][]byte{}
				if index == "behind" {
					keep = indexNow(s)
				}
				s.b = s.open(nil)
				for _, c := range tt.changes {
					s.apply(c...)
				}
				before := s.versions()
				s.do(s.b.Close())
				for old, is := range tt.links {
					s.do(os.MkdirAll(filepath.Dir(s.file(old)), 0o700))
					if err := os.Remove(s.file(old)); err != nil && !errors.Is(err, fs.ErrNotExist) {
						t.Fatal(err)
					}
					s.do(os.Link(s.file(is), s.file(old)))
				}
				cutPower(s, keep)
				s.b = s.open(nil)
				s.holds(tt.want)
				s.mirrored()
				s.wantVersions(before...)
			})
		}
	}
}

// Of a twice renamed file the last name was lost, and the two before are there.
func TestHalfRenameWithoutItsEnd(t *testing.T) {
	s := newSite(t)
	s.put("/a", "text")
	s.apply(memento.Move{From: "/a", To: "/b"})
	s.apply(memento.Move{From: "/b", To: "/dir/c"})
	before := s.versions()
	s.do(s.b.Close())
	s.do(os.Rename(s.file("dir/c"), s.file("a")))
	s.do(os.Link(s.file("a"), s.file("b")))
	cutPower(s, nil)
	s.b = s.open(nil)
	s.holds(map[memento.Path]string{"/dir/c": "text"})
	s.mirrored()
	s.wantVersions(before...)
}

// A second name of a memory's file is left alone if the memory was never there, or if the
// file has another name that memento did not make, in the folder or outside.
func TestLinkByHand(t *testing.T) {
	for _, links := range [][]string{{"memories/link"}, {"memories/a", "outside"}, {"memories/a", "memories/link"}} {
		s := newSite(t)
		s.put("/a", "text")
		s.apply(memento.Move{From: "/a", To: "/b"})
		s.do(s.b.Close())
		for _, name := range links {
			s.do(os.Link(s.file("b"), filepath.Join(s.base, name)))
		}
		cutPower(s, nil)
		s.b = s.open(nil)
		s.holds(map[memento.Path]string{"/b": "text"})
		for _, name := range links {
			if _, err := os.Lstat(filepath.Join(s.base, name)); err != nil {
				t.Errorf("%q: %v", links, err)
			}
		}
	}
}

// What a process left unfinished is finished by one that has compared all files before,
// and sees only from the mark that there is something to do.
func TestDirtyIsFinished(t *testing.T) {
	s := newSite(t)
	s.put("/a", "a")
	s.put("/b", "b")
	alive := s.open(nil)
	for _, err := range alive.List(t.Context(), s.store, memento.ListOptions{}) {
		s.do(err)
	}
	s.do(s.b.Close())
	if !proctest.Start(t, childTask{Kind: "die", Base: s.base, Store: s.store, Scenario: "delete", Step: "committed", Nth: 1}).Died(t) {
		t.Fatal("the process lives")
	}
	s.b = alive
	if _, err := s.b.Get(t.Context(), s.store, memento.ByPath("/b")); err != nil { // of another memory
		t.Fatal(err)
	}
	s.listed()
	s.onDisk(map[string]string{"b": "b"})
}
