package foldersync

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend"
	"memento/backend/memstore"

	"github.com/google/go-cmp/cmp"
)

var (
	agent = memento.Actor{Kind: memento.ActorSession, ID: "sesn_1"}
	ana   = memento.Actor{Kind: memento.ActorUser, ID: "ana"}
)

// A pair is a folder and a store for a test.
type pair struct {
	t     tester
	dir   string
	state string
	store *memento.Store
	opts  Options
	did   []string // actions of the last sync
	last  Result
	step  func(string)
	plain bool // see folder.plain
	slow  bool // whether displaced files are kept as long as by default
}

// A tester is a test, or a check of a property.
type tester interface {
	Helper()
	Context() context.Context
	Errorf(string, ...any)
	Fatal(...any)
}

// newStore returns a store in memory without detection of secrets.
func newStore(t testing.TB) *memento.Store {
	t.Helper()
	b := memstore.New(nil)
	t.Cleanup(func() { b.Close() })
	return openStore(b)
}

// openStore returns the store in a backend that tests use.
func openStore(b memento.Backend) *memento.Store {
	settings := memento.DefaultSettings()
	settings.Sensitive.Mode = memento.Off
	return memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "notes", Settings: &settings}, nil)
}

// newPair returns an empty folder that is synced with a store.
func newPair(t testing.TB, store *memento.Store) *pair {
	t.Helper()
	temp, err := os.MkdirTemp(shm(), "foldersync-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temp) })
	return pairIn(t, temp, store)
}

// shm returns a folder in main memory, where flushing costs nothing, or "".
func shm() string {
	if info, err := os.Stat("/dev/shm"); err != nil || !info.IsDir() {
		return ""
	}
	return "/dev/shm"
}

// pairIn is newPair in a folder of the caller's.
func pairIn(t tester, temp string, store *memento.Store) *pair {
	t.Helper()
	p := &pair{t: t, dir: filepath.Join(temp, "notes"), state: filepath.Join(temp, "state", "x.db"), store: store}
	p.do(os.MkdirAll(p.dir, 0o700))
	p.opts = Options{Actor: ana, Host: "host", Now: func() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }}
	return p
}

// try syncs once, and returns the error.
func (p *pair) try() error {
	p.t.Helper()
	p.did = nil
	opts := p.opts
	opts.Report = func(a Action) {
		text := string(a.Kind) + " " + string(a.Path)
		if a.From != "" {
			text += " from " + string(a.From)
		}
		if a.Copy != "" {
			text += " to " + string(a.Copy)
		}
		if a.Kept {
			text += " kept"
		}
		p.did = append(p.did, text)
	}
	s, err := Open(p.dir, p.store, p.state, &opts)
	if err != nil {
		return err
	}
	if p.step != nil {
		s.step = p.step
	}
	s.folder.plain = p.plain
	if !p.slow {
		s.settling = 0
	}
	p.last, err = s.Sync(p.t.Context())
	return errors.Join(err, s.Close())
}

// sync syncs once, and checks what was done.
func (p *pair) sync(want ...string) {
	p.t.Helper()
	if err := p.try(); err != nil {
		p.t.Fatal(err)
	}
	if diff := cmp.Diff(want, p.did); diff != "" {
		p.t.Errorf("actions (-want +got)\n%s", diff)
	}
}

// write writes a file, as an editor that replaces it.
func (p *pair) write(name, text string) {
	p.t.Helper()
	full := filepath.Join(p.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		p.t.Fatal(err)
	}
	temp := filepath.Join(filepath.Dir(full), ".new")
	p.do(os.WriteFile(temp, []byte(text), 0o600))
	p.do(os.Rename(temp, full))
}

func (p *pair) do(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *pair) removeFile(name string) { p.do(os.Remove(filepath.Join(p.dir, name))) }

func (p *pair) put(path memento.Path, text string) {
	p.t.Helper()
	p.apply(memento.Put{Path: path, Content: text})
}

func (p *pair) apply(changes ...memento.Change) {
	p.t.Helper()
	_, err := p.store.Apply(p.t.Context(), agent, changes...)
	p.do(err)
}

// files returns the texts of all files, except hidden ones, by path.
func (p *pair) files() map[string]string {
	p.t.Helper()
	texts := map[string]string{}
	p.do(fs.WalkDir(os.DirFS(p.dir), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(d.Name(), ".") && d.IsDir():
			return fs.SkipDir
		case d.IsDir() || strings.HasPrefix(d.Name(), "."):
			return nil
		}
		text, err := os.ReadFile(filepath.Join(p.dir, name))
		texts["/"+name] = string(text)
		return err
	}))
	return texts
}

// memories returns the texts of all memories, by path.
func (p *pair) memories() map[string]string {
	p.t.Helper()
	texts := map[string]string{}
	for e, err := range p.store.List(p.t.Context(), memento.ListOptions{Contents: true}) {
		p.do(err)
		texts[string(e.Path)] = e.Memory.Content
	}
	return texts
}

// both checks that both sides have these notes, and that nothing is left to do.
func (p *pair) both(want map[string]string) {
	p.t.Helper()
	if diff := cmp.Diff(want, p.files()); diff != "" {
		p.t.Errorf("files (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(want, p.memories()); diff != "" {
		p.t.Errorf("memories (-want +got)\n%s", diff)
	}
	p.sync()
	p.noLeftovers()
}

// noLeftovers checks that no temporary file is left.
func (p *pair) noLeftovers() {
	p.t.Helper()
	p.do(fs.WalkDir(os.DirFS(p.dir), ".", func(name string, d fs.DirEntry, err error) error {
		if strings.HasPrefix(d.Name(), tempPrefix) {
			p.t.Errorf("%s is left", name)
		}
		return err
	}))
}

type texts = map[string]string

func TestOneSide(t *testing.T) {
	p := newPair(t, newStore(t))
	p.write("a.md", "a\n")
	p.write("d/b.md", "b\n")
	p.put("/c/d/e.md", "e\n")
	p.sync("upload /a.md", "download /c/d/e.md", "upload /d/b.md")
	p.both(texts{"/a.md": "a\n", "/d/b.md": "b\n", "/c/d/e.md": "e\n"})

	p.write("a.md", "a2\n")
	p.put("/d/b.md", "b2\n")
	p.sync("upload /a.md", "download /d/b.md")
	p.both(texts{"/a.md": "a2\n", "/d/b.md": "b2\n", "/c/d/e.md": "e\n"})

	p.removeFile("d/b.md")
	p.apply(memento.Remove{Path: "/c/d/e.md"})
	p.sync("delete_in_folder /c/d/e.md", "delete_in_store /d/b.md")
	p.both(texts{"/a.md": "a2\n"})
	if _, err := os.Stat(filepath.Join(p.dir, "c")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder is left: %v", err)
	}
}

func TestRenames(t *testing.T) {
	p := newPair(t, newStore(t))
	p.write("a.md", "a\n")
	p.write("b.md", "b\n")
	p.write("c.md", "c\n")
	p.sync("upload /a.md", "upload /b.md", "upload /c.md")
	before, err := p.store.Peek(t.Context(), memento.ByPath("/a.md"))
	p.do(err)

	p.do(os.Mkdir(filepath.Join(p.dir, "x"), 0o700))
	p.do(os.Rename(filepath.Join(p.dir, "a.md"), filepath.Join(p.dir, "x", "a.md")))
	p.put("/a.md", "a, edited by the agent\n")
	p.apply(memento.Move{From: "/b.md", To: "/y/b.md"})
	p.write("b.md", "b, edited by hand\n")
	p.sync("rename_in_store /x/a.md from /a.md", "rename_in_folder /y/b.md from /b.md", "download /x/a.md", "upload /y/b.md")
	p.both(texts{"/x/a.md": "a, edited by the agent\n", "/y/b.md": "b, edited by hand\n", "/c.md": "c\n"})
	after, err := p.store.Peek(t.Context(), memento.ByPath("/x/a.md"))
	p.do(err)
	if after.ID != before.ID {
		t.Errorf("the renamed note has the ID %s, not %s", after.ID, before.ID)
	}

	// Both sides rename: to the same path, and to different ones.
	p.apply(memento.Move{From: "/c.md", To: "/z.md"}, memento.Move{From: "/y/b.md", To: "/b1.md"})
	p.do(os.Rename(filepath.Join(p.dir, "c.md"), filepath.Join(p.dir, "z.md")))
	p.do(os.Rename(filepath.Join(p.dir, "y", "b.md"), filepath.Join(p.dir, "b2.md")))
	p.sync("rename_in_folder /b1.md from /y/b.md")
	p.both(texts{"/x/a.md": "a, edited by the agent\n", "/b1.md": "b, edited by hand\n", "/z.md": "c\n"})

	// A chain and an exchange.
	p.apply(memento.Move{From: "/z.md", To: "/z3.md"}, memento.Move{From: "/b1.md", To: "/z.md"})
	p.sync("rename_in_folder /z3.md from /z.md", "rename_in_folder /z.md from /b1.md")
	p.apply(memento.Move{From: "/z.md", To: "/t"}, memento.Move{From: "/z3.md", To: "/z.md"}, memento.Move{From: "/t", To: "/z3.md"})
	p.sync("download /z.md", "download /z3.md")
	p.both(texts{"/x/a.md": "a, edited by the agent\n", "/z3.md": "b, edited by hand\n", "/z.md": "c\n"})

	// One side renames, the other deletes: the note stays.
	p.do(os.Rename(filepath.Join(p.dir, "z.md"), filepath.Join(p.dir, "kept.md")))
	p.apply(memento.Remove{Path: "/z.md"}, memento.Move{From: "/z3.md", To: "/kept2.md"})
	p.removeFile("z3.md")
	p.sync("upload /kept.md", "download /kept2.md")
	p.both(texts{"/x/a.md": "a, edited by the agent\n", "/kept2.md": "b, edited by hand\n", "/kept.md": "c\n"})
}

func TestBothSides(t *testing.T) {
	p := newPair(t, newStore(t))
	p.write("merge.md", "one\ntwo\nthree\n")
	p.write("clash.md", "one\ntwo\n")
	p.write("gone in folder.md", "x\n")
	p.write("gone in store.md", "y\n")
	p.do(p.try())

	p.write("merge.md", "ONE\ntwo\nthree\n")
	p.put("/merge.md", "one\ntwo\nTHREE\nfour\n")
	p.write("clash.md", "one\nby hand\n")
	p.put("/clash.md", "one\nby agent\n")
	p.removeFile("gone in folder.md")
	p.put("/gone in folder.md", "x, edited\n")
	p.write("gone in store.md", "y, edited\n")
	p.apply(memento.Remove{Path: "/gone in store.md"})
	p.sync(
		"conflict /clash.md to /clash (conflict 2026-11-22 host).md",
		"download /gone in folder.md kept",
		"upload /gone in store.md kept",
		"merge /merge.md",
		"upload /clash (conflict 2026-11-22 host).md",
	)
	p.both(texts{
		"/merge.md": "ONE\ntwo\nTHREE\nfour\n", "/clash.md": "one\nby agent\n", "/clash (conflict 2026-11-22 host).md": "one\nby hand\n",
		"/gone in folder.md": "x, edited\n", "/gone in store.md": "y, edited\n",
	})

	// Another conflict on the same day.
	p.write("clash.md", "by hand again\n")
	p.put("/clash.md", "by agent again\n")
	p.sync("conflict /clash.md to /clash (conflict 2026-11-22 host 2).md", "upload /clash (conflict 2026-11-22 host 2).md")
}

// Without a state, equal notes are the same, and others are kept both.
func TestNoState(t *testing.T) {
	p := newPair(t, newStore(t))
	p.write("same.md", "same\n")
	p.write("other.md", "by hand\n")
	p.put("/same.md", "same\n")
	p.put("/other.md", "by agent\n")
	p.sync("conflict /other.md to /other (conflict 2026-11-22 host).md", "upload /other (conflict 2026-11-22 host).md")
	p.both(texts{"/same.md": "same\n", "/other.md": "by agent\n", "/other (conflict 2026-11-22 host).md": "by hand\n"})

	// The same conflict makes no other copy.
	p.do(os.RemoveAll(filepath.Dir(p.state)))
	p.write("other.md", "by hand\n")
	p.sync("conflict /other.md to /other (conflict 2026-11-22 host).md")
	p.both(texts{"/same.md": "same\n", "/other.md": "by agent\n", "/other (conflict 2026-11-22 host).md": "by hand\n"})
}

// A note becomes a directory and the reverse, on either side.
func TestNoteAndDirectory(t *testing.T) {
	p := newPair(t, newStore(t))
	p.write("a", "a\n")
	p.write("d/b", "b\n")
	p.put("/e/f", "f\n")
	p.put("/g", "g\n")
	p.do(p.try())
	p.removeFile("a")
	p.write("a/x", "ax\n")
	p.do(os.RemoveAll(filepath.Join(p.dir, "d")))
	p.write("d", "dd\n")
	p.apply(memento.Remove{Path: "/e/f"}, memento.Put{Path: "/e", Content: "ee\n"}, memento.Remove{Path: "/g"}, memento.Put{Path: "/g/h", Content: "gh\n"})
	p.do(p.try())
	p.both(texts{"/a/x": "ax\n", "/d": "dd\n", "/e": "ee\n", "/g/h": "gh\n"})
}

func TestDryRun(t *testing.T) {
	p := newPair(t, newStore(t))
	p.write("a.md", "a\n")
	p.opts.DryRun = true
	p.sync("upload /a.md")
	if _, err := os.Stat(filepath.Dir(p.state)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a dry run makes a state file: %v", err)
	}
	if _, err := p.store.ID(t.Context()); !errors.Is(err, memento.ErrNoStore) {
		t.Errorf("a dry run makes the store: %v", err)
	}
	p.opts.DryRun = false
	p.write("m.md", "1\n2\n3\n")
	p.write("n.md", "n\n")
	p.write("r.md", "r\n")
	p.do(p.try())
	p.write("m.md", "one\n2\n3\n")
	p.put("/m.md", "1\n2\nthree\n")
	p.write("n.md", "by hand\n")
	p.put("/n.md", "by agent\n")
	p.do(os.Rename(filepath.Join(p.dir, "r.md"), filepath.Join(p.dir, "s.md")))
	p.put("/r.md", "r2\n")
	p.removeFile("a.md")
	files, memories := p.files(), p.memories()
	p.opts.DryRun = true
	want := []string{
		"rename_in_store /s.md from /r.md", "delete_in_store /a.md", "merge /m.md",
		"conflict /n.md to /n (conflict 2026-11-22 host).md", "download /s.md",
	}
	p.sync(want...)
	if diff := cmp.Diff(files, p.files()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(memories, p.memories()); diff != "" {
		t.Error(diff)
	}
	p.opts.DryRun = false
	p.sync(append(want, "upload /n (conflict 2026-11-22 host).md")...)
}

func TestManyDeletions(t *testing.T) {
	p := newPair(t, newStore(t))
	want := texts{}
	for i := range 30 {
		p.write(fmt.Sprintf("%02d.md", i), fmt.Sprint(i))
		want[fmt.Sprintf("/%02d.md", i)] = fmt.Sprint(i)
	}
	p.do(p.try())
	old := p.dir + " unmounted"
	p.do(os.Rename(p.dir, old))
	if err := p.try(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without the folder: %v", err)
	}
	p.do(os.Mkdir(p.dir, 0o700))
	if err := p.try(); !errors.Is(err, ErrManyDeletions) || !strings.Contains(err.Error(), "30 of 30 notes would be deleted in the store") {
		t.Errorf("with an empty folder: %v", err)
	}
	if diff := cmp.Diff(want, p.memories()); diff != "" {
		t.Error(diff)
	}
	p.opts.Force = true
	p.do(p.try())
	p.opts.Force = false
	p.both(texts{})
}

// Only one process syncs a pair at a time.
func TestLocked(t *testing.T) {
	p := newPair(t, newStore(t))
	s, err := Open(p.dir, p.store, p.state, nil)
	p.do(err)
	if err := p.try(); !errors.Is(err, backend.ErrInUse) {
		t.Errorf("a second process: %v", err)
	}
	p.do(s.Close())
	p.sync()
}
