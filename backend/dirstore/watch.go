package dirstore

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"memento"
	"memento/backend"
	"memento/internal/filewatch"
)

var _ backend.Watcher = (*Backend)(nil)

const (
	lookAlways = 2 * time.Second // between two looks, if there are no notifications
	restFor    = 5               // times as long as looking took, between two looks
)

// Watch implements [backend.Watcher]: it makes versions from changes by hand about as soon
// as they are saved, until ctx ends. Without it, the next access to a store makes them, and
// of several saves in between only the last one is a version.
//
// A change is processed when no file has changed for a moment, so that a program that writes
// a file in place has written all of it; after some seconds, if there is no such moment.
//
// It uses the notifications of the file system, and looks at all files regularly besides,
// or instead where there are none. Close waits until it has ended.
func (b *Backend) Watch(ctx context.Context) error {
	return b.watch(ctx, filewatch.Tree{Walk: b.walkStores, Ignores: ignoresChange, Poll: lookAlways})
}

func (b *Backend) watch(ctx context.Context, tree filewatch.Tree) error {
	if err := b.enter(ctx); err != nil {
		return fail("watch", err)
	}
	defer b.leave()
	w := filewatch.New(tree)
	defer w.Close()
	for {
		if w.Settle(ctx) != nil {
			return nil // ctx ended
		}
		start := time.Now()
		_ = b.refreshAll(ctx) // what fails is tried again
		if w.Wait(ctx, restFor*time.Since(start), nil) != nil {
			return nil
		}
	}
}

func ignoresChange(name string) bool { return isTemp(filepath.Base(name)) }

// walkStores calls do for the folders of all stores, and for what is in them, without
// hidden folders.
func (b *Backend) walkStores(ctx context.Context, do func(name string, d fs.DirEntry) error) error {
	roots, err := b.locationsInUse(ctx)
	if err != nil {
		return err
	}
	// A folder of memories may be made, or put in another's place, later.
	if info, err := b.base.Stat("."); err == nil {
		if err := do(b.path, fs.FileInfoToDirEntry(info)); err != nil {
			return err
		}
	}
	for _, location := range roots {
		top := filepath.Join(b.path, filepath.FromSlash(location))
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
