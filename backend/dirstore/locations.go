package dirstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"memento"
)

// maxFolders is how many folders are kept open while they are not in use.
const maxFolders = 128

// folder returns the folder of a store, and assigns a location if it has none. The caller
// calls releaseFolder when done.
//
// Errors: ErrNoStore.
func (b *Backend) folder(ctx context.Context, store memento.StoreID) (*folder, error) {
	if f := b.cachedFolder(store); f != nil {
		if m, err := f.lock.mark(); err != nil || m != dead {
			return f, nil
		}
		b.evict(store)
		b.releaseFolder(f)
	}
	if err := b.exists(ctx, store); err != nil {
		return nil, err
	}
	location, err := b.locationOf(store)
	if err == nil && location == "" { // the process that made the store died before it assigned one
		err = b.inCatalogue(ctx, func() error {
			location, err = b.ensureLocation(ctx, store)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	l, err := openLock(b.locks, string(store))
	if err != nil {
		return nil, err
	}
	return b.cacheFolder(newFolder(b, store, location, l)), nil
}

func (b *Backend) cachedFolder(store memento.StoreID) *folder {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.folders[store]
	if f != nil {
		f.users++
	}
	return f
}

// cacheFolder caches f as the folder of its store. If another one is cached already, it
// closes f and returns that one.
func (b *Backend) cacheFolder(f *folder) *folder {
	b.mu.Lock()
	defer b.mu.Unlock()
	if other := b.folders[f.store]; other != nil {
		_ = f.close()
		other.users++
		return other
	}
	for store, idle := range b.folders {
		if len(b.folders) < maxFolders {
			break
		}
		if idle.users == 0 {
			delete(b.folders, store)
			_ = idle.close()
		}
	}
	f.users = 1
	b.folders[f.store] = f
	return f
}

// releaseFolder ends the use of a folder.
func (b *Backend) releaseFolder(f *folder) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f.users--; f.users == 0 && b.folders[f.store] != f {
		_ = f.close()
	}
}

// evict removes a deleted store's folder from the cache. The last user closes it.
func (b *Backend) evict(store memento.StoreID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.folders[store]
	delete(b.folders, store)
	if f != nil && f.users == 0 {
		_ = f.close()
	}
}

// exists returns ErrNoStore if the database does not have the store.
func (b *Backend) exists(ctx context.Context, store memento.StoreID) error {
	for _, err := range b.db.List(ctx, store, memento.ListOptions{Dir: memento.Root, Limit: 1, Brief: true}) {
		return err
	}
	return nil
}

// inCatalogue calls do holding the catalogue lock: no other process makes or deletes
// stores.
func (b *Backend) inCatalogue(ctx context.Context, do func() error) error {
	if err := b.catalogue.acquire(ctx); err != nil {
		return err
	}
	defer b.catalogue.release()
	return do()
}

// locationOf returns the location of a store's folder of memories, "" if it has none yet.
func (b *Backend) locationOf(store memento.StoreID) (string, error) {
	owner, err := readOwn(b.hidden, ownerFile)
	switch {
	case err != nil:
		return "", err
	case owner == string(store):
		return b.place.home, nil
	}
	return readOwn(b.locations, string(store))
}

// ensureLocation assigns a location to a store of which only the ID is known. The caller
// holds the catalogue lock.
func (b *Backend) ensureLocation(ctx context.Context, store memento.StoreID) (string, error) {
	if location, err := b.locationOf(store); err != nil || location != "" {
		return location, err
	}
	info, err := b.db.GetStore(ctx, memento.DefaultWorkspace, store)
	if errors.Is(err, memento.ErrNoStore) {
		info, err = memento.StoreInfo{ID: store, Name: "store"}, nil // of another workspace
	}
	if err != nil {
		return "", err
	}
	return b.assignLocation(ctx, info)
}

// assignLocation assigns a location to a new store: the home, as used by the SDKs' tools,
// to the first store named default of the default workspace, and a folder in that of the
// other stores to any other. The caller holds the catalogue lock.
func (b *Backend) assignLocation(ctx context.Context, info memento.StoreInfo) (string, error) {
	owner, err := b.owner(ctx)
	if err != nil {
		return "", err
	}
	if owner == "" && info.Workspace == memento.DefaultWorkspace && info.Name == defaultStore {
		if err := b.checkDefault(); err != nil {
			return "", err
		}
		return b.place.home, writeOwn(b.syncer, b.hidden, ownerFile, string(info.ID))
	}
	stores, err := reach(b.base, b.place.others, b.makeFolder)
	if errors.Is(err, errNoFolder) {
		return "", notFolder(b.place.others, err)
	}
	if err != nil {
		return "", err
	}
	defer stores.Close()
	for n := 1; ; n++ {
		name := slug(info.Name)
		if n > 1 {
			name = fmt.Sprintf("%s-%d", name, n)
		}
		location := b.place.others + "/" + name + "/" + defaultFolder
		made, err := mkdir(stores, name)
		if err != nil {
			return "", err
		}
		if !made {
			if free, err := b.isAbandoned(stores, name, location); err != nil {
				return "", err
			} else if !free {
				continue
			}
		}
		if err := b.syncer.syncFolder(stores); err != nil {
			return "", err
		}
		return location, writeOwn(b.syncer, b.locations, string(info.ID), location)
	}
}

// isAbandoned reports whether a folder in stores was made by a process that died before
// it recorded the location.
func (b *Backend) isAbandoned(stores *os.Root, name, location string) (bool, error) {
	dir, err := openFolder(stores, name)
	if errors.Is(err, errNoFolder) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	empty := isEmpty(dir)
	if err := dir.Close(); err != nil || !empty {
		return false, err
	}
	given, err := readFolder(b.locations)
	if err != nil {
		return false, err
	}
	for _, info := range given {
		if at, err := readOwn(b.locations, info.Name()); err != nil || at == location {
			return false, err
		}
	}
	return true, nil
}

// defaultStore is the name of the store in defaultFolder.
const defaultStore = "default"

// checkDefault returns an error if something other than a folder is at the home.
func (b *Backend) checkDefault() error {
	switch info, err := b.base.Lstat(b.place.home); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return notFolder(b.place.home, notDir(info))
	}
	return nil
}

// finishCatalogue finishes deletions that other processes began, and makes a store for a
// folder of memories that belongs to none.
func (b *Backend) finishCatalogue(ctx context.Context) error {
	if err := b.checkDefault(); err != nil {
		return err
	}
	return b.inCatalogue(ctx, func() error {
		names, err := readFolder(b.locations)
		if err != nil {
			return err
		}
		for _, info := range names {
			if isTemp(info.Name()) { // of a process that died: these files are written only under the catalogue lock
				if err := b.locations.Remove(info.Name()); err != nil {
					return err
				}
			}
			store, ok := strings.CutSuffix(info.Name(), deletingSuffix)
			if !ok {
				continue
			}
			if err := b.finishDelete(ctx, memento.StoreID(store)); err != nil && ctx.Err() != nil {
				return err
			} // otherwise the note stays, and the deletion is tried again
		}
		return b.adoptDefault(ctx)
	})
}

// owner returns the store that owns the home, "" if there is none. A store that is
// not in the database, because an older one was put in its place, no longer owns it. The
// caller holds the catalogue lock.
func (b *Backend) owner(ctx context.Context) (memento.StoreID, error) {
	owner, err := readOwn(b.hidden, ownerFile)
	if err != nil || owner == "" {
		return "", err
	}
	if err := b.exists(ctx, memento.StoreID(owner)); !errors.Is(err, memento.ErrNoStore) {
		return memento.StoreID(owner), err
	}
	return "", b.removeOwn(b.hidden, ownerFile)
}

// adoptDefault makes a store for the folder of memories if it belongs to none. The caller
// holds the catalogue lock.
func (b *Backend) adoptDefault(ctx context.Context) error {
	owner, err := b.owner(ctx)
	if err != nil {
		return err
	}
	if owner != "" {
		b.setOwned(true)
		return nil
	}
	if info, err := b.base.Lstat(b.place.home); err != nil || !info.IsDir() {
		return nil // there is no such folder
	}
	for info, err := range b.db.ListStores(ctx, memento.DefaultWorkspace, memento.StoreListOptions{Name: defaultStore}) {
		if err != nil {
			return err
		}
		if location, err := b.locationOf(info.ID); err != nil || location != "" {
			return err // that store is elsewhere, and the folder is not ours
		}
		_, err := b.assignLocation(ctx, info)
		return err
	}
	info, err := b.db.CreateStore(ctx, memento.DefaultWorkspace, memento.StoreSpec{Name: defaultStore, UniqueName: true})
	if err == nil {
		_, err = b.assignLocation(ctx, info)
	}
	return err
}

func (b *Backend) setOwned(owned bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.owned = owned
}

// adoptLateDefault is adoptDefault for a folder that was added after the backend was
// opened.
func (b *Backend) adoptLateDefault(ctx context.Context, ws memento.Workspace) error {
	b.mu.Lock()
	owned := b.owned
	b.mu.Unlock()
	if ws != memento.DefaultWorkspace || owned {
		return nil
	}
	if info, err := b.base.Lstat(b.place.home); err != nil || !info.IsDir() {
		return nil
	}
	return b.inCatalogue(ctx, func() error { return b.adoptDefault(ctx) })
}

// finishDelete removes what is left of a store that the database no longer has. The
// caller holds the catalogue lock.
func (b *Backend) finishDelete(ctx context.Context, store memento.StoreID) error {
	switch err := b.exists(ctx, store); {
	case err == nil:
		return b.removeOwn(b.locations, string(store)+deletingSuffix) // the deletion failed
	case !errors.Is(err, memento.ErrNoStore):
		return err
	}
	b.evict(store)
	location, err := b.locationOf(store)
	if err != nil {
		return err
	}
	switch {
	case location == b.place.home && b.place.inPlace: // its files are not only memento's
		if err := b.removeOwn(b.hidden, ownerFile); err != nil {
			return err
		}
		b.setOwned(false)
	case location == b.place.home:
		if b.base.RemoveAll(defaultFolder) != nil { // then it must not be in the way of the next store
			if err := b.base.Rename(defaultFolder, hiddenFolder+"/"+string(store)+deletedSuffix); err != nil {
				return err
			}
		}
		// This is flushed before the owner is removed: without an owner, a folder that a
		// power failure brings back would be adopted.
		if err := b.syncer.syncFolder(b.base); err != nil {
			return err
		}
		if err := b.removeOwn(b.hidden, ownerFile); err != nil {
			return err
		}
		b.setOwned(false)
	case location != "":
		if err := b.removeOther(strings.TrimSuffix(location, "/"+defaultFolder)); err != nil {
			return err
		}
		if err := b.removeOwn(b.locations, string(store)); err != nil {
			return err
		}
	}
	if err := errors.Join(b.hidden.RemoveAll(string(store)+deletedSuffix), b.syncer.syncFolder(b.hidden)); err != nil {
		return err
	}
	_ = b.index.forget(store)
	if f, err := openOwn(b.locks, string(store)); err == nil {
		// Other processes may have the lock open, and the store may be copied back.
		err = errors.Join(setMark(f, dead), f.Close())
		if err != nil {
			return err
		}
	}
	for _, name := range []string{string(store), string(store) + ".next"} {
		_ = b.locks.Remove(name)
	}
	return b.removeOwn(b.locations, string(store)+deletingSuffix)
}

// removeOther removes a folder of another store, which must be a real folder.
func (b *Backend) removeOther(location string) error {
	stores, err := reach(b.base, b.place.others, openFolder)
	if isAbsent(err) || errors.Is(err, errNoFolder) {
		return nil
	}
	if err != nil {
		return err
	}
	defer stores.Close()
	name := strings.TrimPrefix(location, b.place.others+"/")
	if err := stores.RemoveAll(name); err != nil {
		return err
	}
	return b.syncer.syncFolder(stores)
}

func (b *Backend) removeOwn(dir *os.Root, name string) error {
	if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return b.syncer.syncFolder(dir)
}
