package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"time"

	"memento"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Without any room, and without a reserve, a database can still be read. SQLite wants an
// index of the log in a file of 32 KiB, which all processes share. If that cannot be made,
// but only opened for reading, and nobody else uses the database, SQLite has an index of
// its own in memory, and notices when somebody comes who can write:
// https://www.sqlite.org/walformat.html#read_only_wal_mode_databases. An empty file, which
// takes no room, is enough for that.
//
// A backend that was opened so is cramped. All of the process's connections are so, or
// none, since they share the file. It looks again and again whether there is room.

// openCramped opens the database at path for reading, whatever room there is.
func openReadOnly(path string, busy time.Duration) (*conn, *fileIdentity, error) {
	file, err := identify(path)
	if err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path+"-shm", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case err == nil:
		_ = f.Close() // nobody has SQLite's locks on it: it was not there
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

// onlyReads reports whether a connection cannot write because another of this process is
// cramped.
func cannotWrite(c *conn) bool {
	err := c.exec("BEGIN IMMEDIATE")
	if err == nil {
		_ = c.exec("ROLLBACK")
	}
	return sqlite.ErrCode(err).ToPrimary() == sqlite.ResultReadOnly
}

// checkCurrent refuses a database whose schema is to be brought up to date first.
func checkCurrent(c *conn) error {
	scripts, err := scripts()
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
	errNoSchema  = errors.New("it is to be made first")
	errOldSchema = errors.New("it is of an earlier version, and to be brought up to date first")
)

func prepareReader(sc *sqlite.Conn, cache int) error {
	for _, pragma := range []string{
		"PRAGMA query_only = ON",
		"PRAGMA temp_store = MEMORY",
		fmt.Sprintf("PRAGMA cache_size = -%d", cache),
		"SELECT 1 FROM sqlite_schema LIMIT 1", // reads the schema: see twice
	} {
		if err := sqlitex.ExecuteTransient(sc, pragma, nil); err != nil {
			return err
		}
	}
	return nil
}

// cramped reports whether the writer can only read.
func (w *writer) readOnlyOnFullDisk() bool { return w.reopen != nil }

// refuse looks whether there is room by now, and refuses the jobs that wait if there is
// not. The caller has the lead.
func (w *writer) refuseJobs() {
	if w.tryReopen() {
		w.commit(context.Background())
		return
	}
	err := w.space.explain(nil)
	for _, j := range w.claim() {
		j.err = err
		close(j.done)
	}
	w.quiet.Reset(spaceCheckInterval)
}

// leaveCramped opens the database anew, if there is room, and reports whether it is open
// for writing then. The caller has the lead.
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

// cramp makes b one that can only read, for now.
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
		err = memento.ErrInUse
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
