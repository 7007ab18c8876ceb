package foldersync

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
	"memento/internal/filewatch"
)

// A watching is a Watch that runs during a test.
type watching struct {
	*pair
	did    chan Action
	cancel context.CancelFunc
	ended  chan error
	syncer *Syncer
}

// watch starts a Watch. change, if not nil, changes how the folder is watched.
func (p *pair) watch(t *testing.T, every time.Duration, change func(*filewatch.Tree)) *watching {
	w := &watching{pair: p, did: make(chan Action, 100), ended: make(chan error, 1)}
	opts := p.opts
	opts.Report = func(a Action) { w.did <- a }
	var err error
	w.syncer, err = Open(p.dir, p.store, p.state, &opts)
	p.do(err)
	w.syncer.watching = change
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	t.Cleanup(cancel)
	go func() {
		w.ended <- w.syncer.Watch(ctx, every, func(_ Result, err error) {
			if err != nil {
				w.did <- Action{Kind: Kind("failed: " + err.Error())}
			}
		})
	}()
	return w
}

// wait waits for an action.
func (w *watching) wait(want Kind, path memento.Path) {
	w.t.Helper()
	if a := <-w.did; a.Kind != want || a.Path != path {
		w.t.Errorf("%s %s, not %s %s", a.Kind, a.Path, want, path)
	}
}

// end ends the watch.
func (w *watching) end() {
	w.t.Helper()
	w.cancel()
	w.do(<-w.ended)
	w.do(w.syncer.Close())
}

// Watch notices changes on both sides, with and without notifications, and ends with the
// context.
func TestWatch(t *testing.T) {
	for name, change := range map[string]func(*filewatch.Tree){
		"notifications": nil,
		"none":          func(tree *filewatch.Tree) { tree.NoEvents = true },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, newStore(t))
			w := p.watch(t, time.Millisecond, change)
			p.write("a.md", "a\n")
			w.wait(Upload, "/a.md")
			p.put("/a.md", "a, edited\n")
			w.wait(Download, "/a.md")
			p.apply(memento.Remove{Path: "/a.md"})
			w.wait(DeleteInFolder, "/a.md")
			p.put("/b.md", "b\n")
			w.wait(Download, "/b.md")
			w.end()
			p.both(texts{"/b.md": "b\n"})
		})
	}
}

// Each change of the folder is noticed by its notification alone: nothing else would make a
// round for an hour.
func TestWatchNotifications(t *testing.T) {
	p := newPair(t, newStore(t))
	p.write("old.md", "old\n")
	w := p.watch(t, time.Hour, func(tree *filewatch.Tree) { tree.Anyway = time.Hour })
	w.wait(Upload, "/old.md")
	p.write("new/deep/a.md", "in new folders\n")
	w.wait(Upload, "/new/deep/a.md")
	p.write("new/deep/a.md", "and changed\n")
	w.wait(Upload, "/new/deep/a.md")
	p.do(os.Rename(filepath.Join(p.dir, "new"), filepath.Join(p.dir, "moved")))
	w.wait(RenameInStore, "/moved/deep/a.md")
	p.write("moved/deep/a.md", "after the move\n")
	w.wait(Upload, "/moved/deep/a.md")
	p.do(os.Remove(filepath.Join(p.dir, "old.md")))
	w.wait(DeleteInStore, "/old.md")
	w.end()
	p.both(texts{"/moved/deep/a.md": "after the move\n"})
}

// Changes of what is hidden or excluded make no round.
func TestWatchLeavesOut(t *testing.T) {
	p := newPair(t, newStore(t))
	p.opts.Exclude = []memento.Pattern{"/drafts"}
	s, err := Open(p.dir, p.store, p.state, &p.opts)
	p.do(err)
	defer s.Close()
	p.write("a.md", "a\n")
	p.write("sub/b.md", "b\n")
	p.write("drafts/c.md", "c\n")
	p.write(".obsidian/workspace.json", "{}")
	tree := s.tree(time.Hour)
	for name, want := range map[string]bool{
		".": false, "a.md": false, "sub": false, "sub/b.md": false, "sub/gone.md": false,
		"drafts": true, "drafts/c.md": true, ".obsidian": true, ".obsidian/workspace.json": true, "sub/" + tempPrefix + "x": true,
	} {
		if got := tree.Ignores(filepath.Join(p.dir, name)); got != want {
			t.Errorf("%s is ignored: %t", name, got)
		}
	}
	var walked []string
	p.do(tree.Walk(t.Context(), func(name string, _ os.DirEntry) error {
		rel, err := filepath.Rel(p.dir, name)
		walked = append(walked, filepath.ToSlash(rel))
		return err
	}))
	if want := []string{".", "a.md", "sub", "sub/b.md"}; !slices.Equal(walked, want) {
		t.Errorf("walked %q, want %q", walked, want)
	}
}

// A folder that is gone is noticed by the poll, without a notification.
func TestWatchNoticesThatTheFolderIsGone(t *testing.T) {
	p := newPair(t, newStore(t))
	p.write("a.md", "a\n")
	w := p.watch(t, time.Millisecond, func(tree *filewatch.Tree) { tree.NoEvents, tree.Poll = true, time.Hour })
	w.wait(Upload, "/a.md")
	p.do(os.Rename(p.dir, p.dir+".moved"))
	a := <-w.did
	if !strings.HasPrefix(string(a.Kind), "failed: ") {
		t.Errorf("without the folder: %s %s", a.Kind, a.Path)
	}
	p.do(os.Rename(p.dir+".moved", p.dir))
	p.write("b.md", "b\n")
	for a.Kind != Upload { // it may fail some times more
		a = <-w.did
	}
	w.end()
	p.both(texts{"/a.md": "a\n", "/b.md": "b\n"})
}

// The first round's error ends a watch.
func TestWatchFails(t *testing.T) {
	p := newPair(t, newStore(t))
	s, err := Open(p.dir, p.store, p.state, &p.opts)
	p.do(err)
	defer s.Close()
	p.do(os.RemoveAll(p.dir))
	if err := s.Watch(t.Context(), time.Millisecond, func(Result, error) {}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
