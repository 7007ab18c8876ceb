// Package sqlitestore keeps stores in one SQLite file. It is the backend to
// start with: nothing to run, nothing to configure, and as durable as the disk.
//
// The file is in WAL mode with synchronous=FULL: when a write returns, it has
// been flushed to the medium. Writes of one process that wait at the same time
// are committed together, so their number a second grows with the number of
// callers. Readers never wait for writers. Any number of processes on one
// machine can share the file; it must not lie on a network file system, where
// SQLite's locks do not work.
//
// Beside the file, SQLite keeps two more while it is in use, with "-wal" and
// "-shm" after its name. Copy all three, or none: a plain copy of a file in use
// is not a backup.
//
// The format is in the migrations folder. A file written by a newer memento is
// refused, an older one is brought up to date when it is opened.
package sqlitestore

import (
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

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitemigration"
)

var (
	_ memento.Backend    = (*Backend)(nil)
	_ memento.Searcher   = (*Backend)(nil)
	_ memento.ReadMarker = (*Backend)(nil)
)

// A Backend keeps stores in one SQLite file. See [Open].
type Backend struct {
	path    string
	busy    time.Duration
	now     func() time.Time
	writer  *writer
	readers *pool
	stores  sync.Map // StoreID → int64, what the tables call the stores seen so far
	reads   reads

	truncate *time.Timer // empties the log
}

// Options are the options of [Open]; nil means all defaults.
type Options struct {
	// Now tells the time; nil means time.Now.
	Now func() time.Time
	// BusyTimeout is how long a write waits for other processes that write to
	// the file; 0 means 30 seconds.
	BusyTimeout time.Duration
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
	_, err = os.Stat(path)
	isNew := errors.Is(err, fs.ErrNotExist)
	c, err := openConn(path, o.BusyTimeout)
	if err != nil {
		return nil, &memento.Error{Op: "open database", Err: translate(err)}
	}
	if isNew {
		err = os.Chmod(path, 0o600)
	}
	if err == nil {
		err = migrate(ctx, c)
	}
	if err != nil {
		c.Close()
		return nil, &memento.Error{Op: "open database", Err: translate(err)}
	}
	readers := newPool(func() (*conn, error) { return openReader(path, o.BusyTimeout) })
	b := &Backend{
		path:    path,
		busy:    o.BusyTimeout,
		now:     o.Now,
		writer:  newWriter(c, o.BusyTimeout, readers.pause, indexSome),
		readers: readers,
	}
	b.reads.flush = b.flushReads
	b.truncate = time.AfterFunc(time.Hour, b.truncateLog)
	b.truncate.Stop() // until something is redacted
	return b, nil
}

// Close commits what was accepted and closes the file. Methods called
// afterwards return memento.ErrClosed.
func (b *Backend) Close() error {
	b.truncate.Stop() // closing the file empties the log, unless other processes use it
	b.reads.close()
	err := b.writer.close()
	b.readers.close()
	return err
}

//go:embed migrations/*.sql
var migrations embed.FS

// appID marks the file as memento's: "mmto".
const appID = 0x6d6d746f

func migrate(ctx context.Context, c *conn) error {
	schema := sqlitemigration.Schema{AppID: appID}
	files, err := fs.ReadDir(migrations, "migrations") // in the order of their names
	if err != nil {
		return err
	}
	for _, f := range files {
		script, err := fs.ReadFile(migrations, "migrations/"+f.Name())
		if err != nil {
			return err
		}
		schema.Migrations = append(schema.Migrations, string(script))
	}
	var version, id int64
	if _, err := c.one(`PRAGMA user_version`, func(s *sqlite.Stmt) { version = s.ColumnInt64(0) }); err != nil {
		return err
	}
	if _, err := c.one(`PRAGMA application_id`, func(s *sqlite.Stmt) { id = s.ColumnInt64(0) }); err != nil {
		return err
	}
	tables := 0
	if _, err := c.one(`SELECT count(*) FROM sqlite_master`, func(s *sqlite.Stmt) { tables = s.ColumnInt(0) }); err != nil {
		return err
	}
	switch latest := int64(len(schema.Migrations)); {
	case id != appID && (id != 0 || tables > 0):
		return fmt.Errorf("%w: the file is a database of another program", memento.ErrFormat)
	case version > latest:
		return fmt.Errorf("%w: the file has schema version %d, this program knows %d: use a newer memento", memento.ErrFormat, version, latest)
	case version == latest:
		return nil
	}
	return sqlitemigration.Migrate(ctx, c.Conn, schema)
}
