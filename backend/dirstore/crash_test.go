package dirstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/test/longtest"
	"memento/test/proctest"
	"memento/test/race"

	"github.com/google/go-cmp/cmp"
)

// Scenarios that are not an Apply.
const (
	deleteStore = "delete store"
	adoption    = "adoption" // making versions from changes by hand
)

// scenarios returns the changes during which a process dies.
func scenarios() map[string][]memento.Change {
	many := func(n int, change func(i int) memento.Change) (list []memento.Change) {
		for i := range n {
			list = append(list, change(i))
		}
		return list
	}
	return map[string][]memento.Change{
		"create":         {memento.Put{Path: "/new", Content: "n"}},
		"create deep":    {memento.Put{Path: "/x/y/z", Content: "n"}},
		"overwrite":      {memento.Put{Path: "/a", Content: "a2"}},
		"delete":         {memento.Remove{Path: "/a"}},
		"delete last":    {memento.Remove{Path: "/dir/sub/c"}},
		"delete subtree": {memento.Remove{Path: "/dir"}},
		"move":           {memento.Move{From: "/a", To: "/moved/a"}},
		"move subtree":   {memento.Move{From: "/dir", To: "/elsewhere/dir"}},
		"move and edit":  {memento.Move{From: "/a", To: "/m"}, memento.Put{Path: "/m", Content: "a2"}},
		"move with text": {memento.Move{From: "/dir/sub/c", To: "/x/m", Content: new("c2")}},
		"swap with text": {memento.Move{From: "/a", To: "/t", Content: new("a2")}, memento.Move{From: "/b", To: "/a", Content: new("b2")}, memento.Move{From: "/t", To: "/b"}},
		"swap":           {memento.Move{From: "/a", To: "/t"}, memento.Move{From: "/b", To: "/a"}, memento.Move{From: "/t", To: "/b"}},
		"file to folder": {memento.Move{From: "/a", To: "/t"}, memento.Move{From: "/b", To: "/a/b"}, memento.Put{Path: "/a/c", Content: "c"}},
		"folder to file": {memento.Remove{Path: "/dir"}, memento.Put{Path: "/dir", Content: "file now"}},
		"create many": many(70, func(i int) memento.Change {
			return memento.Put{Path: memento.Path(fmt.Sprint("/many/", i)), Content: "m"}
		}),
		"mixed": {
			memento.Put{Path: "/a", Content: "a2"}, memento.Remove{Path: "/b"}, memento.Move{From: "/dir", To: "/b"},
			memento.Put{Path: "/b/new", Content: "n"}, memento.Put{Path: "/dir", Content: "file now"}, memento.Remove{Path: "/b/sub/c"},
		},
	}
}

// steps are all points at which a process dies.
var steps = []string{
	"marked", "committed", "before-unlink", "unlinked", "before-rename", "renamed", "written", "flushed",
	"before-install", "installed", "before-dirsync", "dirsynced", "indexed",
}

// TestCrash kills a process at every step of every kind of change. Afterwards, every
// observer must see either all of the change or none of it, and the files must agree with
// the database.
func TestCrash(t *testing.T) {
	for name, list := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deaths := 0
			for _, step := range steps {
				for nth := 1; nth <= race.Scaled(1000, 2); nth += max(1, nth/longtest.Scaled(1, 4)) {
					died := crashAt(t, childTask{Scenario: name, Step: step, Nth: nth}, list)
					if !died || t.Failed() {
						break
					}
					deaths++
				}
			}
			if deaths < 7 {
				t.Errorf("the process died only %d times", deaths)
			}
		})
	}
}

func crashAt(t *testing.T, task childTask, list []memento.Change) (died bool) {
	s := newSite(t)
	s.apply(memento.Put{Path: "/a", Content: "a"}, memento.Put{Path: "/b", Content: "b"},
		memento.Put{Path: "/dir/c", Content: "c"}, memento.Put{Path: "/dir/sub/c", Content: "c"})
	// Without what is in the way of the change.
	s.write(".git/config", "[core]")
	s.do(os.Symlink("/etc/passwd", s.file("link")))
	before, versions := s.all(), len(s.versions())

	s.do(s.b.Close())
	after := expected(t, s, list)

	alive := s.open(nil) // another process that lives on, and has compared all files
	for _, err := range alive.List(t.Context(), s.store, memento.ListOptions{}) {
		s.do(err)
	}
	task.Kind, task.Base, task.Store = "die", s.base, s.store
	died = proctest.Start(t, task).Died(t)
	if task.Nth%2 == 0 {
		s.b = alive
	} else {
		s.b = s.open(nil)
	}
	where := fmt.Sprintf("died=%v at %s %d: ", died, task.Step, task.Nth)
	got := s.all()
	switch {
	case cmp.Equal(got, after):
	case cmp.Equal(got, before) && died && task.Step == "marked":
	default:
		t.Errorf("%sgot %v, want %v", where, got, after)
	}
	want := map[string]string{".git/": "", ".git/config": "[core]", "link": "-> /etc/passwd"}
	for p, text := range got {
		want[string(p[1:])] = text
		for dir := range p.Ancestors() {
			want[string(dir[1:])+"/"] = ""
		}
	}
	if s.b == alive { // it may not have had a reason to compare all files yet
		for p := range mergedKeys(before, after) {
			s.b.Get(t.Context(), s.store, memento.ByPath(p))
		}
	}
	if diff := cmp.Diff(want, tree(t, s.memories)); diff != "" {
		t.Errorf("%sfiles (-want +got):\n%s", where, diff)
	}
	for _, v := range s.versions()[versions:] {
		if strings.HasPrefix(v, "hand") {
			t.Errorf("%sa change was invented: %s", where, v)
		}
	}
	// The store still works.
	s.put("/alive", "x")
	s.apply(memento.Remove{Path: "/alive"})
	return died
}

func mergedKeys(maps ...map[memento.Path]string) map[memento.Path]bool {
	keys := map[memento.Path]bool{}
	for _, m := range maps {
		for p := range m {
			keys[p] = true
		}
	}
	return keys
}

// all returns the contents of all memories.
func (s *site) all() map[memento.Path]string {
	s.Helper()
	got := map[memento.Path]string{}
	for e, err := range s.b.List(s.Context(), s.store, memento.ListOptions{Contents: true}) {
		s.do(err)
		got[e.Path] = e.Memory.Content
	}
	return got
}

// expected returns the result of changes, made on a copy of a folder that is not open.
func expected(t *testing.T, s *site, list []memento.Change) map[memento.Path]string {
	t.Helper()
	copied := *s
	copied.base = filepath.Join(t.TempDir(), "copy")
	s.do(os.CopyFS(copied.base, os.DirFS(s.base)))
	copied.b = copied.open(nil)
	copied.apply(list...)
	return copied.all()
}

// A change by hand becomes one version even if the process dies that found it.
func TestCrashAdopting(t *testing.T) {
	for _, step := range []string{"adopted", "indexed"} {
		t.Run(step, func(t *testing.T) {
			s := newSite(t)
			s.put("/a", "1")
			s.put("/b", "2")
			s.put("/c", "3")
			s.do(s.b.Close())
			s.write("a", "edited")
			s.write("dir/new", "added")
			s.do(os.Remove(s.file("b")))
			s.do(os.Rename(s.file("c"), s.file("d")))
			if !proctest.Start(t, childTask{Kind: "die", Base: s.base, Store: s.store, Scenario: adoption, Step: step, Nth: 1}).Died(t) {
				t.Fatal("the process lives")
			}
			s.b = s.open(nil)
			s.holds(map[memento.Path]string{"/a": "edited", "/dir/new": "added", "/d": "3"})
			s.wantVersions("memento created /a 1", "memento created /b 2", "memento created /c 3",
				"hand deleted /b", "hand modified /d 3", "hand modified /a edited", "hand created /dir/new added")
			s.mirrored()
		})
	}
}

// If the deletion of a store was interrupted, the store exists completely or not at all.
func TestCrashDeletingStore(t *testing.T) {
	for _, step := range []string{"deleting", "deleted"} {
		for _, name := range []string{"default", "other"} {
			t.Run(step+"/"+name, func(t *testing.T) {
				s := newSite(t)
				s.put("/a", "kept?")
				location := s.memories
				if name != "default" {
					info, err := s.b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: name})
					s.do(err)
					s.store, location = info.ID, filepath.Join(s.base, "stores", "other", "memories")
					s.put("/a", "kept?")
				}
				s.do(s.b.Close())
				if !proctest.Start(t, childTask{Kind: "die", Base: s.base, Store: s.store, Scenario: deleteStore, Step: step, Nth: 1}).Died(t) {
					t.Fatal("the process lives")
				}
				s.b = s.open(nil)
				if step == "deleting" {
					s.holds(map[memento.Path]string{"/a": "kept?"})
					s.do(s.b.DeleteStore(t.Context(), memento.DefaultWorkspace, s.store))
				} else {
					s.getError("/a", memento.ErrNoStore)
				}
				if _, err := os.Stat(location); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the folder is still there: %v", err)
				}
				left, err := os.ReadDir(filepath.Join(s.base, hiddenFolder, locationsFolder))
				s.do(err)
				for _, entry := range left {
					if strings.Contains(entry.Name(), string(s.store)) {
						t.Errorf("left behind: %s", entry.Name())
					}
				}
			})
		}
	}
}

// If the disk does not allow a file to be written, the write succeeds nevertheless, and
// the file is written later.
func TestFileFollowsLater(t *testing.T) {
	s := newSite(t)
	s.put("/dir/a", "one")
	s.put("/b", "one")
	broken := false
	s.b = s.open(&Options{hook: func(step string) {
		if step == "committed" && !broken {
			broken = true
			s.do(os.Rename(s.file("dir"), s.file("aside")))
			s.do(os.WriteFile(s.file("dir"), nil, 0o600)) // where a folder is needed
		}
	}})
	s.apply(memento.Put{Path: "/dir/a", Content: "two"}, memento.Put{Path: "/dir/new", Content: "n"}, memento.Put{Path: "/b", Content: "two"})
	v, err := s.b.db.Get(t.Context(), s.store, memento.ByPath("/b"))
	s.do(err)
	if got := tree(t, s.memories)["b"]; v.Content != "two" || got != "two" {
		t.Errorf("the database has %q, the file %q", v.Content, got)
	}
	s.do(os.Remove(s.file("dir")))
	s.do(os.Rename(s.file("aside"), s.file("dir")))
	time.Sleep(retryDelay + 100*time.Millisecond)
	s.lists("/b", "/dir/a", "/dir/new")
	s.get("/dir/new")
	s.reopen()
	s.mirrored()
	s.wantVersions("memento created /dir/a one", "memento created /b one",
		"memento modified /dir/a two", "memento created /dir/new n", "memento modified /b two")
}

// A file that someone changes while it is being replaced keeps the change.
func TestChangedWhileReplaced(t *testing.T) {
	for _, step := range []string{"committed", "flushed"} {
		t.Run(step, func(t *testing.T) {
			s := newSite(t)
			s.put("/a", "one")
			s.put("/gone", "one")
			s.b = s.open(&Options{hook: func(at string) {
				if at == step {
					s.write("a", "by hand")
					s.write("new", "by hand, too")
				}
			}})
			s.apply(memento.Put{Path: "/a", Content: "two"}, memento.Put{Path: "/new", Content: "n"}, memento.Remove{Path: "/gone"})
			s.holds(map[memento.Path]string{"/a": "by hand", "/new": "by hand, too"})
			s.mirrored()
			s.wantVersions("memento created /a one", "memento created /gone one",
				"memento modified /a two", "memento created /new n", "memento deleted /gone",
				"hand modified /a by hand", "hand modified /new by hand, too")
		})
	}
}

// So does a file that someone changes while its memory is moved with other contents. A
// change made before that turns the move into a conflict, or is in its history.
func TestChangedWhileMoved(t *testing.T) {
	s := newSite(t)
	s.put("/a", "one")
	move := memento.Move{From: "/a", To: "/dir/b", Content: new("two"), If: memento.IfVersion(s.get("/a").Version)}
	s.write("a", "by hand")
	if _, err := s.b.Apply(t.Context(), s.store, s.by, []memento.Change{move}); !errors.Is(err, memento.ErrConflict) {
		t.Errorf("on condition of what it was: %v", err)
	}
	move.If = memento.Condition{}
	s.apply(move)
	s.holds(map[memento.Path]string{"/dir/b": "two"})
	s.mirrored()
	s.wantVersions("memento created /a one", "hand modified /a by hand", "memento modified /dir/b two")

	s.do(s.b.Close())
	s.b = s.open(&Options{hook: func(at string) {
		if at == "committed" {
			s.write("dir/b", "by hand, too")
		}
	}})
	s.apply(memento.Move{From: "/dir/b", To: "/c", Content: new("three")})
	s.holds(map[memento.Path]string{"/c": "three", "/dir/b": "by hand, too"})
	s.mirrored()
	s.wantVersions("memento created /a one", "hand modified /a by hand", "memento modified /dir/b two",
		"memento modified /c three", "hand created /dir/b by hand, too")
}
