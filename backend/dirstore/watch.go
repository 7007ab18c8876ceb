package dirstore

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"memento"
	"memento/backend"

	"github.com/fsnotify/fsnotify"
)

var _ backend.Watcher = (*Backend)(nil)

// How changes by hand are noticed without a call. Events only say when to look: what has
// changed is found by comparing, as with every access, so a lost event is only late.
const (
	settle      = 250 * time.Millisecond // without a change, so that a save is complete
	settleMost  = 5 * time.Second        // after the first change, if there is no end of them
	lookAnyway  = time.Minute            // without events, which may have been lost
	lookAlways  = 2 * time.Second        // if there are no events here
	restFor     = 5                      // times as long as looking took, between two looks
	maxWatched  = 50_000                 // folders; others are only looked at
	retryEvents = 10                     // looks until events are tried again
)

// Watch implements [backend.Watcher]: it makes versions from changes by hand about as soon
// as they are saved, until ctx ends. Without it, the next access to a store makes them, and
// of several saves in between only the last one is a version.
//
// A change is taken up when no file has changed for a moment, so that a program that writes
// a file in place has written all of it; after some seconds, if there is no such moment.
//
// It uses the notifications of the file system, and looks at all files regularly besides,
// or instead where there are none. Close waits until it has ended.
func (b *Backend) Watch(ctx context.Context) error {
	if err := b.enter(ctx); err != nil {
		return fail("watch", err)
	}
	defer b.leave()
	w := &watcher{b: b, watched: map[string]bool{}}
	defer w.close()
	for {
		if err := w.look(ctx); err != nil {
			return nil // ctx ended
		}
		if err := w.wait(ctx); err != nil {
			return nil
		}
	}
}

// A watcher waits for events in the folders of a backend.
type watcher struct {
	b       *Backend
	events  *fsnotify.Watcher // nil if there are none
	watched map[string]bool   // folders whose events are reported
	looks   int
	took    time.Duration // by the last look
	settled bool          // no file has changed for a moment, or not for too long

	// For tests.
	blind bool                                             // there are no events
	pause func(ctx context.Context, d time.Duration) error // instead of sleep
}

func (w *watcher) close() {
	if w.events != nil {
		_ = w.events.Close()
	}
	w.events = nil
	clear(w.watched)
}

// look makes versions from changes, and watches all folders that there are now. It returns
// an error only when ctx ends: everything else is tried again.
func (w *watcher) look(ctx context.Context) error {
	if w.events == nil && !w.blind && w.looks%retryEvents == 0 {
		w.events, _ = fsnotify.NewWatcher()
	}
	w.looks++
	start := time.Now()
	// Folders are watched before they are compared, so that nothing is missed between.
	if w.events != nil && w.watchFolders(ctx) != nil && ctx.Err() == nil {
		w.close() // there are too many for the system
	}
	if err := w.untilStill(ctx); err != nil {
		return err
	}
	_ = w.b.refreshAll(ctx)
	w.took = time.Since(start)
	return ctx.Err()
}

// untilStill waits until the files have not changed for a moment, unless wait has seen that.
// It gives up after some seconds: files that never rest are versions, too.
func (w *watcher) untilStill(ctx context.Context) error {
	if w.settled {
		w.settled = false
		return nil
	}
	pause := w.sleep
	if w.pause != nil {
		pause = w.pause
	}
	before, err := w.marks(ctx)
	for range settleMost / settle {
		if err != nil {
			break // refreshAll meets it again
		}
		if err := pause(ctx, settle); err != nil {
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
func (w *watcher) marks(ctx context.Context) (uint64, error) {
	h := fnv.New64a()
	err := w.walk(ctx, func(name string, d fs.DirEntry) error {
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() { // else it disappeared
			fmt.Fprintf(h, "%q %d %d\n", name, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	return h.Sum64(), err
}

// watchFolders watches the folders of all stores.
func (w *watcher) watchFolders(ctx context.Context) error {
	// A folder of memories may be made, or put in another's place, later.
	if err := w.add(w.b.path); err != nil {
		return err
	}
	return w.walk(ctx, func(name string, d fs.DirEntry) error {
		if d.IsDir() {
			return w.add(name)
		}
		return nil
	})
}

// walk calls do for the folders of all stores, and for what is in them, without hidden
// folders.
func (w *watcher) walk(ctx context.Context, do func(name string, d fs.DirEntry) error) error {
	roots, err := w.b.locationsInUse(ctx)
	if err != nil {
		return err
	}
	for _, location := range roots {
		top := filepath.Join(w.b.path, filepath.FromSlash(location))
		err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				return nil // it disappeared, or cannot be read
			case d.IsDir() && name != top && memento.Path("/"+d.Name()).IsHidden():
				return fs.SkipDir
			}
			return do(name, d)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *watcher) add(name string) error {
	if w.watched[name] || len(w.watched) >= maxWatched {
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
}

// wait returns when it is time to look again, or with the error of ctx.
func (w *watcher) wait(ctx context.Context) error {
	rest := time.NewTimer(w.took * restFor)
	defer rest.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-rest.C:
	}
	if w.events == nil {
		return w.sleep(ctx, lookAlways)
	}
	anyway := time.NewTimer(lookAnyway)
	defer anyway.Stop()
	var quiet, most <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-anyway.C:
			return nil
		case <-quiet:
			w.settled = true
			return nil
		case <-most:
			w.settled = true
			return nil
		case e, ok := <-w.events.Events:
			switch {
			case !ok:
				w.close()
				return nil
			case e.Has(fsnotify.Chmod) && !e.Has(fsnotify.Write|fsnotify.Create|fsnotify.Remove|fsnotify.Rename), isTemp(filepath.Base(e.Name)):
				continue
			case e.Has(fsnotify.Remove | fsnotify.Rename):
				delete(w.watched, e.Name) // another folder may get the name
			}
		case <-w.events.Errors: // some were lost
		}
		quiet = time.After(settle)
		if most == nil {
			most = time.After(settleMost)
		}
	}
}

func (w *watcher) sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// locationsInUse returns the locations of all stores.
func (b *Backend) locationsInUse(ctx context.Context) ([]string, error) {
	var locations []string
	workspaces, err := b.db.Workspaces(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(workspaces, memento.DefaultWorkspace) {
		workspaces = append(workspaces, memento.DefaultWorkspace)
	}
	for _, ws := range workspaces {
		for info, err := range b.ListStores(ctx, ws, memento.StoreListOptions{}) {
			if err != nil {
				return nil, err
			}
			location, err := b.locationOf(info.ID)
			if err != nil {
				return nil, err
			}
			if location != "" {
				locations = append(locations, location)
			}
		}
	}
	return locations, nil
}
