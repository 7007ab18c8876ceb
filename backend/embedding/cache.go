package embedding

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"memento"
	"memento/backend"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// A cache keeps vectors in a SQLite file. What is deleted in it is overwritten. It is safe
// for concurrent use; a nil one keeps nothing.
type cache struct {
	mu   sync.Mutex
	conn *sqlite.Conn // nil once it is closed
}

const (
	cacheVersion = 2
	cacheID      = 0x6d656d76 // "memv": says that a SQLite file is one of vectors
)

const cacheSchema = `
	CREATE TABLE model (name TEXT NOT NULL);
	CREATE TABLE stores (
		store     TEXT PRIMARY KEY,
		seq       INTEGER NOT NULL, -- the newest version that the vectors of the store are of
		memories  INTEGER NOT NULL, -- how many memories the store had then; -1: unknown
		too_large INTEGER NOT NULL DEFAULT 0 -- how many it had when its vectors did not fit
	) WITHOUT ROWID;
	CREATE TABLE memories (
		store    TEXT NOT NULL,
		memory   TEXT NOT NULL,
		version  TEXT NOT NULL,
		sections BLOB NOT NULL, -- see encode
		PRIMARY KEY (store, memory)
	);
	PRAGMA application_id = 0x6d656d76;
	PRAGMA user_version = 2;`

var (
	errOtherVersion = errors.New("the file of vectors is of another version")
	errOtherFile    = fmt.Errorf("%w: not a file of vectors, or one whose beginning is damaged: remove it, or choose another path", memento.ErrInvalid)
)

// A cachedMemory is a row.
type cachedMemory struct {
	id       memento.MemoryID
	version  memento.VersionID
	sections []byte
}

// openCache opens a cache file for a model, and creates it if it does not exist. Vectors of
// another model are removed. A file of vectors that is damaged, or of another version, is
// made again; any other file stays as it is.
//
// Errors: backend.ErrInUse if another process has it; memento.ErrInvalid if it is no file of
// vectors.
func openCache(name, model string) (*cache, error) {
	c, ours, err := tryCache(name, model)
	code := sqlite.ErrCode(err).ToPrimary()
	switch {
	case code == sqlite.ResultBusy, code == sqlite.ResultLocked:
		return nil, fmt.Errorf("the file of vectors %w", backend.ErrInUse)
	case !ours && (code == sqlite.ResultNotADB || code == sqlite.ResultCorrupt):
		return nil, errOtherFile
	case ours && (code == sqlite.ResultCorrupt || errors.Is(err, errOtherVersion)):
		for _, file := range []string{name, name + "-journal"} {
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
		c, _, err = tryCache(name, model)
	}
	return c, err
}

// tryCache is openCache for a file that is as it should be. It reports whether the file is
// one of vectors.
func tryCache(name, model string) (c *cache, ours bool, err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, false, err
	}
	// Vectors reveal what texts are about, so the file is for its owner only.
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, false, err
	}
	conn, err := sqlite.OpenConn(name, sqlite.OpenReadWrite)
	if err != nil {
		return nil, false, err
	}
	c = &cache{conn: conn}
	conn.SetBusyTimeout(200 * time.Millisecond)
	if ours, err = c.isOurs(); err == nil {
		err = c.prepare(model)
	}
	if err != nil {
		return nil, ours, errors.Join(err, conn.Close())
	}
	return c, true, nil
}

// isOurs returns an error if the file is neither empty nor one of vectors. It changes
// nothing.
func (c *cache) isOurs() (bool, error) {
	id, err := sqlitex.ResultInt64(c.conn.Prep("PRAGMA application_id"))
	if err != nil || id == cacheID {
		return id == cacheID, err
	}
	pages, err := sqlitex.ResultInt64(c.conn.Prep("PRAGMA page_count"))
	if err == nil && (id != 0 || pages > 0) {
		err = errOtherFile
	}
	return false, err
}

func (c *cache) prepare(model string) error {
	for _, text := range []string{
		// A log (WAL) would keep what is deleted.
		"PRAGMA locking_mode = EXCLUSIVE", "PRAGMA journal_mode = TRUNCATE", "PRAGMA secure_delete = ON",
		"BEGIN IMMEDIATE", "COMMIT", // take the lock, which stays until the file is closed
	} {
		if err := sqlitex.ExecuteTransient(c.conn, text, nil); err != nil {
			return err
		}
	}
	version, err := sqlitex.ResultInt64(c.conn.Prep("PRAGMA user_version"))
	switch {
	case err != nil:
		return err
	case version != 0 && version != cacheVersion:
		return errOtherVersion
	case version == 0:
		if err := sqlitex.ExecuteScript(c.conn, cacheSchema, nil); err != nil {
			return err
		}
	}
	return c.change(func() error {
		known := c.conn.Prep("SELECT EXISTS (SELECT * FROM model WHERE name = $name)")
		known.SetText("$name", model)
		same, err := sqlitex.ResultBool(known)
		if err != nil || same {
			return err
		}
		for _, table := range []string{"model", "stores", "memories"} {
			if err := c.exec("DELETE FROM " + table); err != nil {
				return err
			}
		}
		return c.exec("INSERT INTO model VALUES (?)", model)
	})
}

// change calls do in a transaction.
func (c *cache) change(do func() error) (err error) {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return memento.ErrClosed
	}
	end, err := sqlitex.ImmediateTransaction(c.conn)
	if err != nil {
		return err
	}
	defer end(&err)
	return do()
}

func (c *cache) exec(text string, args ...any) error {
	return sqlitex.Execute(c.conn, text, &sqlitex.ExecOptions{Args: args})
}

// stores returns the stores that have vectors.
func (c *cache) stores() (stores []memento.StoreID, err error) {
	err = c.query("SELECT store FROM stores ORDER BY store", nil, func(q *sqlite.Stmt) { stores = append(stores, memento.StoreID(q.ColumnText(0))) })
	return stores, err
}

// An extent says which state of a store the vectors are of. See cacheSchema.
type extent struct {
	known                   bool // whether there is anything of the store
	seq, memories, tooLarge int64
}

// extent returns what there is of a store.
func (c *cache) extent(store memento.StoreID) (e extent, err error) {
	err = c.query("SELECT seq, memories, too_large FROM stores WHERE store = ?", []any{string(store)},
		func(q *sqlite.Stmt) { e = extent{true, q.ColumnInt64(0), q.ColumnInt64(1), q.ColumnInt64(2)} })
	return e, err
}

// size returns the bytes of the vectors of a store, 8 bits for each dimension.
func (c *cache) size(store memento.StoreID) (n int64, err error) {
	err = c.query("SELECT coalesce(sum(length(sections)), 0) FROM memories WHERE store = ?", []any{string(store)},
		func(q *sqlite.Stmt) { n = q.ColumnInt64(0) })
	return n, err
}

// load calls do with each memory of a store.
func (c *cache) load(store memento.StoreID, do func(cachedMemory)) error {
	return c.query("SELECT memory, version, sections FROM memories WHERE store = ?", []any{string(store)}, func(q *sqlite.Stmt) {
		m := cachedMemory{id: memento.MemoryID(q.ColumnText(0)), version: memento.VersionID(q.ColumnText(1)), sections: make([]byte, q.ColumnLen(2))}
		q.ColumnBytes(2, m.sections)
		do(m)
	})
}

// query calls do with each row.
func (c *cache) query(text string, args []any, do func(*sqlite.Stmt)) error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return memento.ErrClosed
	}
	return sqlitex.Execute(c.conn, text, &sqlitex.ExecOptions{Args: args, ResultFunc: func(q *sqlite.Stmt) error {
		do(q)
		return nil
	}})
}

// update puts and removes memories of a store, and notes the version that this is up to, and
// how many memories the store has.
func (c *cache) update(store memento.StoreID, put []cachedMemory, remove []memento.MemoryID, seq, memories int64) error {
	return c.change(func() error {
		for _, id := range remove {
			if err := c.exec("DELETE FROM memories WHERE store = ? AND memory = ?", string(store), string(id)); err != nil {
				return err
			}
		}
		for _, m := range put {
			if err := c.exec("INSERT INTO memories VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version, sections = excluded.sections",
				string(store), string(m.id), string(m.version), m.sections); err != nil {
				return err
			}
		}
		return c.exec("REPLACE INTO stores (store, seq, memories) VALUES (?, ?, ?)", string(store), seq, memories)
	})
}

// giveUp removes the vectors of a store, and notes with how many memories it had too many.
func (c *cache) giveUp(store memento.StoreID, memories int64) error {
	return c.change(func() error {
		return errors.Join(c.exec("DELETE FROM memories WHERE store = ?", string(store)),
			c.exec("REPLACE INTO stores (store, seq, memories, too_large) VALUES (?, 0, -1, ?)", string(store), memories))
	})
}

// removeStore removes the vectors of a store.
func (c *cache) removeStore(store memento.StoreID) error {
	return c.change(func() error {
		return errors.Join(c.exec("DELETE FROM memories WHERE store = ?", string(store)), c.exec("DELETE FROM stores WHERE store = ?", string(store)))
	})
}

func (c *cache) close() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.conn.Close()
	c.conn = nil
	return err
}
