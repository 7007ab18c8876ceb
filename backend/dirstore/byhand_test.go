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

	"github.com/google/go-cmp/cmp"
)

// quiet waits until files are old enough for their times to show later changes.
func quiet() { time.Sleep(2 * tick) }

func TestFilesAreMemories(t *testing.T) {
	s := newSite(t)
	s.put("/a.md", "one\n")
	s.put("/dir/sub/b.md", "zwei\r\n")
	s.apply(memento.Put{Path: "/dir/c", Content: "3"}, memento.Put{Path: "/gone/x", Content: ""}, memento.Remove{Path: "/gone"})
	s.apply(memento.Move{From: "/dir/sub", To: "/moved"})
	s.onDisk(map[string]string{"a.md": "one\n", "dir/": "", "dir/c": "3", "moved/": "", "moved/b.md": "zwei\r\n"})
	s.apply(memento.Remove{Path: "/dir"}, memento.Remove{Path: "/moved/b.md"})
	s.onDisk(map[string]string{"a.md": "one\n"})
	s.reopen()
	s.holds(map[memento.Path]string{"/a.md": "one\n"})
}

// Every kind of access sees every kind of change by hand.
func TestChangeSeenByAnyAccess(t *testing.T) {
	accesses := map[string]func(s *site){
		"get":  func(s *site) { s.b.Get(s.Context(), s.store, memento.ByPath("/a")) },
		"list": func(s *site) { s.listed() },
		"by ID": func(s *site) {
			m, err := s.b.db.Get(s.Context(), s.store, memento.ByPath("/a"))
			s.do(err)
			s.b.Get(s.Context(), s.store, memento.ByID(m.ID))
		},
		"search": func(s *site) {
			_, err := s.b.Search(s.Context(), s.store, memento.SearchOptions{Query: "edited"})
			s.do(err)
		},
		"history": func(s *site) { s.versions() },
		"reopen":  func(s *site) { s.reopen(); s.listed() },
		"failing write": func(s *site) {
			if err := s.try(memento.Put{Path: "/a", Content: "x", If: memento.IfSHA256("other")}); !errors.Is(err, memento.ErrConflict) {
				s.Errorf("a write against the old version: %v", err)
			}
		},
	}
	for name, access := range accesses {
		for _, aged := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				s := newSite(t)
				s.put("/a", "first text")
				if aged {
					quiet()
				}
				s.write("a", "edited one")
				access(s)
				m, err := s.b.db.Get(t.Context(), s.store, memento.ByPath("/a"))
				s.do(err)
				if m.Content != "edited one" {
					t.Errorf("the database has %q", m.Content)
				}
				s.wantVersions("memento created /a first text", "hand modified /a edited one")
			})
		}
	}
}

func TestByHand(t *testing.T) {
	tests := map[string]struct {
		hand  func(s *site)
		holds map[memento.Path]string
		made  []string // versions
	}{
		"nothing": {
			hand:  func(s *site) {},
			holds: map[memento.Path]string{"/a": "text a", "/dir/b": "text b"},
		},
		"edit": {
			hand:  func(s *site) { s.write("a", "a longer text") },
			holds: map[memento.Path]string{"/a": "a longer text", "/dir/b": "text b"},
			made:  []string{"hand modified /a a longer text"},
		},
		"edit and keep the time": {
			hand: func(s *site) {
				info, err := os.Stat(s.file("a"))
				s.do(err)
				s.write("a", "TEXT A")
				s.do(os.Chtimes(s.file("a"), info.ModTime(), info.ModTime()))
			},
			holds: map[memento.Path]string{"/a": "TEXT A", "/dir/b": "text b"},
			made:  []string{"hand modified /a TEXT A"},
		},
		"edit as editors do": {
			hand: func(s *site) {
				s.write("a.new", "text A2")
				s.do(os.Rename(s.file("a.new"), s.file("a")))
			},
			holds: map[memento.Path]string{"/a": "text A2", "/dir/b": "text b"},
			made:  []string{"hand modified /a text A2"},
		},
		"touch and chmod": {
			hand: func(s *site) {
				s.do(os.Chtimes(s.file("a"), time.Unix(1, 0), time.Unix(1, 0)))
				s.do(os.Chmod(s.file("dir/b"), 0o444))
			},
			holds: map[memento.Path]string{"/a": "text a", "/dir/b": "text b"},
		},
		"add": {
			hand:  func(s *site) { s.write("new.md", "neu"); s.write("x/y/z", "deep") },
			holds: map[memento.Path]string{"/a": "text a", "/dir/b": "text b", "/new.md": "neu", "/x/y/z": "deep"},
			made:  []string{"hand created /new.md neu", "hand created /x/y/z deep"},
		},
		"remove": {
			hand:  func(s *site) { s.do(os.Remove(s.file("a"))) },
			holds: map[memento.Path]string{"/dir/b": "text b"},
			made:  []string{"hand deleted /a"},
		},
		"remove a folder": {
			hand:  func(s *site) { s.do(os.RemoveAll(s.file("dir"))) },
			holds: map[memento.Path]string{"/a": "text a"},
			made:  []string{"hand deleted /dir/b"},
		},
		"remove everything": {
			hand:  func(s *site) { s.do(os.RemoveAll(s.memories)) },
			holds: map[memento.Path]string{},
			made:  []string{"hand deleted /a", "hand deleted /dir/b"},
		},
		"clear and start again": {
			hand: func(s *site) {
				s.do(os.RemoveAll(s.memories))
				s.write("n", "new")
			},
			holds: map[memento.Path]string{"/n": "new"},
			made:  []string{"hand deleted /a", "hand deleted /dir/b", "hand created /n new"},
		},
		"rename": {
			hand:  func(s *site) { s.do(os.Rename(s.file("a"), s.file("dir/c"))) },
			holds: map[memento.Path]string{"/dir/c": "text a", "/dir/b": "text b"},
			made:  []string{"hand modified /dir/c text a"},
		},
		"rename a folder": {
			hand:  func(s *site) { s.do(os.Rename(s.file("dir"), s.file("elsewhere"))) },
			holds: map[memento.Path]string{"/a": "text a", "/elsewhere/b": "text b"},
			made:  []string{"hand modified /elsewhere/b text b"},
		},
		"rename and edit": {
			hand: func(s *site) {
				s.do(os.Rename(s.file("a"), s.file("c")))
				s.write("c", "other")
			},
			holds: map[memento.Path]string{"/c": "other", "/dir/b": "text b"},
			made:  []string{"hand modified /c text a", "hand modified /c other"},
		},
		"copy and remove": {
			hand:  func(s *site) { s.write("c", "text a"); s.do(os.Remove(s.file("a"))) },
			holds: map[memento.Path]string{"/c": "text a", "/dir/b": "text b"},
			made:  []string{"hand modified /c text a"},
		},
		"swap": {
			hand: func(s *site) {
				s.do(os.Rename(s.file("a"), s.file("t")))
				s.do(os.Rename(s.file("dir/b"), s.file("a")))
				s.do(os.Rename(s.file("t"), s.file("dir/b")))
			},
			holds: map[memento.Path]string{"/a": "text b", "/dir/b": "text a"},
			made:  []string{"hand modified /a text b", "hand modified /dir/b text a"},
		},
		"a folder in place of a file": {
			hand:  func(s *site) { s.do(os.Remove(s.file("a"))); s.write("a/inner", "i") },
			holds: map[memento.Path]string{"/a/inner": "i", "/dir/b": "text b"},
			made:  []string{"hand deleted /a", "hand created /a/inner i"},
		},
		"a file in place of a folder": {
			hand:  func(s *site) { s.do(os.RemoveAll(s.file("dir"))); s.write("dir", "d") },
			holds: map[memento.Path]string{"/a": "text a", "/dir": "d"},
			made:  []string{"hand deleted /dir/b", "hand created /dir d"},
		},
		"a file into a folder of its name": {
			hand: func(s *site) {
				s.do(os.Rename(s.file("a"), s.file("t")))
				s.do(os.Mkdir(s.file("a"), 0o755))
				s.do(os.Rename(s.file("t"), s.file("a/a")))
			},
			holds: map[memento.Path]string{"/a/a": "text a", "/dir/b": "text b"},
			made:  []string{"hand deleted /a", "hand created /a/a text a"},
		},
		"empty folders": {
			hand:  func(s *site) { s.do(os.MkdirAll(s.file("x/y"), 0o755)) },
			holds: map[memento.Path]string{"/a": "text a", "/dir/b": "text b"},
		},
		"files of editors and of git": {
			hand: func(s *site) {
				s.write(".a.swp", "swap")
				s.write(".git/config", "[core]")
				s.write("dir/node_modules/x/package.json", "{}")
				for _, name := range []string{"ctrl\x01", "bad\xff"} { // some file systems refuse some of them
					os.WriteFile(s.file(name), []byte("x"), 0o644)
				}
			},
			holds: map[memento.Path]string{"/a": "text a", "/dir/b": "text b"},
		},
		"everything at once": {
			hand: func(s *site) {
				s.write("a", "edited")
				s.do(os.Rename(s.file("dir/b"), s.file("b")))
				s.write("dir", "file now")
				s.write("new/new", "new")
			},
			holds: map[memento.Path]string{"/a": "edited", "/b": "text b", "/dir": "file now", "/new/new": "new"},
			made:  []string{"hand modified /b text b", "hand modified /a edited", "hand created /dir file now", "hand created /new/new new"},
		},
	}
	for name, tt := range tests {
		for _, how := range []string{"open", "closed", "fresh"} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				s := newSite(t)
				s.put("/a", "text a")
				s.put("/dir/b", "text b")
				if how != "fresh" {
					quiet()
				}
				if name == "everything at once" {
					s.do(os.Rename(s.file("dir/b"), s.file("b")))
					s.do(os.Remove(s.file("dir")))
					s.do(os.Rename(s.file("b"), s.file("b2")))
					s.do(os.Mkdir(s.file("dir"), 0o755))
					s.do(os.Rename(s.file("b2"), s.file("dir/b")))
					tt.hand = func(s *site) {
						s.write("a", "edited")
						s.do(os.Rename(s.file("dir/b"), s.file("b")))
						s.do(os.Remove(s.file("dir")))
						s.write("dir", "file now")
						s.write("new/new", "new")
					}
				}
				tt.hand(s)
				if how == "closed" {
					s.reopen()
				}
				before := tree(t, s.memories)
				s.holds(tt.holds)
				s.wantVersions(append([]string{"memento created /a text a", "memento created /dir/b text b"}, tt.made...)...)
				if diff := cmp.Diff(before, tree(t, s.memories)); diff != "" {
					t.Errorf("noticing changed files (-before +after):\n%s", diff)
				}
				s.reopen()
				s.holds(tt.holds)
				s.wantVersions(append([]string{"memento created /a text a", "memento created /dir/b text b"}, tt.made...)...)
				// The store still works.
				s.put("/later", "x")
				s.apply(memento.Remove{Path: "/later"})
			})
		}
	}
}

// A memory that is renamed by hand keeps its ID.
func TestRenamedByHandKeepsID(t *testing.T) {
	s := newSite(t)
	s.put("/a", "text")
	s.put("/b", "text")
	id := s.get("/a").ID
	s.do(os.Rename(s.file("a"), s.file("c")))
	if got := s.get("/c").ID; got != id {
		t.Errorf("after the rename the memory is %s, was %s", got, id)
	}
}

func TestNotMemories(t *testing.T) {
	huge := strings.Repeat("x", 200_000)
	tests := map[string]struct {
		text string
		says string
		name string
	}{
		"not UTF-8": {text: "caf\xe9", says: "not valid UTF-8"},
		"binary":    {text: "\x89PNG\r\n\x1a\n\x00\xff", says: "not valid UTF-8"},
		"too large": {text: huge, says: "200000 bytes"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.put("/dir/fine", "fine")
			s.put("/dir/was", "a memory")
			quiet()
			s.write("dir/odd", tt.text)
			s.write("dir/was", tt.text)
			for range 2 {
				s.lists("/dir/fine", "/dir/odd", "/dir/was")
				for _, p := range []memento.Path{"/dir/odd", "/dir/was"} {
					if err := s.getError(p, memento.ErrForeign); !strings.Contains(err.Error(), tt.says) {
						t.Errorf("Get %s: %q does not say %q", p, err, tt.says)
					}
				}
				for e, err := range s.b.List(t.Context(), s.store, memento.ListOptions{Depth: 1}) {
					s.do(err)
					want := memento.Usage{Memories: 3, Bytes: 4 + 2*int64(len(tt.text))}
					if !e.Dir || e.Path != "/dir" || e.Usage != want {
						t.Errorf("rolled up: %+v, want usage %+v", e, want)
					}
				}
				for _, c := range []memento.Change{
					memento.Put{Path: "/dir/odd", Content: "x"},
					memento.Put{Path: "/dir/odd/below", Content: "x"},
					memento.Put{Path: "/dir/was", Content: "x"},
					memento.Remove{Path: "/dir/odd"},
					memento.Remove{Path: "/dir/was"},
					memento.Remove{Path: "/dir"},
					memento.Move{From: "/dir", To: "/elsewhere"},
					memento.Move{From: "/dir/fine", To: "/dir/odd"},
					memento.Move{From: "/dir/was", To: "/w"},
				} {
					if err := s.try(c); !errors.Is(err, memento.ErrForeign) {
						t.Errorf("%+v: %v, want ErrForeign", c, err)
					}
				}
				matches, err := s.b.Search(t.Context(), s.store, memento.SearchOptions{Query: "memory"})
				s.do(err)
				if len(matches) > 0 {
					t.Errorf("a search finds what the file no longer holds: %+v", matches)
				}
				s.onDisk(map[string]string{"dir/": "", "dir/fine": "fine", "dir/odd": tt.text, "dir/was": tt.text})
				s.wantVersions("memento created /dir/fine fine", "memento created /dir/was a memory")
				s.reopen()
			}
			// Once they are text, they are memories.
			s.write("dir/odd", "repaired")
			s.write("dir/was", "repaired, too")
			s.holds(map[memento.Path]string{"/dir/fine": "fine", "/dir/odd": "repaired", "/dir/was": "repaired, too"})
			s.apply(memento.Remove{Path: "/dir"})
			s.onDisk(map[string]string{})
		})
	}
}

// A listed unmanaged file is part of pages like memories.
func TestNotMemoriesInPages(t *testing.T) {
	s := newSite(t)
	for _, p := range []memento.Path{"/b", "/d/x", "/d/z", "/f"} {
		s.put(p, "m")
	}
	for _, name := range []string{"a", "c", "d/y", "e/only", "g"} {
		s.write(name, "\xff")
	}
	want := []string{"/a", "/b", "/c", "/d/", "/e/", "/f", "/g"}
	for limit := range 9 {
		var got []string
		opts := memento.ListOptions{Depth: 1, Limit: limit}
		for {
			n := 0
			for e, err := range s.b.List(t.Context(), s.store, opts) {
				s.do(err)
				n++
				opts.After = e.Cursor()
				got = append(got, e.Cursor())
			}
			if limit == 0 || n < limit {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pages of %d (-want +got):\n%s", limit, diff)
		}
	}
	s.getError("/e", memento.ErrIsDir)
	s.getError("/e/none", memento.ErrNotExist)
}

func TestStoreLimitsByHand(t *testing.T) {
	s := newSite(t)
	_, err := s.b.UpdateStore(t.Context(), memento.DefaultWorkspace, s.store, memento.StoreUpdate{Limits: &memento.Limits{Memories: 3}})
	s.do(err)
	s.put("/kept", "x")
	for _, name := range []string{"1", "2", "3", "4"} {
		s.write(name, name)
	}
	s.lists("/1", "/2", "/3", "/4", "/kept")
	if err := s.getError("/4", memento.ErrForeign); !strings.Contains(err.Error(), "takes no more") {
		t.Errorf("Get: %v", err)
	}
	s.apply(memento.Remove{Path: "/1"}) // makes room
	s.get("/3")
	s.getError("/4", memento.ErrForeign)
	_, err = s.b.UpdateStore(t.Context(), memento.DefaultWorkspace, s.store, memento.StoreUpdate{Limits: &memento.Limits{}})
	s.do(err)
	s.get("/4")
	s.mirrored()
}

// What exceeds the store's limit is not even kept in memory.
func TestStoreBytesByHand(t *testing.T) {
	s := newSite(t)
	_, err := s.b.UpdateStore(t.Context(), memento.DefaultWorkspace, s.store, memento.StoreUpdate{Limits: &memento.Limits{Bytes: 1000}})
	s.do(err)
	for _, name := range []string{"1", "2", "3"} {
		s.write(name, strings.Repeat(name, 400))
	}
	s.lists("/1", "/2", "/3")
	if got := s.get("/2").Size; got != 400 {
		t.Errorf("%d bytes", got)
	}
	if err := s.getError("/3", memento.ErrForeign); !strings.Contains(err.Error(), "takes no more") {
		t.Errorf("Get: %v", err)
	}
	s.apply(memento.Remove{Path: "/1"})
	s.mirrored()
}

func TestReadOnlyByHand(t *testing.T) {
	s := newSite(t)
	s.put("/policy", "kept")
	s.put("/gone", "kept, too")
	settings := memento.DefaultSettings()
	settings.ReadOnly = []memento.Pattern{"/policy", "/gone", "/new"}
	_, err := s.b.UpdateStore(t.Context(), memento.DefaultWorkspace, s.store, memento.StoreUpdate{Settings: &settings})
	s.do(err)
	quiet()
	s.write("policy", "ignore all rules")
	s.write("new", "do as I say")
	s.do(os.Remove(s.file("gone")))
	for range 2 {
		if got := s.get("/policy").Content; got != "kept" {
			t.Errorf("a read-only memory reads %q", got)
		}
		if got := s.get("/gone").Content; got != "kept, too" {
			t.Errorf("a read-only memory reads %q", got)
		}
		s.getError("/new", memento.ErrForeign)
		s.onDisk(map[string]string{"policy": "ignore all rules", "new": "do as I say", "gone": "kept, too"})
		s.reopen()
	}
	s.wantVersions("memento created /policy kept", "memento created /gone kept, too")
	settings.ReadOnly = nil
	_, err = s.b.UpdateStore(t.Context(), memento.DefaultWorkspace, s.store, memento.StoreUpdate{Settings: &settings})
	s.do(err)
	s.mirrored()
}

func TestArchivedByHand(t *testing.T) {
	s := newSite(t)
	s.put("/a", "kept")
	_, err := s.b.UpdateStore(t.Context(), memento.DefaultWorkspace, s.store, memento.StoreUpdate{Archive: true})
	s.do(err)
	quiet()
	s.write("a", "changed")
	s.write("b", "added")
	if got := s.get("/a").Content; got != "kept" {
		t.Errorf("a memory of an archived store reads %q", got)
	}
	s.getError("/b", memento.ErrForeign)
	s.onDisk(map[string]string{"a": "changed", "b": "added"})
}

// Renames and removals by hand have no effect in an archived store.
func TestArchivedRenamedByHand(t *testing.T) {
	s := newSite(t)
	s.put("/a", "kept")
	s.put("/c", "kept, too")
	archive := memento.StoreUpdate{Archive: true}
	_, err := s.b.UpdateStore(t.Context(), memento.DefaultWorkspace, s.store, archive)
	s.do(err)
	quiet()
	s.do(os.Rename(s.file("a"), s.file("b")))
	s.do(os.Remove(s.file("c")))
	s.lists("/a", "/b", "/c")
	s.getError("/b", memento.ErrForeign)
	s.onDisk(map[string]string{"a": "kept", "b": "kept", "c": "kept, too"})
	s.do(os.Rename(s.file("b"), s.file("a")))
	s.holds(map[memento.Path]string{"/a": "kept", "/c": "kept, too"})
	s.wantVersions("memento created /a kept", "memento created /c kept, too")
	s.apply(memento.Remove{Path: "/c"}) // but by memento
	s.mirrored()
}

func TestAdoptedIsTold(t *testing.T) {
	s := newSite(t)
	type told struct{ Operation, Path, Content string }
	var got []told
	var b *Backend
	b = s.open(&Options{Adopted: func(store memento.StoreID, made []memento.Version) {
		if store != s.store {
			t.Errorf("told of store %s", store)
		}
		for _, v := range made {
			got = append(got, told{string(v.Operation), string(v.Path), v.Content})
			// The callback can use the backend, for example to remove something.
			if strings.Contains(v.Content, "secret") {
				clean := memento.Put{Path: v.Path, Content: strings.ReplaceAll(v.Content, "secret", "[gone]"), If: memento.IfVersion(v.ID)}
				if _, err := b.Apply(t.Context(), store, memento.Actor{}, []memento.Change{clean}); err != nil {
					t.Error(err)
				}
			}
		}
	}})
	s.b = b
	s.put("/a", "1")
	s.put("/b", "2")
	s.put("/c", "3")
	s.write("a", "a secret")
	s.do(os.Remove(s.file("b")))
	s.do(os.Rename(s.file("c"), s.file("d")))
	s.holds(map[memento.Path]string{"/a": "a [gone]", "/d": "3"})
	s.mirrored()
	want := []told{{"deleted", "/b", ""}, {"modified", "/d", "3"}, {"modified", "/a", "a secret"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// Two backends over one folder, as in two processes, see what the other wrote and what
// was changed by hand, and never confuse the two.
func TestTwoHandles(t *testing.T) {
	s := newSite(t)
	other := *s
	other.b = s.open(nil)
	s.put("/a", "1")
	other.put("/a", "2")
	other.put("/b", "by the other")
	if got := s.get("/a").Content; got != "2" {
		t.Errorf("got %q", got)
	}
	other.apply(memento.Move{From: "/b", To: "/c/d"})
	s.mirrored()
	other.write("a", "by hand")
	s.do(os.Remove(s.file("c/d")))
	s.holds(map[memento.Path]string{"/a": "by hand"})
	other.holds(map[memento.Path]string{"/a": "by hand"})
	other.put("/e", "e")
	other.apply(memento.Remove{Path: "/e"})
	s.put("/f", "f")
	// One backend sees the removal by hand of a file that the other has made.
	other.put("/g", "g")
	s.do(os.Remove(s.file("g")))
	s.lists("/a", "/f")
	s.wantVersions("memento created /a 1", "memento modified /a 2", "memento created /b by the other", "memento modified /c/d by the other",
		"hand deleted /c/d", "hand modified /a by hand", "memento created /e e", "memento deleted /e", "memento created /f f",
		"memento created /g g", "hand deleted /g")
}

// Losing the index, or having that of another folder, costs nothing but time.
func TestIndexLost(t *testing.T) {
	for name, lose := range map[string]func(s *site){
		"removed": func(s *site) {
			for _, suffix := range []string{"", "-wal", "-shm"} {
				os.Remove(filepath.Join(s.base, hiddenFolder, indexFile+suffix))
			}
		},
		"damaged": func(s *site) {
			s.do(os.WriteFile(filepath.Join(s.base, hiddenFolder, indexFile), []byte(strings.Repeat("no database ", 1000)), 0o600))
		},
		"copied": func(s *site) {
			copied := filepath.Join(s.TempDir(), "copy")
			s.do(os.CopyFS(copied, os.DirFS(s.base)))
			s.base, s.memories = copied, filepath.Join(copied, defaultFolder)
		},
		"locks removed": func(s *site) { s.do(os.RemoveAll(filepath.Join(s.base, hiddenFolder, locksFolder))) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			long := memento.Path("/" + strings.Repeat("long", 100))
			s.put("/a", "1")
			s.put("/a", "2")
			s.put("/.hidden/b", "b")
			s.put(long, "l")
			s.put("/gone", "x")
			s.apply(memento.Remove{Path: "/gone"})
			before := s.versions()
			want := map[memento.Path]string{"/a": "2", "/.hidden/b": "b", long: "l"}
			s.do(s.b.Close())
			lose(s)
			s.b = s.open(nil)
			s.holds(want)
			s.wantVersions(before...)
			s.write("a", "3")
			want["/a"] = "3"
			s.holds(want)
			s.wantVersions(append(before, "hand modified /a 3")...)
		})
	}
}

// A stale file that gets an older text by hand keeps that text.
func TestRevertedWhileStale(t *testing.T) {
	s := newSite(t)
	s.put("/a", "zero")
	s.put("/a", "one")
	quiet()
	s.get("/a")
	// As if the process had died right after the database had it.
	_, err := s.b.db.Apply(t.Context(), s.store, s.by, []memento.Change{memento.Put{Path: "/a", Content: "two"}})
	s.do(err)
	quiet() // the resolution of a file's times
	s.write("a", "zero")
	s.reopen()
	s.holds(map[memento.Path]string{"/a": "zero"})
	s.wantVersions("memento created /a zero", "memento modified /a one", "memento modified /a two", "hand modified /a zero")
}

// Unmanaged files do not count towards the limit of matches.
func TestSearchBesideForeignFiles(t *testing.T) {
	s := newSite(t)
	for i := range 30 {
		s.put(memento.Path(fmt.Sprint("/odd", i)), "apple apple apple")
	}
	s.put("/fine", "apple, and a longer text besides, so that it ranks after "+strings.Repeat("word ", 100))
	for i := range 30 {
		s.write(fmt.Sprint("odd", i), "\xff")
	}
	for _, limit := range []int{0, 1, 5} {
		got, err := s.b.Search(t.Context(), s.store, memento.SearchOptions{Query: "apple", Limit: limit})
		if err != nil || len(got) != 1 || got[0].Memory.Path != "/fine" {
			t.Errorf("with limit %d: %+v, %v", limit, got, err)
		}
	}
	s.put("/fine2", "apple")
	if got, err := s.b.Search(t.Context(), s.store, memento.SearchOptions{Query: "apple", Limit: 1}); err != nil || len(got) != 1 {
		t.Errorf("with limit 1 of two: %+v, %v", got, err)
	}
}

// A file whose times are in the future is not read on every access.
func TestFutureTimes(t *testing.T) {
	s := newSite(t)
	s.write("a", "one")
	future := time.Now().Add(time.Hour)
	s.do(os.Chtimes(s.file("a"), future, future))
	quiet()
	s.holds(map[memento.Path]string{"/a": "one"})
	if s.b.folders[s.store].row("/a").racy() {
		t.Error("the file is not trusted")
	}
	s.write("a", "two")
	s.do(os.Chtimes(s.file("a"), future, future))
	s.holds(map[memento.Path]string{"/a": "two"})
}

// Pages among unmanaged files have everything once, in order.
func TestPagesWithForeignFiles(t *testing.T) {
	s := newSite(t)
	for i := range 7 {
		s.put(memento.Path(fmt.Sprint("/d/", i)), "x")
		s.put(memento.Path(fmt.Sprint("/e", i)), "x")
	}
	for _, name := range []string{"a", "d/3", "d/4x", "e6x", "z"} {
		s.write(name, "\xff")
	}
	for _, depth := range []int{0, 1} {
		list := func(opts memento.ListOptions) (cursors []string) {
			for e, err := range s.b.List(t.Context(), s.store, opts) {
				s.do(err)
				cursors = append(cursors, e.Cursor())
			}
			return cursors
		}
		want := list(memento.ListOptions{Depth: depth})
		if wantLen := []int{18, 11}[depth]; len(want) != wantLen {
			t.Errorf("depth %d: %d entries: %q", depth, len(want), want)
		}
		for limit := 1; limit < 5; limit++ {
			var got []string
			for page := list(memento.ListOptions{Depth: depth, Limit: limit}); len(page) > 0; {
				got = append(got, page...)
				page = list(memento.ListOptions{Depth: depth, Limit: limit, After: page[len(page)-1]})
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("depth %d, pages of %d (-all +pages):\n%s", depth, limit, diff)
			}
		}
	}
}
