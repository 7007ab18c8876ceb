package filewatch

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

	"github.com/fsnotify/fsnotify"
)

// A folder is a folder that a test watches.
type folder struct {
	t   *testing.T
	dir string
}

func newFolder(t *testing.T) *folder { return &folder{t, t.TempDir()} }

// tree polls so rarely that only notifications end a wait.
func (f *folder) tree() Tree {
	return Tree{
		Walk: func(ctx context.Context, do func(name string, d fs.DirEntry) error) error {
			return filepath.WalkDir(f.dir, func(name string, d fs.DirEntry, err error) error {
				if err != nil {
					return nil
				}
				return errors.Join(ctx.Err(), do(name, d))
			})
		},
		Ignores: func(name string) bool { return strings.HasSuffix(name, ".tmp") },
		Poll:    time.Hour,
		Anyway:  time.Hour,
	}
}

func (f *folder) watcher(tree Tree) *Watcher {
	w := New(tree)
	f.t.Cleanup(w.Close)
	return w
}

func (f *folder) file(name string) string { return filepath.Join(f.dir, name) }

func (f *folder) do(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *folder) write(name, text string) {
	f.t.Helper()
	f.do(os.MkdirAll(filepath.Dir(f.file(name)), 0o777))
	f.do(os.WriteFile(f.file(name), []byte(text), 0o666))
}

// wait waits for a notification. The test's own deadline ends it if there is none.
func (f *folder) wait(w *Watcher, what string) {
	f.t.Helper()
	f.t.Log("waiting for", what)
	f.do(w.Wait(f.t.Context(), 0, nil))
	f.do(w.Settle(f.t.Context()))
}

// Changes are noticed in every folder, those that are new or were renamed included.
func TestWait(t *testing.T) {
	f := newFolder(t)
	w := f.watcher(f.tree())
	f.do(w.Settle(t.Context()))
	if w.events == nil {
		t.Fatal("there are no notifications on this system")
	}
	f.write("a.md", "first")
	f.wait(w, "a new file")
	f.write("a.md", "second")
	f.wait(w, "a change")
	f.do(os.MkdirAll(f.file("new/deep"), 0o777))
	f.wait(w, "a new folder")
	f.write("new/deep/b.md", "in a new folder")
	f.wait(w, "a file in a new folder")
	f.do(os.Rename(f.file("new"), f.file("moved")))
	f.wait(w, "a renamed folder")
	f.write("moved/deep/b.md", "after the move")
	f.wait(w, "a change in a renamed folder")
	f.do(os.MkdirAll(f.file("new/deep"), 0o777))
	f.wait(w, "a folder with the name of another one")
	f.write("new/deep/b.md", "in a folder with the name of another one")
	f.wait(w, "a file in it")
	f.do(os.RemoveAll(f.file("moved")))
	f.wait(w, "a removed folder")
	f.write("moved/deep/b.md", "once more")
	f.wait(w, "a folder that was made again")
	f.write("moved/deep/b.md", "and changed")
	f.wait(w, "a change in it")
}

// What is ignored, and a change of the mode, ends no wait. What was asked for by the caller does.
func TestWaitIgnores(t *testing.T) {
	f := newFolder(t)
	f.write("a.md", "")
	w := f.watcher(f.tree())
	f.do(w.Settle(t.Context()))
	f.write("b.tmp", "")
	f.do(os.Chmod(f.file("a.md"), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 4*settle)
	defer cancel()
	if err := w.Wait(ctx, 0, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a wait ended with %v", err)
	}
	wake := make(chan struct{}, 1)
	wake <- struct{}{}
	f.do(w.Wait(t.Context(), 0, wake))
	ended, end := context.WithCancel(t.Context())
	end()
	if err := w.Wait(ended, time.Hour, wake); !errors.Is(err, context.Canceled) {
		t.Errorf("a rest ended with %v", err)
	}
}

// Without notifications, and when the system has too few of them, Wait is a pause. They are
// tried again after some looks.
func TestWaitPolls(t *testing.T) {
	f := newFolder(t)
	tree := f.tree()
	tree.Poll, tree.NoEvents = time.Millisecond, true
	w := f.watcher(tree)
	for range 3 {
		f.do(w.Settle(t.Context()))
		f.do(w.Wait(t.Context(), 0, nil))
	}

	tree.NoEvents = false
	w = f.watcher(tree)
	var err error
	if w.events, err = fsnotify.NewWatcher(); err != nil {
		t.Fatal(err)
	}
	f.do(w.events.Close()) // from now on it refuses folders
	f.do(w.Settle(t.Context()))
	if w.events != nil {
		t.Error("a watcher that refuses folders is still used")
	}
	f.do(w.Wait(t.Context(), 0, nil))
	for w.events == nil && w.looks < 2*retryEvents {
		f.do(w.Settle(t.Context()))
	}
	if w.events == nil || !w.watched[f.dir] {
		t.Errorf("after %d looks there are no notifications", w.looks)
	}
}

// After an overflow of the system's queue it is time to look.
func TestWaitOverflow(t *testing.T) {
	f := newFolder(t)
	w := f.watcher(f.tree())
	f.do(w.Settle(t.Context()))
	go func() {
		select {
		case w.events.Errors <- fsnotify.ErrEventOverflow:
		case <-t.Context().Done():
		}
	}()
	f.wait(w, "an overflow")
}

// A program that writes a file in place, in several steps, is waited for until the file
// rests, but not for ever.
func TestSettle(t *testing.T) {
	for name, test := range map[string]struct {
		steps int // of the writer, one in each pause of the watcher
		want  string
	}{
		"complete":         {3, "begin...end"},
		"without an end":   {1 << 20, "begin" + strings.Repeat(".", int(settleMost/settle))},
		"nothing to write": {0, "begin"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			f.write("a.md", "begin")
			tree := f.tree()
			tree.NoEvents = true
			w := f.watcher(tree)
			step := 0
			w.pause = func(ctx context.Context, _ time.Duration) error {
				if step++; step <= test.steps {
					file, err := os.OpenFile(f.file("a.md"), os.O_APPEND|os.O_WRONLY, 0)
					f.do(err)
					_, err = fmt.Fprint(file, ".")
					if step == test.steps {
						_, err = fmt.Fprint(file, "end")
					}
					f.do(errors.Join(err, file.Close()))
				}
				return ctx.Err()
			}
			f.do(w.Settle(t.Context()))
			if text, err := os.ReadFile(f.file("a.md")); err != nil || string(text) != test.want {
				t.Errorf("it settled at %q, %v; want %q", text, err, test.want)
			}
		})
	}
}
