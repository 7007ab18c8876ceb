// Package filewatch tells when files have changed and rest again.
//
// A program looks at its files in a loop: [Watcher.Settle], the look itself, [Watcher.Wait].
// Notifications of the file system only say when to look. What has changed is for the
// program to find by comparing, so that a notification that is lost is late and nothing
// else. Where the system has no notifications, or not enough of them, Wait is a pause.
package filewatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	settle      = 250 * time.Millisecond // without a change, so that a save is complete
	settleMost  = 5 * time.Second        // after the first change, if there is no end of them
	maxWatched  = 50_000                 // folders; changes in others are found after Tree.Anyway
	retryEvents = 10                     // looks until notifications are tried again
)

// A Tree is the files of a program, in any number of folders.
type Tree struct {
	// Walk calls do for each folder, and for each file in it, with its path for package os.
	// It passes over what disappears meanwhile, and returns an error of do.
	Walk func(ctx context.Context, do func(name string, d fs.DirEntry) error) error
	// Ignores reports whether a change of the file or folder at a path is not worth a look,
	// such as that of a temporary file.
	Ignores func(name string) bool
	// Poll is the time between two looks where the system has no notifications.
	Poll time.Duration
	// Anyway is the time after which a notification may have been lost; 0 is a minute.
	Anyway time.Duration
	// NoEvents does without notifications, as on a system that has none.
	NoEvents bool
}

// A Watcher waits for changes in a tree. It is not safe for concurrent use.
type Watcher struct {
	tree    Tree
	events  *fsnotify.Watcher // nil if there are none
	watched map[string]bool   // folders whose changes are reported
	moved   bool              // one of them has another name now, or is gone
	looks   int
	settled bool // no file has changed for a moment, or not for too long

	pause func(ctx context.Context, d time.Duration) error // sleep, except in tests
}

// New returns a Watcher. The caller closes it.
func New(tree Tree) *Watcher {
	return &Watcher{tree: tree, watched: map[string]bool{}, pause: sleep}
}

// Close ends the notifications.
func (w *Watcher) Close() {
	if w.events != nil {
		_ = w.events.Close()
	}
	w.events = nil
	w.moved = false
	clear(w.watched)
}

// Settle watches all folders that there are now, and waits until no file has changed for a
// moment, so that a program that writes a file in place has written all of it. It gives up
// after some seconds: files that never rest are looked at, too. It returns an error only
// when ctx ends.
func (w *Watcher) Settle(ctx context.Context) error {
	again := w.looks%retryEvents == 0
	if w.moved { // those in it are still known by their old names, which others may get
		w.Close()
		again = true
	}
	if w.events == nil && !w.tree.NoEvents && again {
		w.events, _ = fsnotify.NewWatcher()
	}
	w.looks++
	// Folders are watched before they are looked at, so that nothing is missed between.
	if w.events != nil && w.watchFolders(ctx) != nil && ctx.Err() == nil {
		w.Close() // there are too many for the system
	}
	if w.settled { // Wait has seen that
		w.settled = false
		return ctx.Err()
	}
	before, err := w.marks(ctx)
	for range settleMost / settle {
		if err != nil {
			break // the look meets it again
		}
		if err := w.pause(ctx, settle); err != nil {
			return err
		}
		var now uint64
		if now, err = w.marks(ctx); now == before {
			break
		}
		before = now
	}
	return ctx.Err()
}

// marks returns a hash of the names, sizes and times of all files.
func (w *Watcher) marks(ctx context.Context) (uint64, error) {
	h := fnv.New64a()
	err := w.tree.Walk(ctx, func(name string, d fs.DirEntry) error {
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() { // else it disappeared
			fmt.Fprintf(h, "%q %d %d\n", name, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	return h.Sum64(), err
}

func (w *Watcher) watchFolders(ctx context.Context) error {
	return w.tree.Walk(ctx, func(name string, d fs.DirEntry) error {
		if !d.IsDir() || w.watched[name] || len(w.watched) >= maxWatched {
			return nil
		}
		err := w.events.Add(name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err == nil {
			w.watched[name] = true
		}
		return err
	})
}

// Wait returns nil when it is time to look again: soon after a file has changed, when wake,
// which may be nil, has something, and otherwise after a while. It first rests for a time,
// in which it returns for nothing but the end of ctx, with its error.
func (w *Watcher) Wait(ctx context.Context, rest time.Duration, wake <-chan struct{}) error {
	w.settled = false
	if err := sleep(ctx, rest); err != nil {
		return err
	}
	longest := cmp.Or(w.tree.Anyway, time.Minute)
	if w.events == nil {
		longest = w.tree.Poll
	}
	anyway := time.NewTimer(longest)
	defer anyway.Stop()
	var quiet, most <-chan time.Time
	for {
		var events <-chan fsnotify.Event
		var lost <-chan error
		if w.events != nil {
			events, lost = w.events.Events, w.events.Errors
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wake:
			return nil
		case <-anyway.C:
			return nil
		case <-quiet:
			w.settled = true
			return nil
		case <-most:
			w.settled = true
			return nil
		case e, ok := <-events:
			if !ok {
				w.Close()
				return nil
			}
			name := filepath.Clean(e.Name)
			w.moved = w.moved || e.Has(fsnotify.Remove|fsnotify.Rename) && w.watched[name]
			if isOnlyChmod(e) || w.tree.Ignores(name) {
				continue
			}
		case <-lost: // the system's queue has overflowed
		}
		quiet = time.After(settle)
		if most == nil {
			most = time.After(settleMost)
		}
	}
}

func isOnlyChmod(e fsnotify.Event) bool {
	return e.Has(fsnotify.Chmod) && !e.Has(fsnotify.Write|fsnotify.Create|fsnotify.Remove|fsnotify.Rename)
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
