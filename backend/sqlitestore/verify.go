package sqlitestore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"memento"
	"memento/backend"
	"memento/backend/textindex"

	"zombiezen.com/go/sqlite"
)

// maxFindings is the largest number of findings that are reported for a file.
const maxFindings = 100

// Verify reads the whole of a file that [Backend.Backup] has written, or of any other that
// no process has open, and returns a summary. It changes nothing, and creates no other
// file.
//
// It checks that the file is memento's, that this program supports its schema version, and
// that SQLite finds no damage; that the contents of every version have its hash and, unless
// they are encrypted, its size; that every memory matches its newest version, and the
// history explains which memories exist; and that the counters and the sums of directories
// are right. The search index is only checked for damage: [Restore] rebuilds it if it does
// not match.
//
// The process must not have the file open in another way: SQLite would lose its locks on
// it.
//
// progress, if it is not nil, is called regularly with the number of versions read and in
// total.
//
// Errors: a backend.BackupError with the findings; fs.ErrNotExist.
func Verify(ctx context.Context, path string, progress func(done, total int64)) (backend.BackupSummary, error) {
	v, err := verify(ctx, path, progress)
	if err != nil {
		return backend.BackupSummary{}, fail("verify backup", translateFileError(err))
	}
	return v.sum, nil
}

// verify confirms damage before it reports it: see confirm.go.
func verify(ctx context.Context, path string, progress func(done, total int64)) (*verifier, error) {
	v, err := verifyOnce(ctx, path, progress)
	if !seemsDamaged(err) {
		return v, err
	}
	v, err = verifyOnce(ctx, path, progress)
	if seemsDamaged(err) {
		if unreadable := readThrough(path); unreadable != nil {
			err = unreadable
		}
	}
	return v, err
}

// readThrough reads a regular file, and returns the system's error if that is not possible.
func readThrough(path string) error {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, f)
	return err
}

func verifyOnce(ctx context.Context, path string, progress func(done, total int64)) (*verifier, error) {
	v := &verifier{progress: progress}
	err := v.runChecks(ctx, path, v.checkSchema, v.integrity, v.stores, v.memories, v.directories, v.versions, v.index, v.keys)
	if ctx.Err() != nil {
		err = ctx.Err() // rather than that SQLite was interrupted
	}
	return v, v.result(err)
}

// checkIsBackup only checks whether the file at path can be a backup.
func checkIsBackup(ctx context.Context, path string) error {
	v := &verifier{}
	return v.result(v.runChecks(ctx, path, v.checkSchema))
}

// result returns err or, if there is none, the findings as an error.
func (v *verifier) result(err error) error {
	if err == nil && len(v.findings) > 0 {
		return &backend.BackupError{Faults: v.findings}
	}
	return err
}

// A verifier checks one file.
type verifier struct {
	c             *conn
	progress      func(done, total int64)
	sum           backend.BackupSummary
	findings      []string
	indexMismatch bool // whether the search index does not match the memories
}

// errEnoughFindings ends the search for findings.
var errEnoughFindings = errors.New("enough faults")

func (v *verifier) addFinding(format string, args ...any) error {
	v.findings = append(v.findings, fmt.Sprintf(format, args...))
	if len(v.findings) == maxFindings {
		return errEnoughFindings
	}
	return nil
}

// runChecks runs checks on the file at path, until one makes the others pointless.
func (v *verifier) runChecks(ctx context.Context, path string, looks ...func() error) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if err := v.checkFile(path); err != nil || len(v.findings) > 0 {
		return err
	}
	sc, err := sqlite.OpenConn(immutable(path), sqlite.OpenReadOnly, sqlite.OpenURI)
	if err != nil {
		return err
	}
	defer sc.Close()
	sc.SetInterrupt(ctx.Done())
	v.c = newConn(sc)
	for _, look := range looks {
		switch err := look(); {
		case errors.Is(err, errEnoughFindings):
			return nil
		case errors.Is(err, memento.ErrFormat), isDamage(err):
			_ = v.addFinding("%s", strings.TrimPrefix(translate(err).Error(), memento.ErrFormat.Error()+": "))
			return nil
		case sqlite.ErrCode(err) == sqlite.ResultError: // no such table, or column
			_ = v.addFinding("its tables do not match its schema version")
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// immutable returns the URI with which SQLite opens a file without locks and without a log.
// Nobody may change the file meanwhile.
func immutable(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a drive
		path = "/" + path
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: "immutable=1"}
	return u.String()
}

// checkFile checks the file without SQLite, whose errors are less specific.
func (v *verifier) checkFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return v.addFinding("it is not a regular file")
	}
	v.sum.Size = info.Size()
	for _, suffix := range sidecarSuffixes {
		if log, err := os.Stat(path + suffix); err == nil && log.Size() > 0 {
			return v.addFinding("there is another file with the suffix %q: the database is in use, or is a plain copy of one", suffix)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	header := make([]byte, 100)
	switch _, err := io.ReadFull(f, header); {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), err == nil && !bytes.HasPrefix(header, []byte("SQLite format 3\x00")):
		return v.addFinding("it is not an SQLite database")
	case err != nil:
		return err
	}
	// https://www.sqlite.org/fileformat.html: 1 stands for 65536.
	pageSize, pages := int64(binary.BigEndian.Uint16(header[16:])), int64(binary.BigEndian.Uint32(header[28:]))
	if pageSize == 1 {
		pageSize = 65536
	}
	if want := pageSize * pages; pages > 0 && info.Size() < want {
		return v.addFinding("it is truncated: it has %d bytes of %d", info.Size(), want)
	}
	return nil
}

func (v *verifier) checkSchema() error {
	if err := checkFormat(v.c); err != nil {
		return err
	}
	ours, err := v.c.one(`SELECT 1 FROM sqlite_master WHERE name = 'stores'`, nil)
	if err == nil && !ours {
		err = fmt.Errorf("%w: it is a database without tables", memento.ErrFormat)
	}
	if err != nil {
		return err
	}
	return v.addMissingColumns()
}

// addMissingColumns adds columns of later schemas to a file with an older schema, as
// temporary views.
func (v *verifier) addMissingColumns() error {
	for table, column := range map[string]string{"stores": "envelope", "memories": "digest", "versions": "digest"} {
		there, err := v.c.one(`SELECT 1 FROM pragma_table_info('`+table+`', 'main') WHERE name = '`+column+`'`, nil)
		if err != nil {
			return err
		}
		if there {
			continue
		}
		// A temporary view takes precedence over a table of the file, and ends with the
		// connection.
		if err := v.c.exec(`CREATE TEMP VIEW ` + table + ` AS SELECT *, '' AS ` + column + ` FROM main.` + table); err != nil {
			return err
		}
	}
	return nil
}

// integrity runs SQLite's own check for damage.
func (v *verifier) integrity() error {
	var err error
	queryErr := v.c.all(fmt.Sprintf(`PRAGMA integrity_check(%d)`, maxFindings), func(s *sqlite.Stmt) bool {
		if text := s.ColumnText(0); text != "ok" {
			err = v.addFinding("damaged: %s", text)
		}
		return err == nil
	})
	return errors.Join(queryErr, err)
}

// stores checks the descriptions and the counters.
func (v *verifier) stores() error {
	var err error
	queryErr := v.c.all(selectStores+`ORDER BY s.num`, func(s *sqlite.Stmt) bool {
		info, _, last, scanErr := scanStore(s)
		if scanErr != nil {
			err = v.addFinding("store %s: its description cannot be read", info.ID)
		}
		v.sum.Stores++
		if last.After(v.sum.NewestAt) && last.After(time.UnixMicro(0)) {
			v.sum.NewestAt = last
		}
		return err == nil
	})
	if queryErr != nil || err != nil {
		return errors.Join(queryErr, err)
	}
	return v.rows(`SELECT s.id, c.store IS NULL, c.memories, c.bytes, c.last_seq, c.indexed_seq,
			(SELECT count(*) FROM memories m WHERE m.store = s.num),
			(SELECT coalesce(sum(m.size), 0) FROM memories m WHERE m.store = s.num),
			(SELECT coalesce(max(v.seq), 0) FROM versions v WHERE v.store = s.num)
			FROM stores s LEFT JOIN counters c ON c.store = s.num`, func(s *sqlite.Stmt) error {
		id := s.ColumnText(0)
		if s.ColumnBool(1) {
			return v.addFinding("store %s has no counters", id)
		}
		var err error
		for _, count := range []struct {
			what             string
			recorded, actual int64
			atMost           bool
		}{
			{what: "memories", recorded: s.ColumnInt64(2), actual: s.ColumnInt64(6)},
			{what: "bytes", recorded: s.ColumnInt64(3), actual: s.ColumnInt64(7)},
			{what: "as its last version", recorded: s.ColumnInt64(4), actual: s.ColumnInt64(8), atMost: true}, // newer versions may be pruned
			{what: "as its last version, and indexed", recorded: s.ColumnInt64(4), actual: s.ColumnInt64(5), atMost: true},
		} {
			if count.recorded != count.actual && !(count.atMost && count.actual < count.recorded) {
				err = errors.Join(err, v.addFinding("store %s: it should have %d %s, and has %d", id, count.recorded, count.what, count.actual))
			}
		}
		return err
	})
}

// memories checks that each memory belongs to a store and matches its newest version.
func (v *verifier) memories() error {
	err := v.rows(`SELECT m.id, s.id, m.size, v.id IS NULL, v.seq IS NOT NULL AND (v.id <> m.version OR v.memory <> m.id OR v.operation = 'deleted'
				OR v.path IS NOT m.path OR v.content IS NOT m.content OR v.size IS NOT m.size OR v.sha256 IS NOT m.sha256
				OR v.digest IS NOT m.digest),
			EXISTS (SELECT 1 FROM memories d WHERE d.store = m.store AND d.path > m.path || '/' AND d.path < m.path || '0')
			FROM memories m LEFT JOIN stores s ON s.num = m.store LEFT JOIN versions v ON v.store = m.store AND v.seq = m.seq`,
		func(s *sqlite.Stmt) error {
			v.sum.Memories++
			v.sum.Bytes += s.ColumnInt64(2)
			id, store := s.ColumnText(0), s.ColumnText(1)
			switch {
			case s.ColumnIsNull(1):
				return v.addFinding("memory %s belongs to no store", id)
			case s.ColumnBool(5):
				return v.addFinding("memory %s of store %s is also a directory", id, store)
			case s.ColumnBool(3):
				return v.addFinding("memory %s of store %s: its newest version does not exist", id, store)
			case s.ColumnBool(4):
				return v.addFinding("memory %s of store %s differs from its newest version", id, store)
			}
			return nil
		})
	return err
}

// versions checks the contents of each version, and that the history explains which
// memories exist.
func (v *verifier) versions() error {
	var total int64
	if _, err := v.c.one(`SELECT count(*) FROM versions`, func(s *sqlite.Stmt) { total = s.ColumnInt64(0) }); err != nil {
		return err
	}
	var checked, content int64 // the row of the contents whose hash is in sum
	var sum [sha256.Size]byte
	var data []byte
	return v.rows(`SELECT s.id, v.id, v.operation = 'deleted' OR v.redacted_at IS NOT NULL, v.content IS NULL AND v.size IS NULL AND v.sha256 IS NULL AND v.digest = '',
			v.content, t.id, v.size, v.sha256, t.data,
			(v.path IS NULL) = (v.redacted_at IS NULL), m.id IS NULL, v.seq > m.seq,
			v.operation <> 'deleted' AND m.id IS NULL AND NOT EXISTS (SELECT 1 FROM versions d
				WHERE d.store = v.store AND d.memory = v.memory AND d.operation = 'deleted' AND d.seq > v.seq),
			v.digest <> ''
			FROM versions v LEFT JOIN stores s ON s.num = v.store LEFT JOIN contents t ON t.id = v.content
			LEFT JOIN memories m ON m.store = v.store AND m.id = v.memory ORDER BY v.store, v.seq`,
		func(s *sqlite.Stmt) error {
			v.sum.Versions++
			if v.progress != nil && v.sum.Versions%256 == 0 {
				v.progress(v.sum.Versions, total)
			}
			id, store := s.ColumnText(1), s.ColumnText(0)
			wrong := func(text string) error { return v.addFinding("version %s of store %s %s", id, store, text) }
			switch {
			case s.ColumnIsNull(0):
				return v.addFinding("version %s belongs to no store", id)
			case s.ColumnBool(9):
				return wrong("has a path although it is redacted, or has none although it is not")
			case s.ColumnBool(11):
				return wrong("is newer than its memory")
			case s.ColumnBool(12):
				return wrong("belongs to a memory that was not deleted but does not exist")
			case s.ColumnBool(2) && !s.ColumnBool(3):
				return wrong("has contents, although it is redacted or a deletion")
			case s.ColumnBool(2):
				return nil
			case s.ColumnIsNull(5):
				return wrong("has no contents")
			}
			data = slices.Grow(data[:0], s.ColumnLen(8))[:s.ColumnLen(8)]
			s.ColumnBytes(8, data)
			if content = s.ColumnInt64(4); content != checked {
				checked, sum = content, sha256.Sum256(data)
			}
			var want [sha256.Size]byte
			switch n := s.ColumnBytes(7, want[:]); {
			case n != len(want), sum != want:
				return wrong("has contents with another hash than recorded")
			case int64(len(data)) != s.ColumnInt64(6) && !s.ColumnBool(13): // for encrypted contents, the size is that of the plaintext
				return wrong("has contents with another size than recorded")
			case !utf8.Valid(data):
				return wrong("has contents that are not UTF-8")
			}
			return nil
		})
}

// index checks whether the search index matches the memories, unless the schema is older
// than its tables: then it is made anew.
func (v *verifier) index() error {
	there, err := v.c.one(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'search_segments'`, nil)
	if err != nil || !there {
		return err
	}
	var stores []snapshot
	err = v.c.all(`SELECT store, last_seq, memories, index_revision FROM counters`, func(s *sqlite.Stmt) bool {
		stores = append(stores, snapshot{conn: v.c, long: func() {}, store: s.ColumnInt64(0), seq: s.ColumnInt64(1), memories: s.ColumnInt64(2), revision: s.ColumnInt64(3)})
		return true
	})
	if err != nil {
		return err
	}
	for _, now := range stores {
		if v.indexMismatch {
			break
		}
		err := textindex.Check(context.Background(), now)
		if errors.Is(err, textindex.ErrIndex) {
			v.indexMismatch = true
		} else if err != nil {
			return err
		}
	}
	if v.indexMismatch {
		return nil
	}
	v.indexMismatch, err = v.c.one(`SELECT 1 FROM search_segments s WHERE NOT EXISTS (SELECT 1 FROM counters c WHERE c.store = s.store)`, nil)
	return err
}

// keys counts the API keys, unless the schema is older than they are.
func (v *verifier) keys() error {
	there, err := v.c.one(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'keys'`, nil)
	if err != nil || !there {
		return err
	}
	_, err = v.c.one(`SELECT count(*) FROM keys`, func(s *sqlite.Stmt) { v.sum.Keys = s.ColumnInt64(0) })
	return err
}

// rows passes each row to do until do returns an error.
func (v *verifier) rows(query string, do func(*sqlite.Stmt) error) error {
	var err error
	queryErr := v.c.all(query, func(s *sqlite.Stmt) bool {
		err = do(s)
		return err == nil
	})
	return errors.Join(queryErr, err)
}

// resetIndex empties the search index of the file at path. The process that opens the file
// rebuilds it step by step.
func resetIndex(path string) error {
	sc, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer sc.Close()
	c := newConn(sc)
	for _, query := range []string{
		`PRAGMA journal_mode = MEMORY`, // leaves no other file, and is safe because the file is not in use yet
		`PRAGMA secure_delete = ON`,    // as for every connection that writes
		`BEGIN IMMEDIATE`,
		`DELETE FROM search_segments`,
		`DELETE FROM search_blocks`,
		`DELETE FROM search_deletions`,
		`UPDATE counters SET indexed_seq = 0, index_revision = store`,
		`COMMIT`,
	} {
		if err := c.exec(query); err != nil {
			return err
		}
	}
	return sc.Close()
}
