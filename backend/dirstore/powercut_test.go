package dirstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"memento"
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
				died := startChild(t, childTask{Kind: "die", Base: s.base, Store: s.store, Scenario: name, Step: step, Nth: 1}).Died(t)
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
	if !startChild(t, childTask{Kind: "die", Base: s.base, Store: s.store, Scenario: "delete", Step: "committed", Nth: 1}).Died(t) {
		t.Fatal("the process lives")
	}
	s.b = alive
	if _, err := s.b.Get(t.Context(), s.store, memento.ByPath("/b")); err != nil { // of another memory
		t.Fatal(err)
	}
	s.listed()
	s.onDisk(map[string]string{"b": "b"})
}
