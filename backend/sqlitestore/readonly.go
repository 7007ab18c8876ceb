package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"time"

	"memento/backend"
	"memento/internal/migrations"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Even on a full disk without a reserve, a database can be read. SQLite needs an index of
// the log in a file of 32 KiB ("-shm") that all processes share. If that file cannot be
// created, but can be opened for reading, and nobody else uses the database, SQLite makes
// an index of its own in memory, and notices when a process comes that can write:
// https://www.sqlite.org/walformat.html#read_only_wal_mode_databases. An empty file, which
// takes no space, is enough for that.
//
// A backend that was opened in this way is read-only for the time being. All connections of
// the process are read-only, or none, because they share the file. The backend checks
// regularly whether there is space again.

// openReadOnly opens the database at path for reading, without needing space.
func openReadOnly(path string, busy time.Duration) (*conn, *fileIdentity, error) {
	file, err := identify(path)
	if err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path+"-shm", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case err == nil:
		_ = f.Close() // closing it cannot drop SQLite's locks: the file did not exist
	case !errors.Is(err, fs.ErrExist):
		return nil, nil, err
	}
	at := url.URL{Scheme: "file", Path: path, RawQuery: "readonly_shm=1"}
	sc, err := sqlite.OpenConn(at.String(), sqlite.OpenReadWrite, sqlite.OpenURI)
	if err != nil {
		return nil, nil, err
	}
	sc.SetBusyTimeout(busy)
	c := newConn(sc)
	err = prepareReader(sc, readerCache)
	if err == nil {
		err = checkFormat(c)
	}
	if err == nil {
		err = checkCurrent(c)
	}
	if err == nil {
		err = file.check()
	}
	if err != nil {
		sc.Close()
		return nil, nil, err
	}
	return c, file, nil
}

// cannotWrite reports whether a connection cannot write because another connection of this
// process is read-only.
func cannotWrite(c *conn) bool {
	err := c.exec("BEGIN IMMEDIATE")
	if err == nil {
		_ = c.exec("ROLLBACK")
	}
	return sqlite.ErrCode(err).ToPrimary() == sqlite.ResultReadOnly
}

// checkCurrent refuses a database whose schema must be created or migrated first.
func checkCurrent(c *conn) error {
	scripts, err := migrations.Scripts(scriptFiles)
	if err != nil {
		return err
	}
	version := 0
	_, err = c.one(`PRAGMA user_version`, func(s *sqlite.Stmt) { version = s.ColumnInt(0) })
	switch {
	case err != nil:
		return err
	case version == 0:
		return errNoSchema
	case version != len(scripts):
		return errOldSchema
	}
	return nil
}

var (
	errNoSchema  = errors.New("it does not exist yet")
	errOldSchema = errors.New("it has an earlier schema version, and must be migrated first")
)

func prepareReader(sc *sqlite.Conn, cache int) error {
	for _, pragma := range []string{
		"PRAGMA query_only = ON",
		"PRAGMA temp_store = MEMORY",
		cachePragma(cache),
		"SELECT 1 FROM sqlite_schema LIMIT 1", // reads the schema: see retryOpen
	} {
		if err := sqlitex.ExecuteTransient(sc, pragma, nil); err != nil {
			return err
		}
	}
	return nil
}

// cachePragma is the statement that sets the cache of a connection to so many KiB.
func cachePragma(cache int) string { return fmt.Sprintf("PRAGMA cache_size = -%d", cache) }

// readOnlyOnFullDisk reports whether the connection is read-only because the disk is full.
func (w *writer) readOnlyOnFullDisk() bool { return w.reopen != nil }

// refuseJobs carries out the waiting jobs if there is space by now, and refuses them
// otherwise. The caller is the leader.
func (w *writer) refuseJobs() {
	if w.tryReopen() {
		w.commit(context.Background())
		return
	}
	err := w.space.explain(nil)
	for _, j := range w.queue.Take(maxBatch) {
		j.Finish(err)
	}
	w.quiet.Reset(spaceCheckInterval)
}

// tryReopen opens the database for writing if there is space, and reports whether it did.
// The caller is the leader.
func (w *writer) tryReopen() bool {
	if isFull(w.space.probe(openingBytes)) {
		return false
	}
	c, err := w.reopen()
	if c != nil {
		w.conn, w.log.conn = c, c
	}
	if err != nil {
		return false
	}
	c.SetBusyTimeout(0)
	w.reopen = nil
	w.space.onOpen(c)
	return true
}

// makeReadOnly makes b read-only until there is space.
func (b *Backend) makeReadOnly(path string, busy time.Duration) {
	openOne := func() (*conn, error) {
		c, _, err := openReadOnly(path, busy)
		return c, err
	}
	open := func(int) (*conn, error) { return openOne() }
	b.readers.open = open
	b.writer.space.full.Store(true)
	b.writer.reopen = func() (c *conn, err error) {
		resume := b.readers.pause()
		defer resume()
		err = backend.ErrInUse
		b.readers.replace(func() func(cache int) (*conn, error) {
			if b.writer.conn != nil {
				_ = b.writer.conn.Close()
			}
			b.writer.conn = nil
			var file *fileIdentity
			if c, file, err = openFile(context.Background(), path, 0); err == nil {
				b.writer.file = file
				return readers(file, busy)
			}
			var openErr error
			if c, openErr = openOne(); openErr != nil {
				c = nil
			}
			return open
		})
		return c, err
	}
}
