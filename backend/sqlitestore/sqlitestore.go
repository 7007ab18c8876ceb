// Package sqlitestore keeps stores in one SQLite file. It is the default backend: there is
// no server to run and nothing to configure, and it is as durable as the disk.
//
// The file is in WAL mode with synchronous=FULL: when a write returns, it has been flushed
// to the medium. Writes that wait in one process at the same time are committed together,
// so throughput grows with the number of callers. Readers do not wait for writers, except
// for a few milliseconds when the log is restarted. Any number of processes on one machine
// can share the file. It must not be on a network file system, where SQLite's locks do not
// work.
//
// While the file is in use, SQLite keeps two more beside it, with the suffixes "-wal" and
// "-shm". Copy all three, or none: a plain copy of a file in use is not a backup.
//
// Redacted contents are removed from these files before the call returns, see
// [Backend.Redact]. Single words of pruned versions stay in the pages of the search index for
// some seconds, see [Backend.Prune].
//
// The format is in the migrations folder. A file written by a newer memento is refused; an
// older file is migrated when it is opened.
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
	"syscall"
	"time"

	"memento"
	"memento/backend"
	"memento/backend/apikey"
	"memento/backend/readnotes"
	"memento/backend/textindex"
	"memento/internal/migrations"
	"memento/internal/textcache"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitemigration"
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
)

// A Backend keeps stores in one SQLite file. See [Open].
type Backend struct {
	now     func() time.Time
	writer  *writer
	readers *pool
	stores  sync.Map // StoreID → int64: numbers of the stores used so far
	reads   *readnotes.Notes
	texts   *textcache.Cache[string, cachedText] // by hash

	scratch string // the temporary folder with the copy that is read; "" if the file itself is open

	index  *textindex.Live
	purger indexPurger
}

// Options are the options of [Open]; nil means all defaults.
type Options struct {
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
	// BusyTimeout is how long a write waits for other processes that write to the file; 0
	// means 30 seconds.
	BusyTimeout time.Duration
	// Reserve is how many bytes are reserved on the disk, in a file with the suffix
	// "-reserve"; 0 means 2 MiB, a negative number no reserve. On a full disk, the reserve
	// makes it possible to open the database, and to remove memories and versions.
	Reserve int64
	// Reading is for callers that write nothing. A file that cannot be written, because the
	// file system is read-only or it belongs to another user, is then copied to the folder for
	// temporary files, and read as it was when it was opened; writes return
	// memento.ErrReadOnly.
	Reading bool
}

// Open opens the file at path, and creates it, readable by its owner only, if it does not
// exist; its directory must exist. The caller must close the Backend.
//
// Errors: memento.ErrFormat if the file is not a memento database, is damaged, or was
// written by a newer memento; memento.ErrReadOnly, memento.ErrNoSpace.
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
	// An absolute path is never one of SQLite's special names.
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	space := openDiskSpace(path, cmp.Or(o.Reserve, defaultReserve))
	var file *fileIdentity
	var readOnly, found bool
	var requested time.Time
	c, err := retryOpen(func() (c *conn, err error) {
		if c, file, readOnly, err = openOnFullDisk(ctx, path, o.BusyTimeout, space); err != nil {
			return nil, err
		}
		if requested, found, err = readPurgeRequest(c); err != nil {
			c.Close()
		}
		return c, err
	})
	if err != nil {
		space.close()
		if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultCantOpen {
			err = cmp.Or(checkWritable(path), err)
		}
		if err = translate(err); o.Reading && errors.Is(err, memento.ErrReadOnly) {
			var b *Backend
			if b, err = openCopy(ctx, path, o); err == nil {
				return b, nil
			}
		}
		return nil, &memento.Error{Op: "open database", Err: translate(err)}
	}
	b := &Backend{now: o.Now, texts: newTextCache()}
	b.readers = newPool(readers(file, o.BusyTimeout))
	b.writer = newWriter(c, file, space, o.BusyTimeout, b.readers.pause)
	if readOnly {
		b.makeReadOnly(path, o.BusyTimeout)
	}
	b.reads = readnotes.New(readTiming, b.writeReads)
	b.index = textindex.NewLive(indexStorage{b})
	if !readOnly {
		if _, err := onConn(b, "open database", func(c *conn) (struct{}, error) { return struct{}{}, b.wakeIndex(c) }); err != nil {
			b.Close()
			return nil, err
		}
	}
	if found {
		b.adoptPurge(requested)
	}
	return b, nil
}

// readers returns a function that opens connections for reading a file.
func readers(file *fileIdentity, busy time.Duration) func(cache int) (*conn, error) {
	return func(cache int) (*conn, error) {
		return retryOpen(func() (*conn, error) { return openReader(file, busy, cache) })
	}
}

// Close commits accepted writes and closes the file. Methods called afterwards return
// memento.ErrClosed.
func (b *Backend) Close() error {
	if b.scratch == "" {
		return b.close()
	}
	return errors.Join(b.close(), os.RemoveAll(b.scratch))
}

func (b *Backend) close() error {
	b.reads.Close()
	if b.purger.close() {
		_ = b.purgeIndex(context.Background(), 0) // if it fails, the next process to open the file does it
	}
	b.index.Close()
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
	space.withReserve(b.writer.busyTimeout, func() { err = closeAll() }) // this copies the log
	space.close()
	return err
}

// openOnFullDisk is openFile that also works on a full disk. readOnly says that the
// connection cannot write.
func openOnFullDisk(ctx context.Context, path string, busy time.Duration, space *diskSpace) (c *conn, file *fileIdentity, readOnly bool, err error) {
	c, file, err = openFile(ctx, path, busy)
	for _, share := range []int64{openingBytes, space.baseSize} { // all of it may be needed to migrate the schema
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

// openFile creates the file if necessary, opens it for writing and migrates its schema.
// Other processes may do the same at the same time: SQLite's own waiting does not cover all
// of it.
func openFile(ctx context.Context, path string, busy time.Duration) (*conn, *fileIdentity, error) {
	// SQLite would create it with permissions for others.
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
		})
		if err == nil {
			return c, file, nil
		}
		// The file was replaced since it was opened, by Restore.
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
		err = file.check() // SQLite may have opened another file
	}
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	return c, file, nil
}

// withoutPath returns err without the name of the file, which not every caller may see.
func withoutPath(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("%w: the file cannot be created or opened (%v)", memento.ErrReadOnly, err)
	}
	return fmt.Errorf("the database cannot be opened; check that its directory exists and is writable (%w)", err)
}

//go:embed migrations/*.sql
var scriptFiles embed.FS

// appID marks the file as memento's: "mmto".
const appID = 0x6d6d746f

// checkFormat refuses a file that this version of memento cannot use.
func checkFormat(c *conn) error {
	version, err := checkOurs(c)
	if err != nil {
		return err
	}
	known, err := migrations.Scripts(scriptFiles)
	if err == nil && version > int64(len(known)) {
		err = &backend.NewerFormatError{What: "the file", Format: int(version), Highest: len(known)}
	}
	return err
}

// checkOurs refuses a file of another program, and returns the version of the schema.
func checkOurs(c *conn) (version int64, err error) {
	// The tables are checked first: a process that creates them sets the IDs before.
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

// migrate brings the schema up to date.
func migrate(ctx context.Context, c *conn) error {
	scripts, err := migrations.Scripts(scriptFiles)
	if err != nil {
		return err
	}
	var version int
	if _, err := c.one(`PRAGMA user_version`, func(s *sqlite.Stmt) { version = s.ColumnInt(0) }); err != nil || version == len(scripts) {
		return err
	}
	return sqlitemigration.Migrate(ctx, c.Conn, sqlitemigration.Schema{AppID: appID, Migrations: scripts})
}
