// Package dirstore keeps memories as plain files that a person can open, with
// their history beside them.
//
//	memories/                the store named "default": each memory is a file at its path
//	stores/NAME/memories/    any other store
//	.memento/                what is not for people: history, locks, API keys
//
// A folder written by the local tools of Anthropic's Python and TypeScript SDKs
// has the same form, and opens as it is. Files can be read, changed, added,
// renamed and removed by hand, or by another program, while memento has the folder
// open: the next access to what was changed makes versions of it, by the user
// [ByHand].
//
// # Database, files and index
//
// The database, a [sqlitestore.Backend] in the hidden folder, have the whole truth:
// memories, history, IDs, descriptions. The files mirror what the database says at
// present. An index, which can be lost at any time, says what memento has last put
// or seen on disk. Comparing the three tells what happened: if index and database
// agree, and the file differs, a hand was at it; if file and record agree, and the
// books differ, the file is behind. decide.go has all cases.
//
// # Durability
//
// An Apply, under the store's lock:
//
//  1. looks at the files it is about, and makes what was changed by hand versions;
//  2. marks the store as unsettled, for others to see should the process die;
//  3. commits the changes to the database, which flush them: from here they have
//     happened, and the database has the contents;
//  4. removes files whose memories are gone, and renames those whose memories have
//     moved, then removes folders that are empty by that;
//  5. writes each new text to a temporary file beside its place, mode 0600,
//     and flushes it;
//  6. looks once more whether someone else was at the place, and renames the
//     temporary file to it;
//  7. flushes every folder in which names have changed;
//  8. notes in the index what is there, and takes the mark away.
//
// Whoever dies in between leaves a mark; whoever comes next compares everything
// and does the rest. When the machine dies, the same happens when the folder is
// opened. If the disk does not let a file follow, the change has happened all the
// same: the file follows as soon as the disk lets it.
//
// # What is not a memory
//
// Symbolic links, FIFOs, sockets, devices, and hard links to files that memento
// did not make are never opened, followed, listed or overwritten; the memory in
// whose place one is reads as before, and cannot be written until it is gone. A
// file whose contents cannot be a memory's, because they are not UTF-8, or are
// larger than the store allows, is listed, but reading it and changing it fail with
// memento.ErrForeign. Files of others with hidden names (".git", ".a.swp",
// "node_modules") are left alone.
//
// Every access is confined to the store's folder by [os.Root], and goes down one
// name at a time without following links, also those within. Whoever can write to the folder
// that Open is given can replace the hidden folder in it, and is trusted.
//
// # Names
//
// If the file system takes /A for /a, or one Unicode form for another, the second
// of two such names is refused with memento.ErrExist. Names that a file system
// cannot hold are shortened on disk, and end in "~" and a hash.
//
// # Limits
//
// Any number of processes of one machine can share a folder, but not over a
// network file system, where neither its locks nor SQLite's work. On Windows,
// folders cannot be flushed: what a power failure takes back is put right from the
// books when the folder is opened.
package dirstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"memento"
	"memento/sqlitestore"
)

var (
	_ memento.Backend         = (*Backend)(nil)
	_ memento.Searcher        = (*Backend)(nil)
	_ memento.ReadMarker      = (*Backend)(nil)
	_ memento.KeyKeeper       = (*Backend)(nil)
	_ memento.WorkspaceLister = (*Backend)(nil)
	_ memento.NoteKeeper      = (*Backend)(nil)
	_ memento.ReadyChecker    = (*Backend)(nil)
)

// A Backend keeps stores in a folder. See [Open].
type Backend struct {
	base      *os.Root
	hidden    *os.Root // hiddenFolder in base
	locks     *os.Root // locksFolder in hidden
	locations *os.Root // locationsFolder in hidden
	db        database
	index     *fileIndex
	dbPath    string // of the database, beside which the reserve lies
	traits    traits
	syncer    syncer
	adopted   func(memento.StoreID, []memento.Version)
	hook      func(step string) // called before and after what touches the disk; for tests

	catalogue *lock // of what stores there are, and where

	mu      sync.Mutex
	folders map[memento.StoreID]*folder
	owned   bool           // whether some store is known to be in defaultFolder
	active  sync.WaitGroup // calls under way
	closed  bool
}

// database keeps all that is not a file.
type database interface {
	memento.Backend
	memento.Searcher
	memento.ReadMarker
	memento.KeyKeeper
	memento.BackupWriter
	memento.WorkspaceLister
	memento.NoteKeeper
	memento.ReadyChecker
}

// Options are the options of [Open]; nil means all defaults.
type Options struct {
	// Now tells the time; nil means time.Now.
	Now func() time.Time
	// BusyTimeout is how long a write waits for other processes that write to
	// the database; 0 means 30 seconds.
	BusyTimeout time.Duration
	// Adopted is told of every version that was made of a file changed by hand,
	// with its contents, after it was made, by whichever call noticed the change.
	// Such contents have passed no guard: this is the place to look for secrets in
	// them. It may use the backend, but not close it.
	Adopted func(store memento.StoreID, made []memento.Version)

	traits *traits           // in place of what the file system has; for tests
	hook   func(step string) // see Backend; for tests
	syncer syncer            // in place of osSyncer; for tests
}

// Open opens the folder at path, and makes it, for its owner only, if it does not
// exist; the folder it is in must. A folder with memories that no memento
// has seen yet becomes the store named "default" of the default workspace. The
// caller closes the Backend.
//
// Errors: memento.ErrForeign if a link, or anything but a folder, is where the
// memories or the database should be; memento.ErrFormat if the database is damaged,
// or were written by a newer memento; memento.ErrReadOnly, memento.ErrNoSpace.
func Open(ctx context.Context, path string, opts *Options) (*Backend, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	const op = "open folder"
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fail(op, err)
	}
	for {
		b := &Backend{adopted: o.Adopted, hook: o.hook, syncer: o.syncer, folders: map[memento.StoreID]*folder{}}
		if b.syncer == nil {
			b.syncer = osSyncer{}
		}
		err := b.open(ctx, path, &o)
		if err == nil {
			err = b.finishCatalogue(ctx)
		}
		if err == nil {
			return b, nil
		}
		err = errors.Join(err, b.closeAll())
		if !errors.Is(err, errReplaced) || ctx.Err() != nil {
			return nil, fail(op, err)
		}
	}
}

// errReplaced says that the folder is not the one any more that was opened.
var errReplaced = errors.New("the folder was replaced meanwhile")

func (b *Backend) open(ctx context.Context, path string, o *Options) (err error) {
	if b.base, err = openBase(path); err != nil {
		return err
	}
	if b.hidden, err = b.makeFolder(b.base, hiddenFolder); errors.Is(err, errNoFolder) {
		return notFolder(hiddenFolder)
	} else if err != nil {
		return err
	}
	if b.locks, err = b.makeFolder(b.hidden, locksFolder); err != nil {
		return err
	}
	if b.locations, err = b.makeFolder(b.hidden, locationsFolder); err != nil {
		return err
	}
	if b.catalogue, err = openLock(b.locks, "catalogue"); err != nil {
		return err
	}
	if o.traits != nil {
		b.traits = *o.traits
	} else if b.traits, err = probe(b.hidden); err != nil {
		return err
	}
	hiddenPath := filepath.Join(path, hiddenFolder)
	b.dbPath = filepath.Join(hiddenPath, dbFile)
	if b.index, err = openIndex(b.hidden, hiddenPath); isFull(err) {
		b.index, err = b.openIndexFull(hiddenPath)
	}
	if err != nil {
		return err
	}
	if err := makeOwn(b.hidden, dbFile); err != nil { // SQLite would follow a link
		return err
	}
	kept, err := sqlitestore.Open(ctx, b.dbPath, &sqlitestore.Options{Now: o.Now, BusyTimeout: o.BusyTimeout})
	if err != nil {
		return err
	}
	b.db = kept
	// Restore may have been at work, which waits for nobody but who has the database open.
	opened, err := b.base.Stat(".")
	if err != nil {
		return err
	}
	if now, err := os.Stat(path); err != nil || !os.SameFile(opened, now) {
		return errReplaced
	}
	return nil
}

// openBase opens the folder that Open was given, which may be a link to one.
func openBase(path string) (*os.Root, error) {
	switch err := os.Mkdir(path, ownFolderMode); {
	case err == nil:
		if err := os.Chmod(path, ownFolderMode); err != nil { // whatever the umask
			return nil, err
		}
		if err := syncParent(path); err != nil {
			return nil, errors.Join(err, os.Remove(path)) // who finds it does not flush it
		}
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the folder it should be in does not exist (%w)", bare(err))
	}
	return os.OpenRoot(path)
}

// syncParent flushes the name of a folder, unless the folder that it is in may not
// be read, so that it cannot be flushed.
func syncParent(path string) error {
	parent, err := os.OpenRoot(filepath.Dir(path))
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil
	case err != nil:
		return err
	}
	return errors.Join(syncFolder(parent), parent.Close())
}

func notFolder(name string) error {
	return fmt.Errorf("%w: %s is a link or a file, not a folder", memento.ErrForeign, name)
}

// Close finishes what was accepted and closes everything. Methods called
// afterwards return memento.ErrClosed.
func (b *Backend) Close() error {
	b.mu.Lock()
	wasClosed := b.closed
	b.closed = true
	b.mu.Unlock()
	if wasClosed {
		return nil
	}
	b.active.Wait()
	return fail("close", b.closeAll())
}

// release closes what is open.
func (b *Backend) closeAll() (err error) {
	for _, f := range b.folders {
		err = errors.Join(err, f.close())
	}
	if b.index != nil { // before the database, which take the room that it leaves into their reserve
		err = errors.Join(err, b.index.close())
	}
	if b.db != nil {
		err = errors.Join(err, b.db.Close())
	}
	if b.catalogue != nil {
		err = errors.Join(err, b.catalogue.close())
	}
	for _, dir := range []*os.Root{b.locations, b.locks, b.hidden, b.base} {
		if dir != nil {
			err = errors.Join(err, dir.Close())
		}
	}
	return err
}

// enter begins a call, unless the backend is closed or ctx has ended; leave ends it.
func (b *Backend) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return memento.ErrClosed
	}
	b.active.Add(1)
	return nil
}

func (b *Backend) leave() { b.active.Done() }

// step tells a test where we are.
func (b *Backend) step(name string) {
	if b.hook != nil {
		b.hook(name)
	}
}
