package dirstore

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"memento"
)

// A folder is one store's folder of memories, as this process knows it.
type folder struct {
	b        *Backend
	store    memento.StoreID
	location string // path of the folder of memories, relative to the backend's folder
	lock     *lock
	users    int // number of calls that use it; see Backend.mu

	opened   atomic.Pointer[opened] // nil while there is no folder
	caughtUp atomic.Bool            // whether this process has compared all files once

	mu         sync.RWMutex // for the fields up to the next comment, and for dirty.stale
	tree       *node
	byMemory   map[memento.MemoryID]*row // rows of managed files
	unmanaged  int                       // number of rows of other files
	generation uint64                    // of the index that the tree was read from
	retryAt    time.Time                 // when to try again to bring stale files up to date
	keptNames  map[string]bool           // names that cannot be changed to NFC: see compose

	// The following fields are for the holder of the lock.
	dirty     dirtyState
	unflushed map[memento.Path]struct{} // folders that could not be flushed, or perhaps were not; see ownLocation
	adopted   []memento.Version         // made from changes by hand, and not reported yet
	unindexed changes                   // in the tree, but not in the index because it could not be written
	postponed map[memento.Path]error    // changes by hand that could not become versions for lack of disk space, and why
}

// opened is an open folder of memories.
type opened struct {
	root *os.Root
	info fs.FileInfo
}

func newFolder(b *Backend, store memento.StoreID, location string, l *lock) *folder {
	return &folder{
		b: b, store: store, location: location, lock: l,
		tree: &node{}, byMemory: map[memento.MemoryID]*row{}, unflushed: map[memento.Path]struct{}{},
		dirty: dirtyState{stale: map[memento.Path]struct{}{}},
	}
}

// close is called when no call uses the folder any more.
func (f *folder) close() error {
	err := f.lock.close()
	if o := f.opened.Swap(nil); o != nil {
		err = errors.Join(err, o.root.Close())
	}
	return err
}

// present returns the open folder, nil if there is none. ok says whether it is still the
// one at its location.
func (f *folder) present() (root *os.Root, ok bool) {
	o := f.opened.Load()
	info, err := f.b.base.Lstat(f.location)
	switch {
	case o == nil:
		return nil, isAbsent(err)
	case err != nil:
		return nil, false
	}
	return o.root, os.SameFile(o.info, info)
}

// reopen opens the folder that is at the location now. The caller has the lock.
func (f *folder) reopen() error {
	if _, ok := f.present(); ok {
		return nil
	}
	if old := f.opened.Swap(nil); old != nil {
		_ = old.root.Close() // a reader that still uses it starts over
	}
	root, err := f.reach(openFolder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return f.noFolder(err)
	}
	return f.setOpened(root)
}

func (f *folder) setOpened(root *os.Root) error {
	info, err := root.Stat(".")
	if err != nil {
		return errors.Join(err, root.Close())
	}
	f.opened.Store(&opened{root, info})
	return nil
}

// ensure returns the open folder, and makes it if necessary. The caller has the lock.
func (f *folder) ensure() (*os.Root, error) {
	if o := f.opened.Load(); o != nil {
		return o.root, nil
	}
	root, err := f.reach(f.b.makeFolder)
	if err != nil {
		return nil, f.noFolder(err)
	}
	if err := f.setOpened(root); err != nil {
		return nil, err
	}
	return root, nil
}

func (f *folder) noFolder(err error) error {
	if errors.Is(err, errNoFolder) {
		return fail("open store", notFolder(f.location, err))
	}
	return err
}

// reach opens the folder at the location, calling step for each name on the way.
func (f *folder) reach(step func(*os.Root, string) (*os.Root, error)) (*os.Root, error) {
	return reach(f.b.base, f.location, step)
}

// reach opens the folder at a location below base, calling step for each name on the way.
func reach(base *os.Root, location string, step func(*os.Root, string) (*os.Root, error)) (*os.Root, error) {
	at := base
	for name := range strings.SplitSeq(location, "/") {
		next, err := step(at, name)
		if at != base {
			err = errors.Join(err, at.Close())
		}
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// ownLocation is a key in folder.unflushed. It stands for the folders between the
// backend's folder and the store's.
const ownLocation memento.Path = ""

// flushLocation flushes the names of the folders between the backend's folder and the
// store's.
func (f *folder) flushLocation() error {
	root, err := f.reach(func(dir *os.Root, name string) (*os.Root, error) {
		if err := f.b.syncer.syncFolder(dir); err != nil {
			return nil, err
		}
		return openFolder(dir, name)
	})
	if isAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return root.Close()
}

// row returns the index's row for a path, or nil.
func (f *folder) row(p memento.Path) *row {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if n := f.tree.find(f.b.traits, p); n != nil {
		return n.row
	}
	return nil
}

// rowsBelow returns the rows at and below a path.
func (f *folder) rowsBelow(p memento.Path) (rows []*row) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if n := f.tree.find(f.b.traits, p); n != nil {
		for r := range n.all() {
			rows = append(rows, r)
		}
	}
	return rows
}

// rowOf returns the row of the file of a memory, or nil.
func (f *folder) rowOf(id memento.MemoryID) *row {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.byMemory[id]
}

// hasUnmanaged reports whether the folder has any unmanaged files.
func (f *folder) hasUnmanaged() bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.unmanaged > 0
}

// apply applies changes to the tree. The caller holds mu.
func (f *folder) apply(c *changes) {
	for _, p := range c.gone {
		f.count(f.tree.remove(f.b.traits, p), nil)
	}
	for _, r := range c.put {
		f.count(f.tree.put(f.b.traits, r), r)
	}
}

// count updates byMemory and unmanaged when the row before is replaced with the row
// after. Either may be nil.
func (f *folder) count(before, after *row) {
	if before != nil {
		if before.status.kind != managed {
			f.unmanaged--
		} else if f.byMemory[before.memory] == before {
			delete(f.byMemory, before.memory)
		}
	}
	if after != nil {
		if after.status.kind != managed {
			f.unmanaged++
		} else if other := f.byMemory[after.memory]; other == nil || other == before || other.version.SeqHint() <= after.version.SeqHint() {
			f.byMemory[after.memory] = after // of two files of one memory, the older one is about to be removed
		}
	}
}

// confirm records, in memory only, that a file still had the contents of its row when it
// was checked.
func (f *folder) confirm(r *row, checked int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := f.tree.find(f.b.traits, r.path); n != nil && n.row == r {
		sure := *r
		sure.checked = checked
		f.count(f.tree.put(f.b.traits, &sure), &sure)
	}
}

// readIndex applies to the tree what other processes have written to the index since.
func (f *folder) readIndex() error {
	f.mu.RLock()
	after := f.generation
	f.mu.RUnlock()
	c, generation, whole, err := f.b.index.read(f.store, after)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.generation != after {
		return nil // another goroutine has read it
	}
	if whole || err != nil {
		f.empty()
	}
	if err != nil {
		return err
	}
	f.apply(&c)
	f.generation = generation
	return nil
}

// empty resets the tree to generation 0. The caller holds mu.
func (f *folder) empty() {
	f.tree, f.unmanaged, f.generation = &node{}, 0, 0
	clear(f.byMemory)
}

// locked calls do while no other process or goroutine changes the store. Everything that
// happened before is known by then. Versions that were made from changes by hand are
// reported after the lock is released.
func (f *folder) locked(ctx context.Context, do func() error) error {
	if err := f.lock.acquire(ctx); err != nil {
		return err
	}
	return f.withLock(ctx, do)
}

// withLock is locked for a caller that has the lock. It releases it.
func (f *folder) withLock(ctx context.Context, do func() error) (err error) {
	var adopted []memento.Version
	func() {
		defer func() {
			adopted, f.adopted = f.adopted, nil
			f.lock.release()
		}()
		if err = f.catchUp(ctx); err == nil {
			err = do()
		}
	}()
	if len(adopted) > 0 && f.b.adopted != nil {
		f.b.adopted(f.store, adopted)
	}
	return err
}

// retryDelay is how long to wait before trying again to bring a stale file up to date.
const retryDelay = time.Second

// catchUp brings this process up to date, and completes what another process began but
// did not finish. The caller has the lock.
func (f *folder) catchUp(ctx context.Context) error {
	m, err := f.lock.mark()
	if err == nil && m == dead {
		err = &memento.Error{Op: "lock store", Err: memento.ErrNoStore}
	}
	if err != nil {
		return err
	}
	if err := f.reopen(); err != nil {
		return err
	}
	died := f.dirty.load(m.dirty)
	full := !f.caughtUp.Load() || f.dirty.scanIncomplete || died || len(f.dirty.stale)+len(f.unflushed) > 0 && time.Now().After(f.retryAt)
	if died {
		f.unflushed[ownLocation] = struct{}{}
	}
	if !f.unindexed.isEmpty() && m.generation != f.indexGeneration() {
		// Other processes have compared all files since, so theirs is newer.
		f.unindexed, full = changes{}, true
		f.mu.Lock()
		f.empty()
		f.mu.Unlock()
	}
	if !f.caughtUp.Load() || m.generation != f.indexGeneration() {
		if err := f.readIndex(); err != nil {
			full = true // the index is lost: it is built again
		}
	}
	switch at := f.indexGeneration(); {
	case at < m.generation: // the index was lost while processes that had read it go on
		full = true
		f.mu.Lock()
		f.generation = m.generation
		f.mu.Unlock()
	case at > m.generation:
		if err := f.lock.setMark(mark{at, f.dirty.mark}); err != nil {
			return err
		}
	}
	if !full {
		return nil
	}
	err = f.reconcile(ctx, true)
	if err != nil {
		f.caughtUp.Store(false)
	}
	return err
}

// setStale records whether the file at a path is stale: older than the database, because
// it could not be brought up to date.
func (f *folder) setStale(p memento.Path, is bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if is {
		f.dirty.stale[p] = struct{}{}
	} else {
		delete(f.dirty.stale, p)
	}
}

// isStale reports whether the file at a path is known to be stale.
func (f *folder) isStale(p memento.Path) bool {
	_, is := f.dirty.stale[p]
	return is
}

// delayRetry postpones the next attempt to bring stale files up to date.
func (f *folder) delayRetry() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.retryAt = time.Now().Add(retryDelay)
}

// waitsForRetry reports whether the file at a path is known to be stale, and the next
// attempt is not due yet.
func (f *folder) waitsForRetry(p memento.Path) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	_, is := f.dirty.stale[p]
	return is && time.Now().Before(f.retryAt)
}

// indexGeneration returns the generation of the index that the tree was read from.
func (f *folder) indexGeneration() uint64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.generation
}

// begin sets the dirty mark: until end, files may differ from the database. The caller
// has the lock.
func (f *folder) begin() error {
	if f.dirty.begin(max(1, rand.Uint64())) {
		return f.setMark()
	}
	return nil
}

// setMark writes the mark to the lock file. The first write needs disk space.
func (f *folder) setMark() error {
	return f.b.withReserve(releaseBytes, func() error { return f.lock.setMark(mark{f.indexGeneration(), f.dirty.mark}) })
}

// end applies changes to the tree and writes them to the index. It clears the dirty mark
// if all files are up to date. An index that cannot be written is not an error: the mark
// stays, other processes compare all files, and the next call of end in this process
// writes what is missing.
func (f *folder) end(c *changes) error {
	f.mu.Lock()
	f.apply(c)
	f.mu.Unlock()
	f.unindexed.merge(c)
	if !f.unindexed.isEmpty() {
		_ = f.writeIndex()
		f.b.step("indexed")
	}
	f.dirty.end(f.unindexed.isEmpty() && len(f.unflushed) == 0)
	return f.setMark()
}

// writeIndex writes the changes that the index lacks.
func (f *folder) writeIndex() error {
	if f.unindexed.isEmpty() {
		return nil
	}
	generation := f.indexGeneration() + 1
	if err := f.b.index.write(f.store, generation, &f.unindexed); err != nil {
		return err
	}
	f.unindexed = changes{}
	f.setGeneration(generation)
	return nil
}

func (f *folder) setGeneration(generation uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.generation = generation
}

// scrub removes from the index the paths of files that are gone, before the history
// loses them. If there is no space for that, even of the reserve, they stay in the index
// until the next call: the contents go first. The caller has the lock.
func (f *folder) scrub() error {
	err := f.b.withReserve(scrubBytes, func() error {
		if err := f.writeIndex(); err != nil {
			return err
		}
		generation, err := f.b.index.scrub(f.store, f.indexGeneration())
		if generation != 0 && err == nil {
			f.setGeneration(generation)
		}
		return err
	})
	if err != nil && !isFull(err) {
		return err
	}
	return f.setMark()
}
