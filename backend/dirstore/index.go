package dirstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"memento"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// A fileIndex keeps what memento last wrote or saw on disk, so that it notices changes by
// other programs without reading every file. It is a cache: if lost or damaged, it is
// built again from the files and the database. That costs reading all files. It also
// loses the difference between a memory whose file was removed by hand and one whose file
// is still to be written; the file is then written.
//
// It is never flushed explicitly. What a power failure takes from it is found again when
// the folder is opened.
type fileIndex struct {
	mu   sync.Mutex
	conn *sqlite.Conn
}

// tombstones is for how many generations a removed row is kept as a tombstone, for
// processes that have not read the removal yet.
const tombstones = 10_000

const indexSchema = `
	CREATE TABLE IF NOT EXISTS generations (store TEXT PRIMARY KEY, generation INTEGER NOT NULL) WITHOUT ROWID;
	CREATE TABLE IF NOT EXISTS files (
		store      TEXT NOT NULL,
		path       TEXT NOT NULL,
		gone       INTEGER NOT NULL, -- whether it is no more
		memory     TEXT NOT NULL,
		version    TEXT NOT NULL,
		sha256     TEXT NOT NULL,
		kind       INTEGER NOT NULL, -- type bits of the mode
		size       INTEGER NOT NULL,
		mtime      INTEGER NOT NULL, -- nanoseconds since 1970, like the next two
		changed    INTEGER NOT NULL,
		checked    INTEGER NOT NULL,
		inode      INTEGER NOT NULL,
		strange    INTEGER NOT NULL,
		reason     TEXT NOT NULL,
		generation INTEGER NOT NULL, -- in which the row was written
		PRIMARY KEY (store, path)
	) WITHOUT ROWID;
	CREATE INDEX IF NOT EXISTS files_by_generation ON files (store, generation);
	PRAGMA user_version = 1;`

// openIndex opens the index in dir, whose path is given too. A damaged index, or one of
// another version, is replaced.
func openIndex(dir *os.Root, path string) (*fileIndex, error) {
	for try := 0; ; try++ {
		if err := makeOwn(dir, indexFile); err != nil {
			return nil, err
		}
		conn, err := openIndexFile(path + string(os.PathSeparator) + indexFile)
		if err == nil {
			return &fileIndex{conn: conn}, nil
		}
		if isFull(err) {
			return nil, err
		}
		if code := sqlite.ErrCode(err).ToPrimary(); try > 0 || code != sqlite.ResultNotADB && code != sqlite.ResultCorrupt && !errors.Is(err, errOtherIndex) {
			return nil, translateIndex(err)
		}
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if err := dir.Remove(indexFile + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
	}
}

var errOtherIndex = errors.New("of another version")

func openIndexFile(path string) (*sqlite.Conn, error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	if err := prepareIndex(conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func prepareIndex(conn *sqlite.Conn) error {
	conn.SetBusyTimeout(30 * time.Second)
	for _, pragma := range []string{"PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", "PRAGMA temp_store = MEMORY", "PRAGMA secure_delete = ON"} {
		if err := sqlitex.ExecuteTransient(conn, pragma, nil); err != nil {
			return err
		}
	}
	version, err := sqlitex.ResultInt64(conn.Prep("PRAGMA user_version"))
	switch {
	case err != nil:
		return err
	case version > 1:
		return errOtherIndex
	case version == 0:
		return sqlitex.ExecuteScript(conn, indexSchema, nil)
	}
	return nil
}

// translateIndex is for opening the index: only those errors are returned to callers. It
// drops the driver's text, which contains the path.
func translateIndex(err error) error {
	switch code := sqlite.ErrCode(err); code.ToPrimary() {
	case sqlite.ResultFull:
		return fmt.Errorf("%w (%v)", memento.ErrNoSpace, code)
	case sqlite.ResultReadOnly, sqlite.ResultPerm, sqlite.ResultCantOpen:
		return fmt.Errorf("%w (%v)", memento.ErrReadOnly, code)
	default:
		return fmt.Errorf("the index of files cannot be opened (%v)", code)
	}
}

func (d *fileIndex) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.conn.Close()
}

// changes are changes of rows: gone is applied before put.
type changes struct {
	gone []memento.Path
	put  []*row
}

func (c *changes) isEmpty() bool { return len(c.put) == 0 && len(c.gone) == 0 }

// merge appends next to c.
func (c *changes) merge(next *changes) {
	if c.isEmpty() {
		*c = *next
		return
	}
	later := map[memento.Path]bool{}
	for _, p := range next.gone {
		later[p] = true
	}
	for _, r := range next.put {
		later[r.path] = true
	}
	c.put = append(slices.DeleteFunc(c.put, func(r *row) bool { return later[r.path] }), next.put...)
	c.gone = append(slices.DeleteFunc(c.gone, func(p memento.Path) bool { return later[p] }), next.gone...)
}

// write writes changes to a store as the given generation.
func (d *fileIndex) write(store memento.StoreID, generation uint64, c *changes) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	end, err := sqlitex.ImmediateTransaction(d.conn)
	if err != nil {
		return err
	}
	defer end(&err)
	for _, p := range c.gone {
		if err := d.exec(`UPDATE files SET gone = 1, generation = ? WHERE store = ? AND path = ?`,
			int64(generation), string(store), string(p)); err != nil {
			return err
		}
	}
	for _, r := range c.put {
		if err := d.exec(`INSERT OR REPLACE INTO files VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			string(store), string(r.path), string(r.memory), string(r.version), r.sha256,
			int64(r.print.kind), r.print.size, r.print.mtime, r.print.changed, r.checked, int64(r.print.inode),
			int64(r.status.kind), r.status.reason, int64(generation)); err != nil {
			return err
		}
	}
	if generation%tombstones == 0 {
		if err := d.exec(`DELETE FROM files WHERE store = ? AND gone = 1 AND generation <= ?`,
			string(store), int64(generation-min(tombstones, generation))); err != nil {
			return err
		}
	}
	return d.exec(`INSERT OR REPLACE INTO generations VALUES (?, ?)`, string(store), int64(generation))
}

// read returns what was written to a store after a generation, and the present
// generation. whole says that c has all rows: those not in it are gone.
func (d *fileIndex) read(store memento.StoreID, after uint64) (c changes, generation uint64, whole bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	end := sqlitex.Transaction(d.conn)
	defer end(&err)
	err = d.each(`SELECT generation FROM generations WHERE store = ?`, func(s *sqlite.Stmt) {
		generation = uint64(s.ColumnInt64(0))
	}, string(store))
	if err != nil {
		return c, 0, false, err
	}
	if whole = after == 0 || after > generation || after+tombstones < generation; whole {
		after = 0
	}
	err = d.each(`SELECT path, gone, memory, version, sha256, kind, size, mtime, changed, checked, inode, strange, reason
		FROM files WHERE store = ? AND generation > ? AND NOT (gone = 1 AND ?)`, func(s *sqlite.Stmt) {
		p := memento.Path(s.ColumnText(0))
		if s.ColumnBool(1) {
			c.gone = append(c.gone, p)
			return
		}
		c.put = append(c.put, &row{
			path:    p,
			memory:  memento.MemoryID(s.ColumnText(2)),
			version: memento.VersionID(s.ColumnText(3)),
			sha256:  s.ColumnText(4),
			print: fingerprint{
				kind:    fs.FileMode(s.ColumnInt64(5)),
				size:    s.ColumnInt64(6),
				mtime:   s.ColumnInt64(7),
				changed: s.ColumnInt64(8),
				inode:   uint64(s.ColumnInt64(10)),
			},
			checked: s.ColumnInt64(9),
			status:  fileStatus{fileKind(s.ColumnInt64(11)), s.ColumnText(12)},
		})
	}, string(store), int64(after), whole)
	return c, generation, whole, err
}

// scrub removes the paths of files that are gone, also from the log, and writes a
// generation with which other processes read the whole index: tombstones could not tell
// them. It returns the new generation, or 0 if no paths had to be removed.
func (d *fileIndex) scrub(store memento.StoreID, present uint64) (generation uint64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.exec(`DELETE FROM files WHERE store = ? AND gone = 1`, string(store)); err != nil {
		return 0, err
	}
	if d.conn.Changes() > 0 {
		generation = present + tombstones + 1
		if err := d.exec(`INSERT OR REPLACE INTO generations VALUES (?, ?)`, string(store), int64(generation)); err != nil {
			return 0, err
		}
	}
	return generation, d.emptyLog()
}

// emptyLog moves the log (WAL) into the file and empties it, since it has earlier
// contents of pages. The caller has mu.
func (d *fileIndex) emptyLog() error {
	busy := int64(0)
	err := d.each(`PRAGMA wal_checkpoint(TRUNCATE)`, func(s *sqlite.Stmt) { busy = s.ColumnInt64(0) })
	if err == nil && busy != 0 {
		err = fmt.Errorf("%w: the index of files is in use", memento.ErrUnavailable)
	}
	return err
}

// forget removes everything about a store.
func (d *fileIndex) forget(store memento.StoreID) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.remove(store); err != nil {
		return err
	}
	return d.emptyLog()
}

func (d *fileIndex) remove(store memento.StoreID) (err error) {
	end, err := sqlitex.ImmediateTransaction(d.conn)
	if err != nil {
		return err
	}
	defer end(&err)
	if err := d.exec(`DELETE FROM files WHERE store = ?`, string(store)); err != nil {
		return err
	}
	return d.exec(`DELETE FROM generations WHERE store = ?`, string(store))
}

func (d *fileIndex) exec(query string, args ...any) error {
	return d.each(query, func(*sqlite.Stmt) {}, args...)
}

// each runs a statement, and calls scan for each row of the result.
func (d *fileIndex) each(query string, scan func(*sqlite.Stmt), args ...any) error {
	s, err := d.conn.Prepare(query) // cached by the connection after the first call
	if err != nil {
		return err
	}
	for i, arg := range args {
		switch v := arg.(type) {
		case string:
			s.BindText(i+1, v)
		case int64:
			s.BindInt64(i+1, v)
		case bool:
			s.BindBool(i+1, v)
		default:
			panic(fmt.Sprintf("dirstore: cannot bind a %T", arg))
		}
	}
	for {
		found, err := s.Step()
		if err != nil || !found {
			return errors.Join(err, s.Reset())
		}
		scan(s)
	}
}
