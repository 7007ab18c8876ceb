package sqlitestore

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"

	"memento"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

var _ memento.BackupWriter = (*Backend)(nil)

// A backup is SQLite's own online backup, page by page, inside a read transaction:
// all pages are those of the moment when that began, so writers go on, and the copy
// comes to an end however much they write. Without the transaction SQLite starts
// over whenever another connection has written. The price is that the log cannot be
// started over meanwhile, and grows by what is written.
//
// VACUUM INTO takes as consistent a copy in about the same time, but it is a single
// statement: it cannot say how far it is, nor be flushed in between, and then
// writers wait ten times as long behind the flush of the whole.

const (
	// backupStep is how many pages are copied at a time: short enough for others that
	// want the processor.
	backupStep = 64
	// backupFlush is after how many bytes the copy is flushed. The flushes of writers
	// wait behind it: for 160 MB at once some 150 ms, for as much as this some 10.
	backupFlush = 4 << 20
)

// Backup implements [memento.BackupWriter]. The copy is an ordinary file of this
// package, but not in WAL mode: it is one file, and to look into it with SQLite's
// own tools leaves nothing beside it.
func (b *Backend) Backup(ctx context.Context, path string, progress func(done, total int64)) (memento.BackupSummary, error) {
	const op = "backup"
	sum, err := b.backup(ctx, path, progress)
	if err != nil {
		return memento.BackupSummary{}, fail(op, translateFileError(err))
	}
	return sum, nil
}

func (b *Backend) backup(ctx context.Context, path string, progress func(done, total int64)) (sum memento.BackupSummary, err error) {
	if err := ctx.Err(); err != nil {
		return sum, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return sum, err
	}
	if _, err := os.Lstat(path); err == nil {
		return sum, fs.ErrExist // rather than after the work
	}
	c, err := b.readers.get()
	if err != nil {
		return sum, err
	}
	defer b.readers.put(c)
	temp, err := createTemp(path, partialSuffix)
	if err != nil {
		return sum, err
	}
	defer os.Remove(temp) // unless it is at its place

	patient, cancel := context.WithTimeout(ctx, flushTimeout)
	_ = b.reads.Sync(patient) // when memories were read is worth no more than trying
	cancel()
	if err := copyDatabase(ctx, c, temp, progress); err != nil {
		return sum, err
	}
	v, err := verify(ctx, temp, nil)
	if err != nil {
		return sum, err
	}
	return v.sum, installTemp(temp, path)
}

// copyDatabase makes the file at path, which is empty, a copy of c's database as of
// now, and flushes it.
func copyDatabase(ctx context.Context, c *conn, path string, progress func(done, total int64)) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close() // which takes SQLite's locks on it: not before SQLite has closed it
	if err := c.inTx(func() error { return copyPages(ctx, c, path, f, progress) }); err != nil {
		return err
	}
	// The copy says that it is in WAL mode, as the original is. Bytes 18 and 19 of
	// the header are 2 for that and 1 for no: https://www.sqlite.org/fileformat.html.
	if _, err := f.WriteAt([]byte{1, 1}, 18); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}

func copyPages(ctx context.Context, c *conn, path string, f *os.File, progress func(done, total int64)) (err error) {
	var pageSize int64
	// The first statement begins to read, and by that says as of when.
	for _, query := range []string{`SELECT count(*) FROM stores`, `PRAGMA page_size`} {
		if _, err := c.one(query, func(s *sqlite.Stmt) { pageSize = s.ColumnInt64(0) }); err != nil {
			return err
		}
	}
	to, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := to.Close(); err == nil {
			err = closeErr
		}
	}()
	// Nobody else knows of the file, and if anything goes wrong it is removed.
	for _, pragma := range []string{"PRAGMA locking_mode = EXCLUSIVE", "PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF"} {
		if err := sqlitex.ExecuteTransient(to, pragma, nil); err != nil {
			return err
		}
	}
	work, err := sqlite.NewBackup(to, "main", c.Conn, "main")
	if err != nil {
		return err
	}
	defer work.Close()
	unflushed := int64(0)
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if more, err = work.Step(backupStep); err != nil {
			return err
		}
		total := int64(work.PageCount()) * pageSize
		if progress != nil {
			progress(total-int64(work.Remaining())*pageSize, total)
		}
		if unflushed += backupStep * pageSize; unflushed >= backupFlush {
			unflushed = 0
			if err := f.Sync(); err != nil {
				return err
			}
		}
	}
	return nil
}
