// Package sqlitestore keeps stores in one SQLite file. It is the backend to
// start with: nothing to run, nothing to configure, and as durable as the disk.
//
// The file is in WAL mode with synchronous=FULL: when a write returns, it has
// been flushed to the medium. Writes of one process that wait at the same time
// are committed together, so their number a second grows with the number of
// callers. Readers do not wait for writers, but for a few milliseconds now and
// then, when the log is started over. Any number of processes on one
// machine can share the file; it must not lie on a network file system, where
// SQLite's locks do not work.
//
// Beside the file, SQLite keeps two more while it is in use, with "-wal" and
// "-shm" after its name. Copy all three, or none: a plain copy of a file in use
// is not a backup.
//
// What is redacted leaves these files before the call returns, see [Backend.Redact]. Of
// what is pruned, and of deleted stores, single words stay some seconds longer, in the
// pages of the search index; see [Backend.DeleteStore].
//
// The format is in the migrations folder. A file written by a newer memento is
// refused, an older one is brought up to date when it is opened.
package sqlitestore

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"memento"
	"memento/internal/readnotes"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitemigration"
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

// A Backend keeps stores in one SQLite file. See [Open].
type Backend struct {
	now     func() time.Time
	writer  *writer
	readers *pool
	stores  sync.Map // StoreID → int64, what the tables call the stores seen so far
	reads   *readnotes.Notes
	texts   cache

	lastIndexedStore int64 // the store that was last indexed in a quiet moment; the writer's
	purger           indexPurger
}

// Options are the options of [Open]; nil means all defaults.
type Options struct {
	// Now tells the time; nil means time.Now.
	Now func() time.Time
	// BusyTimeout is how long a write waits for other processes that write to
	// the file; 0 means 30 seconds.
	BusyTimeout time.Duration
	// Reserve is how many bytes are kept free for a full disk, in a file with "-reserve"
	// behind the database's name; 0 means 2 MiB, and less than that none. They let the
	// database be opened, and memories and versions be removed, where nothing else can be
	// written.
	Reserve int64
}

// Open opens the file at path, and makes it, readable by its owner only, if it
// does not exist; its folder must exist. The caller closes the Backend.
//
// Errors: memento.ErrFormat if the file is no memento database, is damaged, or
// was written by a newer memento; memento.ErrReadOnly, memento.ErrNoSpace.
func Open(ctx context.Context, path string, opts *Options) (*Backend, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = 30 * time.Second
	}
	// An absolute path is never one of the names that SQLite treats specially.
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	space := openDiskSpace(path, cmp.Or(o.Reserve, defaultReserve))
	c, file, readOnly, err := openOnFullDisk(ctx, path, o.BusyTimeout, space)
	if err != nil {
		space.close()
		return nil, &memento.Error{Op: "open database", Err: translate(err)}
	}
	mark, marked, err := readPurgeRequest(c)
	if isDamage(err) { // see twice
		mark, marked, err = readPurgeRequest(c)
	}
	if err != nil {
		c.Close()
		space.close()
		return nil, &memento.Error{Op: "open database", Err: translate(err)}
	}
	b := &Backend{now: o.Now}
	b.readers = newPool(readers(file, o.BusyTimeout))
	b.writer = newWriter(c, file, space, o.BusyTimeout, b.readers.pause, b.indexWhenIdle)
	if readOnly {
		b.makeReadOnly(path, o.BusyTimeout)
	}
	b.reads = readnotes.New(readTiming, b.writeReads)
	if marked {
		b.adoptPurge(mark.since)
	}
	return b, nil
}

// readers returns how to open connections that read from a file.
func readers(file *fileIdentity, busy time.Duration) func(cache int) (*conn, error) {
	return func(cache int) (*conn, error) {
		return retryOpen(func() (*conn, error) { return openReader(file, busy, cache) })()
	}
}

// Close commits what was accepted and closes the file. Methods called
// afterwards return memento.ErrClosed.
func (b *Backend) Close() error {
	b.reads.Close()
	if b.purger.close() {
		_ = b.purgeIndex(context.Background(), 0) // what it cannot do is for whoever opens the file next
	}
	closeAll := func() error {
		err := b.writer.close()
		b.readers.close()
		return err
	}
	space := b.writer.space
	if !space.full.Load() {
		err := closeAll()
		space.close()
		return err
	}
	var err error
	space.withReserve(b.writer.busyTimeout, func() { err = closeAll() }) // which copies the log
	space.close()
	return err
}

// openScarce is openFile, also if there is no room. cramped says that the connection can
// only read.
func openOnFullDisk(ctx context.Context, path string, busy time.Duration, space *diskSpace) (c *conn, file *fileIdentity, readOnly bool, err error) {
	c, file, err = openFile(ctx, path, busy)
	for _, share := range []int64{openingBytes, space.baseSize} { // the latter is for a schema that is to be brought up to date
		if space.isOutOfSpace(err) {
			space.releasePart(share)
			c, file, err = openFile(ctx, path, busy)
		}
	}
	if err == nil {
		space.onOpen(c)
		if !space.full.Load() || !cannotWrite(c) {
			return c, file, false, nil
		}
		c.Close()
		err = memento.ErrNoSpace
	}
	if !space.isOutOfSpace(err) {
		return nil, nil, false, err
	}
	cause := space.explain(err)
	switch c, file, err = openReadOnly(path, busy); {
	case err == nil:
		return c, file, true, nil
	case errors.Is(err, memento.ErrFormat), isDamage(err):
		return nil, nil, false, err
	case errors.Is(err, errOldSchema):
		cause = fmt.Errorf("%w; %w", cause, err)
	}
	return nil, nil, false, cause
}

// openFile makes the file if need be, opens it for writing and brings its schema
// up to date. Others may be doing the same: SQLite's own waiting does not cover
// all of it.
func openFile(ctx context.Context, path string, busy time.Duration) (*conn, *fileIdentity, error) {
	// SQLite would make it readable for others.
	switch f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); {
	case err == nil:
		f.Close()
	case !errors.Is(err, fs.ErrExist):
		return nil, nil, withoutPath(err)
	}
	for start := time.Now(); ; time.Sleep(busyPause) {
		var file *fileIdentity
		c, err := retryOpen(func() (c *conn, err error) {
			c, file, err = openOnce(ctx, path, busy)
			return c, err
		})()
		if err == nil {
			return c, file, nil
		}
		// Replaced since it was opened: by Restore.
		moved := sqlite.ErrCode(err) == sqlite.ResultReadOnlyDBMoved || errors.Is(err, errMoved)
		if !isBusy(err) && !moved || time.Since(start) > busy || ctx.Err() != nil {
			return nil, nil, err
		}
	}
}

// openOnce opens the file that is at path now.
func openOnce(ctx context.Context, path string, busy time.Duration) (*conn, *fileIdentity, error) {
	file, err := identify(path)
	if err != nil {
		return nil, nil, err
	}
	c, err := openWriter(path, busy)
	if err != nil {
		return nil, nil, err
	}
	if err = migrate(ctx, c); err == nil {
		file.addLog()
		err = file.check() // else SQLite may have opened another
	}
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	return c, file, nil
}

// pathless is err without the name of the file, which not everybody should read.
func withoutPath(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: the file cannot be made or opened (%v)", memento.ErrReadOnly, err)
	}
	return fmt.Errorf("the database cannot be opened; check that its folder exists and is writable (%w)", err)
}

//go:embed migrations/*.sql
var migrations embed.FS

// appID marks the file as memento's: "mmto".
const appID = 0x6d6d746f

// checkFormat refuses a file that is not for this version of this program.
func checkFormat(c *conn) error {
	version, err := checkOurs(c)
	if err != nil {
		return err
	}
	known, err := scripts()
	if err == nil && version > int64(len(known)) {
		err = fmt.Errorf("%w: the file has schema version %d, this program knows %d: use a newer memento", memento.ErrFormat, version, len(known))
	}
	return err
}

// checkOurs refuses a file that is another program's, and returns the schema's version.
func checkOurs(c *conn) (version int64, err error) {
	// The tables first: whoever makes them sets the rest before.
	var tables, id int64
	for _, q := range []struct {
		query string
		value *int64
	}{
		{`SELECT count(*) FROM sqlite_master`, &tables},
		{`PRAGMA application_id`, &id},
		{`PRAGMA user_version`, &version},
	} {
		if _, err := c.one(q.query, func(s *sqlite.Stmt) { *q.value = s.ColumnInt64(0) }); err != nil {
			return 0, err
		}
	}
	if id != appID && (id != 0 || tables > 0) {
		return 0, fmt.Errorf("%w: the file is a database of another program", memento.ErrFormat)
	}
	return version, nil
}

// scripts returns the migrations in their order.
func scripts() (scripts []string, err error) {
	files, err := fs.ReadDir(migrations, "migrations") // in the order of their names
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		script, err := fs.ReadFile(migrations, "migrations/"+f.Name())
		if err != nil {
			return nil, err
		}
		scripts = append(scripts, string(script))
	}
	return scripts, nil
}

// migrate brings the schema up to date.
func migrate(ctx context.Context, c *conn) error {
	scripts, err := scripts()
	if err != nil {
		return err
	}
	var version int
	if _, err := c.one(`PRAGMA user_version`, func(s *sqlite.Stmt) { version = s.ColumnInt(0) }); err != nil || version == len(scripts) {
		return err
	}
	return sqlitemigration.Migrate(ctx, c.Conn, sqlitemigration.Schema{AppID: appID, Migrations: scripts})
}
