package dirstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend"
	"memento/backend/sqlitestore"
	"memento/test/proctest"

	"github.com/google/go-cmp/cmp"
)

// A restoration has a folder with memories, and a backup of another.
type restoration struct {
	*site         // with the memory /old
	dir    string // in which the folder is
	backup string
	files  map[string]string // that the backup makes, and that are memories
	others []memento.StoreID // of the backup
}

const teamWorkspace memento.Workspace = "team"

func newRestoration(t *testing.T) *restoration {
	t.Helper()
	r := &restoration{dir: t.TempDir()}
	r.backup = filepath.Join(r.dir, "backup")
	from := newSite(t)
	from.put("/a", "one")
	from.put("/a", "two")
	from.put("/dir/b", "three")
	from.write("by-hand", "before the backup")
	for _, ws := range []memento.Workspace{memento.DefaultWorkspace, teamWorkspace} {
		info, err := from.b.CreateStore(t.Context(), ws, memento.StoreSpec{Name: "Other store"})
		from.do(err)
		_, err = from.b.Apply(t.Context(), info.ID, from.by, []memento.Change{memento.Put{Path: "/of", Content: string(ws)}})
		from.do(err)
		r.others = append(r.others, info.ID)
	}
	sum, err := from.b.Backup(t.Context(), r.backup, nil)
	from.do(err)
	if sum.Stores != 3 || sum.Memories != 5 || sum.Versions != 6 {
		t.Errorf("backup of %+v", sum)
	}
	from.wantVersions("memento created /a one", "memento modified /a two", "memento created /dir/b three", "hand created /by-hand before the backup")
	r.files = tree(t, from.memories)

	r.site = &site{T: t, base: filepath.Join(r.dir, "memory"), by: from.by}
	r.memories = filepath.Join(r.base, defaultFolder)
	r.site.b = r.open(nil)
	info, err := r.b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "default"})
	r.do(err)
	r.store = info.ID
	r.put("/old", "kept")
	r.do(r.b.Close())
	return r
}

// restored checks that the folder at base has all of the backup, on disk before it is
// opened.
func (r *restoration) restored(base string) {
	r.Helper()
	if diff := cmp.Diff(r.files, tree(r, filepath.Join(base, defaultFolder))); diff != "" {
		r.Errorf("files (-want +got):\n%s", diff)
	}
	r.opens(base)
}

// opens checks that the folder at base has all of the backup when it is opened.
func (r *restoration) opens(base string) {
	r.Helper()
	s := &site{T: r.T, base: base, memories: filepath.Join(base, defaultFolder), by: r.by}
	s.b = s.open(nil)
	defer func() { s.do(s.b.Close()) }()
	for info, err := range s.b.ListStores(r.Context(), memento.DefaultWorkspace, memento.StoreListOptions{Name: "default"}) {
		s.do(err)
		s.store = info.ID
	}
	s.mirrored()
	s.holds(map[memento.Path]string{"/a": "two", "/dir/b": "three", "/by-hand": "before the backup"})
	s.wantVersions("memento created /a one", "memento modified /a two", "memento created /dir/b three", "hand created /by-hand before the backup")
	for i, want := range []string{string(memento.DefaultWorkspace), string(teamWorkspace)} {
		m, err := s.b.Get(r.Context(), r.others[i], memento.ByPath("/of"))
		if err != nil || m.Content != want {
			r.Errorf("another store has %q, %v", m.Content, err)
		}
	}
	for name, want := range map[string]string{"other-store": "default", "store": "team"} {
		text, err := os.ReadFile(filepath.Join(base, "stores", name, "memories", "of"))
		if err != nil || string(text) != want {
			r.Errorf("%s: %q, %v", name, text, err)
		}
	}
	s.put("/later", "x")
	s.apply(memento.Remove{Path: "/later"})
}

// intact checks that the folder at base has what it had.
func (r *restoration) intact(base string) {
	r.Helper()
	s := *r.site
	s.base, s.memories = base, filepath.Join(base, defaultFolder)
	s.b = s.open(nil)
	s.holds(map[memento.Path]string{"/old": "kept"})
	s.wantVersions("memento created /old kept")
	s.mirrored()
	s.do(s.b.Close())
}

// names returns what is in the folder with the folder, without the digits of what was left.
func (r *restoration) names() (names []string) {
	r.Helper()
	entries, err := os.ReadDir(r.dir)
	r.do(err)
	for _, e := range entries {
		name, _, left := strings.Cut(e.Name(), ".restoring-")
		if left {
			name += ".restoring"
		}
		names = append(names, name)
	}
	return names
}

var replacing = &RestoreOptions{Replace: true, Now: func() time.Time { return time.Date(2026, 11, 21, 10, 15, 0, 0, time.UTC) }}

const keptAs = "memory.before-20261121T101500Z"

// A backup makes a folder where there is none, or one without memories.
func TestRestore(t *testing.T) {
	r := newRestoration(t)
	for name, prepare := range map[string]func(base string) error{
		"new":    func(string) error { return nil },
		"empty":  func(base string) error { return os.Mkdir(base, 0o700) },
		"others": func(base string) error { return os.MkdirAll(filepath.Join(base, "src"), 0o700) },
		"began":  func(base string) error { return os.MkdirAll(filepath.Join(base, hiddenFolder, locksFolder), 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			r := *r
			r.site = &site{T: t, by: r.by}
			base := filepath.Join(r.dir, name)
			r.do(prepare(base))
			done, err := Restore(t.Context(), base, r.backup, nil)
			r.do(err)
			if done.Memories != 5 || done.Kept != "" {
				t.Errorf("restored %+v", done)
			}
			r.restored(base)
		})
	}
}

// A folder with memories is only replaced on request, and is kept.
func TestRestoreReplaces(t *testing.T) {
	r := newRestoration(t)
	_, err := Restore(t.Context(), r.base, r.backup, nil)
	if !errors.Is(err, memento.ErrExist) || strings.Contains(err.Error(), r.dir) {
		t.Errorf("without leave: %v", err)
	}
	r.intact(r.base)
	done, err := Restore(t.Context(), r.base, r.backup, replacing)
	r.do(err)
	if done.Kept != filepath.Join(r.dir, keptAs) {
		t.Errorf("kept as %q", done.Kept)
	}
	r.restored(r.base)
	r.intact(done.Kept)
	if want := []string{"backup", "memory", keptAs}; !slices.Equal(r.names(), want) {
		t.Errorf("there are %q, want %q", r.names(), want)
	}
	// A folder of the SDKs' local tools has no database.
	r.do(os.RemoveAll(filepath.Join(r.base, hiddenFolder)))
	done, err = Restore(t.Context(), r.base, r.backup, replacing)
	r.do(err)
	if done.Kept != filepath.Join(r.dir, keptAs+"-2") {
		t.Errorf("kept as %q", done.Kept)
	}
	r.restored(r.base)
}

// If Restore refuses, it changes nothing.
func TestRestoreRefuses(t *testing.T) {
	r := newRestoration(t)
	r.do(os.WriteFile(filepath.Join(r.dir, "damaged"), []byte("no backup"), 0o600))
	r.do(os.CopyFS(filepath.Join(r.dir, "project"), os.DirFS(r.base)))
	r.do(os.Mkdir(filepath.Join(r.dir, "project", ".git"), 0o700))
	before := r.names()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name         string
		ctx          context.Context
		base, backup string
		want         error
	}{
		{"damaged", t.Context(), "memory", "damaged", memento.ErrFormat},
		{"damaged, new", t.Context(), "new", "damaged", memento.ErrFormat},
		{"no backup", t.Context(), "memory", "missing", os.ErrNotExist},
		{"a file", t.Context(), "damaged", "backup", memento.ErrForeign},
		{"with other things", t.Context(), "project", "backup", memento.ErrExist},
		{"cancelled", cancelled, "memory", "backup", context.Canceled},
		{"no folder", t.Context(), "missing/memory", "backup", os.ErrNotExist},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Restore(tt.ctx, filepath.Join(r.dir, tt.base), filepath.Join(r.dir, tt.backup), replacing)
			if !errors.Is(err, tt.want) || err != nil && strings.Contains(err.Error(), r.dir) {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
	if !slices.Equal(r.names(), before) {
		t.Errorf("there are %q, want %q", r.names(), before)
	}
	r.intact(r.base)

	// While a process has it open.
	b := r.open(nil)
	c := proctest.Start(t, childTask{Kind: "restore", Base: r.base, Backup: r.backup})
	if err := c.Wait(); err == nil || !strings.Contains(c.Errs.String(), backend.ErrInUse.Error()) {
		t.Errorf("in use: %v, %s", err, c.Errs.String())
	}
	if _, err := Restore(t.Context(), r.base, r.backup, replacing); !errors.Is(err, backend.ErrInUse) {
		t.Errorf("in use by this process: %v", err)
	}
	r.do(b.Close())
	r.intact(r.base)
	if !slices.Equal(r.names(), before) {
		t.Errorf("there are %q, want %q", r.names(), before)
	}
}

// A process that dies while restoring leaves either the old memories or the new ones.
func TestRestoreKilled(t *testing.T) {
	for _, step := range []string{"held", "database", "installed", "indexed", "filled", "exchanged"} {
		t.Run("replacing/"+step, func(t *testing.T) {
			t.Parallel()
			r := newRestoration(t)
			if !proctest.Start(t, childTask{Kind: "restore", Base: r.base, Backup: r.backup, Step: step}).Died(t) {
				t.Fatal("the process lives")
			}
			want := []string{"backup", "memory", "memory.restoring"}
			switch step {
			case "exchanged":
				r.restored(r.base)
			case "held":
				want = want[:2]
				fallthrough
			default:
				r.intact(r.base)
			}
			if !slices.Equal(r.names(), want) {
				t.Errorf("there are %q, want %q", r.names(), want)
			}
			_, err := Restore(t.Context(), r.base, r.backup, replacing)
			r.do(err)
			r.restored(r.base)
		})
	}
	for _, step := range []string{"database", "written", "installed", "indexed"} {
		t.Run("new/"+step, func(t *testing.T) {
			t.Parallel()
			r := newRestoration(t)
			base := filepath.Join(r.dir, "new")
			if !proctest.Start(t, childTask{Kind: "restore", Base: base, Backup: r.backup, Step: step}).Died(t) {
				t.Fatal("the process lives")
			}
			b, err := Open(t.Context(), base, nil)
			r.do(err)
			r.do(errors.Join(b.refreshAll(t.Context()), b.Close()))
			r.restored(base)
		})
	}
}

// A backup of dirstore can be restored by sqlitestore, and the other way round.
func TestRestoreElsewhere(t *testing.T) {
	r := newRestoration(t)
	path := filepath.Join(r.dir, "memento.db")
	if _, err := sqlitestore.Restore(t.Context(), path, r.backup, nil); err != nil {
		t.Fatal(err)
	}
	b, err := sqlitestore.Open(t.Context(), path, nil)
	r.do(err)
	defer b.Close()
	m, err := b.Get(t.Context(), r.others[1], memento.ByPath("/of"))
	if err != nil || m.Content != string(teamWorkspace) {
		t.Errorf("%q, %v", m.Content, err)
	}
	again := filepath.Join(r.dir, "again")
	_, err = b.Backup(t.Context(), again, nil)
	r.do(err)
	base := filepath.Join(r.dir, "folder")
	_, err = Restore(t.Context(), base, again, nil)
	r.do(err)
	r.restored(base)
}

// A closed backend makes no backup, and a backup overwrites nothing.
func TestBackupRefuses(t *testing.T) {
	s := newSite(t)
	path := filepath.Join(t.TempDir(), "backup")
	s.do(os.WriteFile(path, []byte("here"), 0o600))
	if _, err := s.b.Backup(t.Context(), path, nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("%v", err)
	}
	s.do(s.b.Close())
	if _, err := s.b.Backup(t.Context(), path+"2", nil); !errors.Is(err, memento.ErrClosed) {
		t.Errorf("%v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "here" {
		t.Errorf("%q, %v", text, err)
	}
}

// A process that opens the folder while it is replaced gets the new one.
func TestRestoreWhileOpened(t *testing.T) {
	r := newRestoration(t)
	opened := make(chan error)
	opts := *replacing
	opts.hook = func(step string) {
		if step != "held" {
			return
		}
		go func() {
			b, err := Open(t.Context(), r.base, nil)
			if err == nil {
				_, err = b.Get(t.Context(), r.others[0], memento.ByPath("/of"))
				err = errors.Join(err, b.Close())
			}
			opened <- err
		}()
		for proctest.TimesOpen(filepath.Join(r.base, hiddenFolder, dbFile)) == 1 { // the restore's own
			time.Sleep(time.Millisecond)
		}
	}
	done, err := Restore(t.Context(), r.base, r.backup, &opts)
	r.do(err)
	r.do(<-opened)
	r.restored(r.base)
	r.intact(done.Kept)
}
