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
	location string // of the folder of memories, below the backend's
	lock     *lock
	users    int // calls that use it; see Backend.mu

	opened   atomic.Pointer[opened] // nil while there is no folder
	caughtUp atomic.Bool            // whether this process has compared all files once

	mu         sync.RWMutex // for the fields up to the next comment, and for dirty.stale
	tree       *node
	byMemory   map[memento.MemoryID]*row // rows of managed files
	unmanaged  int                       // number of rows of other files
	generation uint64                    // of the index that the tree was read from
	retryAt    time.Time                 // when to try again to bring stale files up to date

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

// close is called when nobody uses the folder any more.
func (f *folder) close() error {
	err := f.lock.close()
	if o := f.opened.Swap(nil); o != nil {
		err = errors.Join(err, o.root.Close())
	}
	return err
}

// present returns the open folder, nil if there is none, and whether that is
// still what is at its place.
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

// reopen makes opened what is at the place of the folder. The caller has the lock.
func (f *folder) reopen() error {
	if _, ok := f.present(); ok {
		return nil
	}
	if old := f.opened.Swap(nil); old != nil {
		_ = old.root.Close() // who still looks at it looks again
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

// ensure returns the open folder, and makes it if need be. The caller has the lock.
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
		return foreign("open store", memento.Root, "the folder of the store's memories is a link or a file, not a folder")
	}
	return err
}

// reach goes to the folder's place, one name after the other.
func (f *folder) reach(step func(*os.Root, string) (*os.Root, error)) (*os.Root, error) {
	at := f.b.base
	for name := range strings.SplitSeq(f.location, "/") {
		next, err := step(at, name)
		if at != f.b.base {
			err = errors.Join(err, at.Close())
		}
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// ownLocation stands, among paths of folders, for those that the store's own is in.
const ownLocation memento.Path = ""

// flushLocation flushes the names on the way to the store's folder.
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

// row returns what the index has of a path, or nil.
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

// rowOf returns the row of the file that a memory is in, or nil.
func (f *folder) rowOf(id memento.MemoryID) *row {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.byMemory[id]
}

// hasUnmanaged reports whether there is a file that is not what the database has.
func (f *folder) hasUnmanaged() bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.unmanaged > 0
}

// apply brings changes into the tree. The caller holds mu.
func (f *folder) apply(c *changes) {
	for _, p := range c.gone {
		f.count(f.tree.remove(f.b.traits, p), nil)
	}
	for _, r := range c.put {
		f.count(f.tree.put(f.b.traits, r), r)
	}
}

// count keeps what is known of all rows together, as one becomes another.
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
			f.byMemory[after.memory] = after // of two files of one memory, the one that is to go is older
		}
	}
}

// confirm notes, in memory only, that a file still has the contents that its row says.
func (f *folder) confirm(r *row, checked int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := f.tree.find(f.b.traits, r.path); n != nil && n.row == r {
		sure := *r
		sure.checked = checked
		f.count(f.tree.put(f.b.traits, &sure), &sure)
	}
}

// readIndex reads what others have written to the index since.
func (f *folder) readIndex() error {
	f.mu.RLock()
	after := f.generation
	f.mu.RUnlock()
	c, generation, whole, err := f.b.index.read(f.store, after)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.generation != after {
		return nil // somebody else has
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

// empty makes the tree that of no generation. The caller holds mu.
func (f *folder) empty() {
	f.tree, f.unmanaged, f.generation = &node{}, 0, 0
	clear(f.byMemory)
}

// locked runs do while no one else changes the store, after everything that
// happened before is known. What was noticed is reported when the lock is free again.
func (f *folder) locked(ctx context.Context, do func() error) error {
	if err := f.lock.acquire(ctx); err != nil {
		return err
	}
	return f.withLock(ctx, do)
}

// withLock is locked for who has the lock; it releases it.
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

// retryDelay is how long a file that cannot be brought up to date is left alone.
const retryDelay = time.Second

// catchUp brings what this process knows up to date, and finishes what another
// began and did not live to finish. The caller has the lock.
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
		// Others have looked at everything since, and know better.
		f.unindexed, full = changes{}, true
		f.mu.Lock()
		f.empty()
		f.mu.Unlock()
	}
	if !f.caughtUp.Load() || m.generation != f.indexGeneration() {
		if err := f.readIndex(); err != nil {
			full = true // the index is lost: it is made anew
		}
	}
	switch at := f.indexGeneration(); {
	case at < m.generation: // the index was lost, but not those who know what was in it
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

// setStale notes whether the file at a path could not be brought up to date.
func (f *folder) setStale(p memento.Path, is bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if is {
		f.dirty.stale[p] = struct{}{}
	} else {
		delete(f.dirty.stale, p)
	}
}

// isStale reports whether it is known that the file at a path is behind.
func (f *folder) isStale(p memento.Path) bool {
	_, is := f.dirty.stale[p]
	return is
}

// rest leaves files that could not be brought up to date alone for a while.
func (f *folder) delayRetry() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.retryAt = time.Now().Add(retryDelay)
}

// rests reports whether it is known that the file at a path is behind, and too
// early to try again.
func (f *folder) waitsForRetry(p memento.Path) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	_, is := f.dirty.stale[p]
	return is && time.Now().Before(f.retryAt)
}

// indexGeneration returns the generation of the index that the tree has.
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

// setMark sets the mark to what it should be. Where there is no mark yet, that takes room.
func (f *folder) setMark() error {
	return f.b.withReserve(func() error { return f.lock.setMark(mark{f.indexGeneration(), f.dirty.mark}) })
}

// end keeps changes in the index and the tree, and takes the mark away if all
// files are up to date. That the index cannot be written is not an error: the
// mark then stays, others look at everything, and the next to come here in this
// process writes what could not be.
func (f *folder) end(c *changes) error {
	f.mu.Lock()
	f.apply(c)
	f.mu.Unlock()
	f.unindexed.merge(c)
	if !f.unindexed.isEmpty() {
		generation := f.indexGeneration() + 1
		if f.b.index.write(f.store, generation, &f.unindexed) == nil {
			f.unindexed = changes{}
			f.mu.Lock()
			f.generation = generation
			f.mu.Unlock()
		}
		f.b.step("indexed")
	}
	f.dirty.end(f.unindexed.isEmpty() && len(f.unflushed) == 0)
	return f.setMark()
}
