package foldersync

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"memento"
	"memento/backend"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// A state is what is remembered of one pair of folder and store: a SQLite file with the
// texts that both sides had after the last round. One process has it at a time.
//
// A commit is not flushed, except for displaced files: a state that is behind is harmless.
// Format 1 is in UPGRADING.md.
type state struct {
	conn  *sqlite.Conn // nil for a dry run without a state file
	rows  map[memento.Path]base
	moved map[string]displaced // displaced files, by temporary name
}

const stateVersion = 1

const stateSchema = `
	CREATE TABLE base (
		path     TEXT PRIMARY KEY,
		content  TEXT NOT NULL, -- of the memory after the last round
		sha256   TEXT NOT NULL, -- of content
		file     TEXT NOT NULL, -- hash of the file if the store has masked its text, else ''
		memory   TEXT NOT NULL,
		merging  TEXT NOT NULL, -- hash of the file of an unfinished merge, else ''
		merged   TEXT NOT NULL  -- hash of the merged text
	) WITHOUT ROWID;
	CREATE TABLE displaced (
		temp TEXT PRIMARY KEY,
		path TEXT NOT NULL,
		name TEXT NOT NULL,
		old  TEXT NOT NULL,
		new  TEXT NOT NULL
	) WITHOUT ROWID;
	PRAGMA user_version = 1;`

// StateFile returns the file for the state of a pair, below the directory dir. place
// identifies the backend, as its URL does: a copy of the store elsewhere has a state of
// its own. The folder must exist.
func StateFile(dir, folder, place string, store memento.StoreID) (string, error) {
	path, err := filepath.Abs(folder)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(path + "\x00" + place + "\x00" + string(store)))
	return filepath.Join(dir, hex.EncodeToString(sum[:10])+".db"), nil
}

// openState opens a state file. With readOnly it does not create it.
func openState(name string, readOnly bool) (*state, error) {
	s := &state{rows: map[memento.Path]base{}, moved: map[string]displaced{}}
	if readOnly {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return s, nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	// It has the texts of notes, so it is for its owner only.
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return nil, err
	}
	if s.conn, err = sqlite.OpenConn(name, sqlite.OpenReadWrite); err != nil {
		return nil, stateError(name, err)
	}
	if err := s.prepare(); err != nil {
		return nil, stateError(name, errors.Join(err, s.conn.Close()))
	}
	return s, nil
}

// stateError says what is wrong with a state file.
func stateError(name string, err error) error {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultBusy, sqlite.ResultLocked:
		return fmt.Errorf("the folder %w that syncs it with this store", backend.ErrInUse)
	case sqlite.ResultNotADB, sqlite.ResultCorrupt:
		return fmt.Errorf("%w: the state file %s is damaged; remove it, and the next round compares both sides without it", memento.ErrFormat, name)
	case sqlite.ResultFull:
		return fmt.Errorf("%w for the state file %s", memento.ErrNoSpace, name)
	}
	return fmt.Errorf("state file %s: %w", name, err)
}

var errNewerState = fmt.Errorf("%w: it was written by a newer version of memento", memento.ErrFormat)

func (s *state) prepare() error {
	s.conn.SetBusyTimeout(time.Second)
	for _, text := range []string{
		"PRAGMA locking_mode = EXCLUSIVE", "PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL",
		"BEGIN IMMEDIATE", "COMMIT", // take the lock, which stays until the file is closed
	} {
		if err := sqlitex.ExecuteTransient(s.conn, text, nil); err != nil {
			return err
		}
	}
	version, err := sqlitex.ResultInt64(s.conn.Prep("PRAGMA user_version"))
	switch {
	case err != nil:
		return err
	case version > stateVersion:
		return errNewerState
	case version == 0:
		if err := sqlitex.ExecuteScript(s.conn, stateSchema, nil); err != nil {
			return err
		}
	}
	return s.load()
}

func (s *state) load() error {
	err := s.exec("SELECT path, sha256, file, memory, merging, merged FROM base", func(q *sqlite.Stmt) error {
		b := base{row: memento.Path(q.ColumnText(0)), sha: q.ColumnText(1), folder: q.ColumnText(2), memory: memento.MemoryID(q.ColumnText(3))}
		if f := q.ColumnText(4); f != "" {
			b.merge = &merging{f, q.ColumnText(5)}
		}
		s.rows[b.row] = b
		return nil
	})
	if err != nil {
		return err
	}
	return s.exec("SELECT temp, path, name, old, new FROM displaced", func(q *sqlite.Stmt) error {
		x := displaced{temp: q.ColumnText(0), path: memento.Path(q.ColumnText(1)), name: q.ColumnText(2), old: q.ColumnText(3), new: q.ColumnText(4)}
		s.moved[x.temp] = x
		return nil
	})
}

func (s *state) exec(query string, row func(*sqlite.Stmt) error, args ...any) error {
	return sqlitex.Execute(s.conn, query, &sqlitex.ExecOptions{Args: args, ResultFunc: row})
}

func (s *state) close() error {
	if s.conn == nil {
		return nil
	}
	return s.conn.Close()
}

// content returns the text of the base in a row.
func (s *state) content(row memento.Path) (text string, err error) {
	err = s.exec("SELECT content FROM base WHERE path = ?", func(q *sqlite.Stmt) error {
		text = q.ColumnText(0)
		return nil
	}, string(row))
	return text, err
}

// set advances the base at a path. Both sides have the text by now: the memory has
// content, and the file has it as well, or a text with the hash file that was masked.
func (s *state) set(p memento.Path, content, file string, id memento.MemoryID) error {
	b := base{row: p, sha: memento.HashContent(content), memory: id}
	if file != b.sha {
		b.folder = file
	}
	err := s.exec("INSERT OR REPLACE INTO base VALUES (?, ?, ?, ?, ?, '', '')", nil, string(p), content, b.sha, b.folder, string(id))
	if err == nil {
		s.rows[p] = b
	}
	return err
}

// beginMerge notes that the store is about to get a merged text.
func (s *state) beginMerge(p memento.Path, m merging) error {
	err := s.exec("UPDATE base SET merging = ?, merged = ? WHERE path = ?", nil, m.file, m.merged, string(p))
	if err == nil {
		b := s.rows[p]
		b.merge = &m
		s.rows[p] = b
	}
	return err
}

// remove forgets a path: neither side has it.
func (s *state) remove(p memento.Path) error {
	err := s.exec("DELETE FROM base WHERE path = ?", nil, string(p))
	if err == nil {
		delete(s.rows, p)
	}
	return err
}

// move renames a path that both sides have renamed.
func (s *state) move(from, to memento.Path) error {
	err := s.exec("UPDATE OR REPLACE base SET path = ? WHERE path = ?", nil, string(to), string(from))
	if err == nil {
		b := s.rows[from]
		b.row = to
		s.rows[to] = b
		delete(s.rows, from)
	}
	return err
}

// displace notes that a file is about to get a temporary name, and flushes that.
func (s *state) displace(x displaced) error {
	if err := sqlitex.ExecuteTransient(s.conn, "PRAGMA synchronous = FULL", nil); err != nil {
		return err
	}
	err := s.exec("INSERT INTO displaced VALUES (?, ?, ?, ?, ?)", nil, x.temp, string(x.path), x.name, x.old, x.new)
	if err == nil {
		s.moved[x.temp] = x
	}
	return errors.Join(err, sqlitex.ExecuteTransient(s.conn, "PRAGMA synchronous = NORMAL", nil))
}

// forget notes that there is no such temporary file any more.
func (s *state) forget(temp string) error {
	err := s.exec("DELETE FROM displaced WHERE temp = ?", nil, temp)
	if err == nil {
		delete(s.moved, temp)
	}
	return err
}

func (s *state) isDisplaced(temp string) bool {
	_, is := s.moved[temp]
	return is
}
