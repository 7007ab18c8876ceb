// Package dirstore keeps memories as plain files that a person can open, with their
// history beside them.
//
//	memories/                the store named "default": each memory is a file at its path
//	stores/NAME/memories/    any other store
//	.memento/                internal files: history, locks, API keys
//
// A folder of notes of another program, such as an Obsidian vault or a coding agent's
// memory folder, can be opened as it is: then all of it is the store "default", except
// hidden names, and everything of memento's is in .memento/root. See [Layout].
//
// A folder written by the local tools of Anthropic's Python and TypeScript SDKs has the
// same form, and can be opened directly. Files can be read, changed, added, renamed and
// removed by hand, or by another program, while memento has the folder open: the next
// access makes versions from the changes, with the user [ByHand] as their actor.
//
// # Database, files and index
//
// The database, a [sqlitestore.Backend] in the hidden folder, is the authority: it has
// memories, history, IDs and store descriptions. The files mirror its present state. The
// index, a cache, says what memento last wrote or saw on disk. Comparing the three shows
// what has changed: if index and database agree and the file differs, the file was
// changed by hand; if file and index agree and the database differs, the file is stale.
// decide.go has all cases.
//
// # Durability
//
// A change that was reported as done is in the database and flushed. Its files are flushed
// with it. If a process dies, or a file cannot be written at present, the next process to
// use the store completes the files. durable.go has the order of operations.
//
// # What is not a memory
//
// Symbolic links, FIFOs, sockets, devices, and hard links to files that memento did not
// make are never opened, followed, listed or overwritten. If one takes the path of a
// memory, the memory is read from the database, and cannot be written until the path is
// free. A file whose contents cannot be a memory's, because they are not UTF-8 or are
// larger than the store allows, is listed, but reading or changing it fails with
// memento.ErrForeign. Hidden files of other programs (".git", ".a.swp", "node_modules")
// are ignored.
//
// Every access is confined to the store's folder by [os.Root], and descends one name at a
// time without following links, not even links within the folder. A process that can
// write to the folder given to Open can also replace the hidden folder in it, and is
// trusted.
//
// # Names
//
// If the file system does not distinguish /A from /a, or two Unicode forms of a name, the
// second of two such names is refused with memento.ErrExist. Elsewhere, a file whose name
// is not in Unicode form NFC, as macOS writes names, gets that name when it is found. Names that a file system
// cannot hold are shortened on disk, and end in "~" and a hash.
//
// # Limits
//
// Any number of processes of one machine can share a folder, but not over a network file
// system, where neither its locks nor SQLite's work. On Windows, folders cannot be
// flushed: what a power failure undoes is restored from the database when the folder is
// opened.
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
	"memento/backend"
	"memento/backend/apikey"
	"memento/backend/sqlitestore"
)

var (
	_ memento.Backend         = (*Backend)(nil)
	_ memento.Searcher        = (*Backend)(nil)
	_ memento.ReadMarker      = (*Backend)(nil)
	_ apikey.Keeper           = (*Backend)(nil)
	_ backend.WorkspaceLister = (*Backend)(nil)
	_ backend.NoteKeeper      = (*Backend)(nil)
	_ backend.PositionLister  = (*Backend)(nil)
	_ backend.ReadyChecker    = (*Backend)(nil)
	_ backend.MetricSource    = (*Backend)(nil)
)

// A Backend keeps stores in a folder. See [Open].
type Backend struct {
	base      *os.Root
	place     place
	hidden    *os.Root // with memento's own files: see place
	locks     *os.Root // locksFolder in hidden
	locations *os.Root // locationsFolder in hidden
	db        database
	index     *fileIndex
	scratch   string // the temporary folder that hidden is; "" for one in base
	path      string // of base, absolute
	dbPath    string // of the database; the reserve is beside it
	traits    traits
	syncer    syncer
	adopted   func(memento.StoreID, []memento.Version)
	hook      func(step string) // called before and after each operation on the disk; for tests

	catalogue *lock // held while stores are made, deleted or given a location

	mu      sync.Mutex
	folders map[memento.StoreID]*folder
	owned   bool           // whether some store is known to own the home: see place
	active  sync.WaitGroup // calls under way
	closed  bool
}

// A database keeps everything that is not a file.
type database interface {
	memento.Backend
	memento.Searcher
	memento.ReadMarker
	apikey.Keeper
	backend.BackupWriter
	backend.WorkspaceLister
	backend.NoteKeeper
	backend.PositionLister
	backend.VectorKeeper
	backend.ReadyChecker
	backend.SealedImporter
	backend.MetricSource
}

// Options are the options of [Open]; nil means all defaults.
type Options struct {
	// Now returns the time; nil means time.Now.
	Now func() time.Time
	// BusyTimeout is how long a write waits for other processes that write to
	// the database; 0 means 30 seconds.
	BusyTimeout time.Duration
	// Adopted is called with the versions that were made from files changed by hand, with
	// their contents. It is called after they were made, by the call that found the
	// changes. These contents were not checked for secrets before: a caller can do that
	// here. It may use the backend, but not close it.
	Adopted func(store memento.StoreID, made []memento.Version)
	// Layout says where the memories are. LayoutFound, the default, is right except for
	// a folder that is opened the first time and has files of other programs.
	Layout Layout
	// Note, if not nil, is called by Open with what a user should know about where the
	// memories of this folder are: a sentence without a full stop.
	Note func(text string)

	// Reading is for callers that write nothing: a folder without a history is not given
	// one. It is opened with a temporary history, outside of the folder, which Close
	// removes; so version IDs are good for this Backend only. Writes would leave files
	// without their history. A folder that has a history is opened as without Reading,
	// unless it cannot be written, because of its file system or its permissions: then a
	// copy of its history is opened, which Close removes as well. A folder that does not
	// exist is opened as without Reading.
	Reading bool

	traits *traits           // instead of the file system's; for tests
	hook   func(step string) // see Backend; for tests
	syncer syncer            // instead of osSyncer; for tests
}

// Open opens the folder at path. If it does not exist, Open makes it, accessible to its
// owner only; its parent folder must exist. A folder of memories that memento has not
// seen before becomes the store named "default" of the default workspace. The caller
// closes the Backend.
//
// Errors: memento.ErrForeign if a link, or anything but a folder, is where the memories
// or the database should be; memento.ErrFormat if the database is damaged, or was written
// by a newer memento; memento.ErrReadOnly, memento.ErrNoSpace.
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

// errReplaced says that the opened folder is no longer the one at its path.
var errReplaced = errors.New("the folder was replaced while it was opened")

func (b *Backend) open(ctx context.Context, path string, o *Options) (err error) {
	if b.base, err = openBase(path); err != nil {
		return err
	}
	var note string
	if b.place, note, err = b.choosePlace(o.Layout, filepath.Base(path)); err != nil {
		return err
	}
	if note != "" && o.Note != nil {
		o.Note(note)
	}
	hiddenPath := filepath.Join(path, filepath.FromSlash(b.place.hidden))
	if _, missing := b.base.Lstat(filepath.FromSlash(b.place.hidden)); o.Reading && errors.Is(missing, fs.ErrNotExist) {
		if err := b.openScratch(); err != nil {
			return err
		}
		hiddenPath = b.scratch
	} else if err := b.openHidden(); err != nil {
		return err
	}
	err = b.openLocks()
	if o.Reading && isUnwritable(err) && b.scratch == "" {
		if err := b.closeOwn(); err != nil {
			return err
		}
		if err := b.openCopy(); err != nil {
			return err
		}
		hiddenPath = b.scratch
		err = b.openLocks()
	}
	if err != nil {
		return err
	}
	if o.traits != nil {
		b.traits = *o.traits
	} else if b.traits, err = probe(b.hidden); err != nil {
		return err
	}
	b.path = path
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
	// Restore may have replaced the folder meanwhile: it waits only for processes that
	// have the database open.
	opened, err := b.base.Stat(".")
	if err != nil {
		return err
	}
	if now, err := os.Stat(path); err != nil || !os.SameFile(opened, now) {
		return errReplaced
	}
	return nil
}

// openLocks opens what is locked for writing. It makes what is missing.
func (b *Backend) openLocks() (err error) {
	if b.locks, err = b.makeFolder(b.hidden, locksFolder); err != nil {
		return err
	}
	if b.locations, err = b.makeFolder(b.hidden, locationsFolder); err != nil {
		return err
	}
	b.catalogue, err = openLock(b.locks, "catalogue")
	return err
}

// closeOwn closes what openHidden and openLocks opened.
func (b *Backend) closeOwn() (err error) {
	if b.catalogue != nil {
		err = b.catalogue.close()
	}
	for _, dir := range []*os.Root{b.locations, b.locks, b.hidden} {
		if dir != nil {
			err = errors.Join(err, dir.Close())
		}
	}
	b.catalogue, b.locations, b.locks, b.hidden = nil, nil, nil, nil
	return err
}

// openBase opens the folder that Open was given, which may be a link to one.
func openBase(path string) (*os.Root, error) {
	switch err := os.Mkdir(path, ownFolderMode); {
	case err == nil:
		if err := os.Chmod(path, ownFolderMode); err != nil { // regardless of the umask
			return nil, err
		}
		if err := syncParent(path); err != nil {
			return nil, errors.Join(err, os.Remove(path)) // a later Open does not flush a folder that exists
		}
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("its parent folder does not exist (%w)", bare(err))
	}
	return os.OpenRoot(path)
}

// syncParent flushes the name of a folder in its parent, unless the parent is not
// readable and so cannot be flushed.
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

// notFolder returns the error for something else than a folder, which err is about: see
// errNoFolder. name is relative to the folder that Open was given.
func notFolder(name string, err error) error {
	kind := "file"
	if errors.Is(err, errLinked) {
		kind = "link"
	}
	return placeError(fmt.Sprintf("%s is a %s; memento needs a real folder", name, kind))
}

// A placeError is a memento.ErrForeign about a folder, so without the words that are about
// memories.
type placeError string

func (e placeError) Error() string { return string(e) }
func (e placeError) Unwrap() error { return memento.ErrForeign }

// Close waits for the calls under way, then closes everything. Methods called afterwards
// return memento.ErrClosed.
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

// closeAll closes what is open.
func (b *Backend) closeAll() (err error) {
	for _, f := range b.folders {
		err = errors.Join(err, f.close())
	}
	if b.index != nil { // before the database, which takes the space that this frees into its reserve
		err = errors.Join(err, b.index.close())
	}
	if b.db != nil {
		err = errors.Join(err, b.db.Close())
	}
	err = errors.Join(err, b.closeOwn())
	if b.base != nil {
		err = errors.Join(err, b.base.Close())
	}
	if b.scratch != "" {
		err = errors.Join(err, os.RemoveAll(b.scratch))
	}
	return err
}

// enter begins a call, unless the backend is closed or ctx is done. leave ends it.
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

// step reports progress to a test.
func (b *Backend) step(name string) {
	if b.hook != nil {
		b.hook(name)
	}
}
