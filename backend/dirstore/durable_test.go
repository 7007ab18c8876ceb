package dirstore

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"memento"
)

// A recorder is a syncer that records what is flushed, and lets some flushes fail.
type recorder struct {
	sync.Mutex
	flushed []os.FileInfo // in order; the zero value stands for a step
	steps   []string      // beside flushed: the step, or ""
	fails   func(info os.FileInfo) bool
}

func (r *recorder) note(info os.FileInfo, err error) error {
	if err != nil {
		return err
	}
	r.Lock()
	defer r.Unlock()
	if r.fails != nil && r.fails(info) {
		return syscall.EIO
	}
	r.flushed, r.steps = append(r.flushed, info), append(r.steps, "")
	return nil
}

func (r *recorder) syncFile(f *os.File) error     { return r.note(f.Stat()) }
func (r *recorder) syncFolder(dir *os.Root) error { return r.note(dir.Stat(".")) }

func (r *recorder) step(name string) {
	r.Lock()
	defer r.Unlock()
	r.flushed, r.steps = append(r.flushed, nil), append(r.steps, name)
}

func (r *recorder) reset(fails func(os.FileInfo) bool) {
	r.Lock()
	defer r.Unlock()
	r.flushed, r.steps, r.fails = nil, nil, fails
}

// flushedBefore reports whether the file now at path was flushed before the step before,
// and, if after is not "", after the step after.
func (r *recorder) flushedBefore(t *testing.T, path, after, before string) bool {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	r.Lock()
	defer r.Unlock()
	from, to := 0, slices.Index(r.steps, before)
	if after != "" {
		from = slices.Index(r.steps, after)
	}
	if from < 0 || to < from {
		t.Fatalf("steps %q and %q are not among %q", after, before, r.steps)
	}
	return slices.ContainsFunc(r.flushed[from:to], func(f os.FileInfo) bool { return f != nil && os.SameFile(f, info) })
}

// recorded returns a site with a few memories whose flushes are recorded.
func recorded(t *testing.T) (*site, *recorder) {
	t.Helper()
	s := newSite(t)
	for _, p := range []memento.Path{"/a", "/dir/b", "/dir/sub/c", "/last/d"} {
		s.put(p, "text of "+string(p))
	}
	s.do(s.b.Close())
	r := &recorder{}
	s.b = s.open(&Options{syncer: r, hook: r.step})
	s.listed()
	r.reset(nil)
	return s, r
}

// Before a change is recorded as done, everything that it needs is flushed: the contents
// of files before they are renamed to their final names, and every folder that has got or
// lost a name.
func TestFlushes(t *testing.T) {
	for _, tt := range []struct {
		what    string
		change  memento.Change
		file    string   // that was written, and is flushed before it is installed
		folders []string // that are flushed afterwards
	}{
		{"create", memento.Put{Path: "/dir/new", Content: "n"}, "dir/new", []string{"dir"}},
		{"create with folders", memento.Put{Path: "/x/y/new", Content: "n"}, "x/y/new", []string{".", "x", "x/y"}},
		{"overwrite", memento.Put{Path: "/dir/b", Content: "b2"}, "dir/b", []string{"dir"}},
		{"delete", memento.Remove{Path: "/dir/b"}, "", []string{"dir"}},
		{"delete the last", memento.Remove{Path: "/last/d"}, "", []string{"."}},
		{"delete a folder", memento.Remove{Path: "/dir"}, "", []string{"."}},
		{"rename", memento.Move{From: "/dir/b", To: "/last/b"}, "", []string{"dir", "last"}},
		{"rename a folder", memento.Move{From: "/dir", To: "/into/it"}, "", []string{".", "into", "into/it", "into/it/sub"}},
	} {
		t.Run(tt.what, func(t *testing.T) {
			s, r := recorded(t)
			s.apply(tt.change)
			if tt.file != "" && !r.flushedBefore(t, s.file(tt.file), "", "before-install") {
				t.Errorf("%s was put in its place before it was flushed", tt.file)
			}
			done := map[bool]string{true: "installed", false: "committed"}[tt.file != ""]
			for _, dir := range tt.folders {
				if !r.flushedBefore(t, s.file(dir), done, "indexed") {
					t.Errorf("the folder %s was not flushed", dir)
				}
			}
		})
	}
}

// The folders of a store are flushed in their parents.
func TestFlushesNewStore(t *testing.T) {
	r := &recorder{}
	s := &site{T: t, base: t.TempDir()}
	s.memories = filepath.Join(s.base, defaultFolder)
	s.b = s.open(&Options{syncer: r, hook: r.step})
	for _, name := range []string{"default", "other"} {
		info, err := s.b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: name})
		s.do(err)
		s.store = info.ID
		s.put("/a", "text")
		folders := []string{s.base}
		if name == "other" {
			folders = append(folders, filepath.Join(s.base, "stores"), filepath.Join(s.base, "stores", "other"))
		}
		for _, dir := range folders {
			if !r.flushedBefore(t, dir, "", "indexed") {
				t.Errorf("%s: %s was not flushed", name, dir)
			}
		}
		r.reset(nil)
	}
}

// A file that could not be flushed is not installed, and is written again.
func TestFlushOfFileFails(t *testing.T) {
	s, r := recorded(t)
	failures := 0
	r.reset(func(info os.FileInfo) bool {
		failures++
		return !info.IsDir()
	})
	s.apply(memento.Put{Path: "/a", Content: "two"}) // which the database has
	if got := tree(t, s.memories)["a"]; got != "text of /a" || failures == 0 {
		t.Errorf("after %d failures the file has %q", failures, got)
	}
	r.reset(nil)
	time.Sleep(retryDelay + 100*time.Millisecond)
	s.listed()
	s.mirrored()
	if s.get("/a").Content != "two" {
		t.Error("the change is lost")
	}
}

// A folder that could not be flushed is flushed before the index is updated, and the
// history is kept until then.
func TestFlushOfFolderFails(t *testing.T) {
	for _, change := range []memento.Change{
		memento.Remove{Path: "/dir/b"}, memento.Move{From: "/dir/b", To: "/dir/other"}, memento.Put{Path: "/dir/x/y", Content: "n"},
	} {
		s, r := recorded(t)
		dir, err := os.Stat(s.file("dir"))
		s.do(err)
		r.reset(func(info os.FileInfo) bool { return os.SameFile(info, dir) })
		s.apply(change)
		_, err = s.b.Prune(t.Context(), s.store, memento.PruneOptions{Before: time.Now().Add(time.Hour)})
		if !errors.Is(err, memento.ErrUnavailable) {
			t.Errorf("%+v: history was pruned that is needed: %v", change, err)
		}
		r.reset(nil)
		time.Sleep(retryDelay + 100*time.Millisecond)
		s.listed()
		if !r.flushedBefore(t, s.file("dir"), "before-dirsync", "indexed") {
			t.Errorf("%+v: the folder was not flushed again", change)
		}
		s.mirrored()
		if _, err = s.b.Prune(t.Context(), s.store, memento.PruneOptions{Before: time.Now().Add(time.Hour)}); err != nil {
			t.Errorf("%+v: after the flush: %v", change, err)
		}
	}
}

// A file made by hand whose flush fails becomes a memory, and is written again if a power
// failure loses it.
func TestFlushOfFoundFails(t *testing.T) {
	s, r := recorded(t)
	r.reset(func(os.FileInfo) bool { return true })
	s.write("hand", "by hand")
	s.listed()
	r.reset(nil)
	s.do(s.b.Close())
	s.do(os.Remove(s.file("hand"))) // as a power cut does
	s.b = s.open(nil)
	if got := s.get("/hand").Content; got != "by hand" {
		t.Errorf("%q", got)
	}
	s.mirrored()
}
