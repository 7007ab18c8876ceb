//go:build linux || darwin

package dirstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"memento"
	"memento/test/proctest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

const canary = "canary: nobody may read or change this"

// outside makes a folder beside the backend's, with files that must not be read or
// changed. It is checked when the test ends.
func (s *site) outside() string {
	s.Helper()
	dir := s.TempDir()
	for _, name := range []string{"file", "a", "sub/a"} {
		s.do(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		s.do(os.WriteFile(filepath.Join(dir, name), []byte(canary), 0o644))
	}
	before := tree(s, dir)
	s.Cleanup(func() {
		if diff := cmp.Diff(before, tree(s, dir)); diff != "" {
			s.Errorf("outside of the folder (-before +after):\n%s", diff)
		}
		for _, v := range s.history() {
			if strings.Contains(v.Content, canary) {
				s.Errorf("the history has what is outside: %+v", v)
			}
		}
	})
	return dir
}

func (s *site) history() (list []memento.Version) {
	s.Helper()
	b, err := Open(context.Background(), s.base, nil)
	s.do(err)
	defer b.Close()
	for v, err := range b.ListVersions(context.Background(), s.store, memento.VersionListOptions{Contents: true}) {
		s.do(err)
		list = append(list, v)
	}
	return list
}

// things are what can be at a path besides files and folders.
func (s *site) things() map[string]func(path string) {
	outside := s.outside()
	things := map[string]func(path string){
		"link to a file outside":    func(p string) { s.do(os.Symlink(filepath.Join(outside, "file"), p)) },
		"link to a folder outside":  func(p string) { s.do(os.Symlink(outside, p)) },
		"relative link outside":     func(p string) { s.do(os.Symlink("../../../../../../../../../../etc/passwd", p)) },
		"link to another memory":    func(p string) { s.do(os.Symlink(s.file("other"), p)) },
		"relative link to a memory": func(p string) { s.do(os.Symlink("other", p)) },
		"dangling link":             func(p string) { s.do(os.Symlink("nowhere", p)) },
		"link to itself":            func(p string) { s.do(os.Symlink(filepath.Base(p), p)) },
		"hard link to a file outside": func(p string) {
			s.do(os.Link(filepath.Join(outside, "file"), p))
		},
		"named pipe": func(p string) { s.do(unix.Mkfifo(p, 0o666)) },
		"socket": func(p string) {
			l, err := net.Listen("unix", "@")
			if err == nil {
				l.Close()
			}
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			s.do(err)
			defer unix.Close(fd)
			s.do(os.Chdir(filepath.Dir(p))) // paths of sockets are short
			s.do(unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Base(p)}))
		},
	}
	if os.Getuid() == 0 {
		things["device"] = func(p string) { s.do(unix.Mknod(p, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5)))) } // /dev/zero
	}
	return things
}

// Anything else in the folder is never followed, listed or overwritten.
func TestSpecialFiles(t *testing.T) {
	back, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chdir(back) })
	for name := range newSite(t).things() {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			make := s.things()[name]
			s.put("/other", "another memory")
			s.put("/was", "a memory")
			s.put("/dir/in", "in a folder")
			quiet()
			s.do(os.Remove(s.file("was")))
			make(s.file("was"))
			make(s.file("thing"))
			make(s.file("dir/thing"))
			s.do(os.Chdir(back))
			before := kinds(t, s.memories)

			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // opening a pipe would wait for ever
			defer cancel()
			for range 2 {
				s.holds(map[memento.Path]string{"/other": "another memory", "/was": "a memory", "/dir/in": "in a folder"})
				if m, err := s.b.Get(ctx, s.store, memento.ByPath("/was")); err != nil || m.Content != "a memory" {
					t.Errorf("the memory in whose place it is: %+v, %v", m, err)
				}
				s.getError("/thing", memento.ErrNotExist)
				s.getError("/thing/a", memento.ErrNotExist)
				s.getError("/thing/sub/a", memento.ErrNotExist)
				for _, c := range []memento.Change{
					memento.Put{Path: "/was", Content: "x"},
					memento.Put{Path: "/thing", Content: "x"},
					memento.Put{Path: "/thing", Content: "x", If: memento.IfAbsent()},
					memento.Put{Path: "/thing/a", Content: "x"},
					memento.Put{Path: "/thing/sub/a", Content: "x"},
					memento.Put{Path: "/dir/thing/new/deep", Content: "x"},
					memento.Move{From: "/other", To: "/thing"},
					memento.Move{From: "/other", To: "/thing/a"},
					memento.Move{From: "/dir", To: "/thing"},
					memento.Move{From: "/was", To: "/free"},
					memento.Remove{Path: "/was"},
				} {
					if _, err := s.b.Apply(ctx, s.store, s.by, []memento.Change{c}); !errors.Is(err, memento.ErrForeign) {
						t.Errorf("%+v: %v, want ErrForeign", c, err)
					}
				}
				for _, c := range []memento.Change{memento.Remove{Path: "/thing"}, memento.Move{From: "/thing", To: "/x"}} {
					if _, err := s.b.Apply(ctx, s.store, s.by, []memento.Change{c}); !errors.Is(err, memento.ErrNotExist) {
						t.Errorf("%+v: %v, want ErrNotExist", c, err)
					}
				}
				if diff := cmp.Diff(before, kinds(t, s.memories)); diff != "" {
					t.Errorf("files (-before +after):\n%s", diff)
				}
				s.reopen()
			}
			// What memento itself has written there can be removed, the rest stays.
			s.apply(memento.Move{From: "/dir", To: "/moved"}, memento.Remove{Path: "/moved"})
			if _, err := os.Lstat(s.file("dir/thing")); err != nil {
				t.Error(err)
			}
			// Once the thing is gone, the memory is there as it was.
			s.do(os.Remove(s.file("was")))
			s.do(os.Remove(s.file("thing")))
			s.do(os.RemoveAll(s.file("dir")))
			s.get("/was")
			s.put("/thing", "now a memory")
			s.mirrored()
		})
	}
}

// kinds returns what is below a folder, without opening anything.
func kinds(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	s := &site{T: t}
	s.do(filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		found[path] = fmt.Sprint(info.Mode(), st.Ino)
		return nil
	}))
	return found
}

// A folder that is replaced by a link is not entered.
func TestLinkInPlaceOfFolder(t *testing.T) {
	s := newSite(t)
	outside := s.outside()
	s.put("/dir/a", "mine")
	s.do(os.Rename(s.file("dir"), s.file("aside")))
	s.do(os.Symlink(outside, s.file("dir")))
	s.holds(map[memento.Path]string{"/aside/a": "mine"})
	s.getError("/dir/a", memento.ErrNotExist)
	s.getError("/dir/file", memento.ErrNotExist)
	if err := s.try(memento.Put{Path: "/dir/a", Content: "x"}); !errors.Is(err, memento.ErrForeign) {
		t.Errorf("Put through the link: %v", err)
	}
	// Nor one within the folder.
	s.do(os.Remove(s.file("dir")))
	s.do(os.Symlink("aside", s.file("dir")))
	s.holds(map[memento.Path]string{"/aside/a": "mine"})
	if err := s.try(memento.Put{Path: "/dir/a", Content: "x"}); !errors.Is(err, memento.ErrForeign) {
		t.Errorf("Put through the link: %v", err)
	}
}

// The folders that memento itself needs are refused if they are links.
func TestLinkedFolders(t *testing.T) {
	for _, name := range []string{"memories", hiddenFolder, hiddenFolder + "/" + dbFile, hiddenFolder + "/" + indexFile, hiddenFolder + "/" + locksFolder} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.put("/a", "x")
			s.do(s.b.Close())
			elsewhere := filepath.Join(t.TempDir(), "elsewhere")
			s.do(os.Rename(filepath.Join(s.base, name), elsewhere))
			s.do(os.Symlink(elsewhere, filepath.Join(s.base, name)))
			b, err := Open(t.Context(), s.base, nil)
			if err == nil {
				b.Close()
				t.Fatal("opened")
			}
			if strings.Contains(err.Error(), s.base) {
				t.Errorf("the error has the host's path: %v", err)
			}
		})
	}
	t.Run("while open", func(t *testing.T) {
		s := newSite(t)
		outside := s.outside()
		s.put("/a", "x")
		s.do(os.Rename(s.memories, s.memories+".aside"))
		s.do(os.Symlink(outside, s.memories))
		s.getError("/a", memento.ErrForeign)
		if err := s.try(memento.Put{Path: "/a", Content: "y"}); !errors.Is(err, memento.ErrForeign) {
			t.Errorf("Put: %v", err)
		}
		s.do(os.Remove(s.memories))
		s.do(os.Rename(s.memories+".aside", s.memories))
		s.put("/a", "y")
		s.mirrored()
	})
}

// A second process replaces a file or a folder with a link to the outside and back, again
// and again, while others read and write. Nothing outside is read or changed.
func TestRacingLinks(t *testing.T) {
	for _, target := range []string{"dir", "dir/a"} {
		t.Run(target, func(t *testing.T) {
			s := newSite(t)
			outside := s.outside()
			if target != "dir" {
				outside = filepath.Join(outside, "a")
			}
			s.put("/dir/a", "mine")
			s.put("/dir/sub/a", "mine")
			swapper := proctest.Start(t, childTask{Kind: "swap", Base: s.base, Path: s.file(target), Outside: outside})
			if !swapper.Lines.Scan() {
				t.Fatal("the other process did not start")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			var wg sync.WaitGroup
			var done [4]int
			for i := range done {
				wg.Go(func() {
					for n := 0; ctx.Err() == nil; n++ {
						err := s.disturb(ctx, i, n)
						switch {
						case err == nil:
							done[i]++
						case errors.Is(err, memento.ErrForeign), errors.Is(err, memento.ErrNotExist), errors.Is(err, memento.ErrIsDir),
							errors.Is(err, memento.ErrNotDir), errors.Is(err, memento.ErrExist), errors.Is(err, memento.ErrConflict),
							errors.Is(err, context.DeadlineExceeded):
						default:
							t.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			s.do(swapper.In.Close())
			swapper.Died(t)
			t.Logf("calls that succeeded: %v", done)
			s.reopen()
			for _, e := range s.listed() {
				s.b.Get(t.Context(), s.store, memento.ByPath(e))
			}
		})
	}
}

// disturb makes a call of some kind. What it reads must not be from outside.
func (s *site) disturb(ctx context.Context, kind, n int) error {
	text := fmt.Sprint("mine ", kind, n)
	p := memento.Path("/dir/a")
	if n%2 == 0 {
		p = "/dir/sub/a"
	}
	switch kind {
	case 0:
		m, err := s.b.Get(ctx, s.store, memento.ByPath(p))
		if strings.Contains(m.Content, "canary") {
			s.Errorf("read %q", m.Content)
		}
		return err
	case 1:
		for e, err := range s.b.List(ctx, s.store, memento.ListOptions{Contents: true}) {
			if err != nil {
				return err
			}
			if strings.Contains(e.Memory.Content, "canary") {
				s.Errorf("listed %q", e.Memory.Content)
			}
		}
		return nil
	case 2:
		_, err := s.b.Apply(ctx, s.store, s.by, []memento.Change{memento.Put{Path: p, Content: text}})
		return err
	}
	_, err := s.b.Apply(ctx, s.store, s.by, []memento.Change{
		memento.Put{Path: "/dir/new", Content: text}, memento.Move{From: "/dir/new", To: "/dir/sub/new"}, memento.Remove{Path: "/dir/sub/new"},
	})
	return err
}

// Files and folders are accessible to their owner only, whatever the umask.
func TestUmask(t *testing.T) {
	for _, mask := range []int{0o777, 0o077, 0} {
		t.Run(fmt.Sprintf("%03o", mask), func(t *testing.T) {
			parent := t.TempDir()
			old := syscall.Umask(mask)
			defer syscall.Umask(old)
			s := &site{T: t, base: filepath.Join(parent, "base")}
			s.memories = filepath.Join(s.base, "memories")
			s.b = s.open(nil)
			for _, name := range []string{"default", "other"} {
				info, err := s.b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: name})
				s.do(err)
				s.store = info.ID
				s.put("/a", "x")
				s.put("/a", "y")
				s.put("/dir/sub/b", "z")
				s.apply(memento.Move{From: "/dir", To: "/d2/d3"})
			}
			s.do(filepath.WalkDir(s.base, func(path string, d os.DirEntry, err error) error {
				if err != nil {
					return err
				}
				info, err := d.Info()
				if err != nil {
					return err
				}
				want := os.FileMode(0o600)
				if d.IsDir() {
					want = 0o700
				}
				if got := info.Mode().Perm(); got != want {
					t.Errorf("%s has mode %o, want %o", path, got, want)
				}
				return nil
			}))
		})
	}
}
