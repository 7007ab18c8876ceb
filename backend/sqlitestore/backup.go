package sqlitestore

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"

	"memento/backend"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

var _ backend.BackupWriter = (*Backend)(nil)

// A backup is SQLite's online backup, page by page, inside a read transaction: all pages
// are of the moment when it began, so writers can continue, and the copy ends however much
// they write. Without the transaction SQLite would start over whenever another connection
// has written. The price is that the log cannot be restarted meanwhile, and grows with what
// is written.
//
// VACUUM INTO makes an equally consistent copy in about the same time, but it is a single
// statement: it cannot report progress, nor be flushed in between, so that writers wait ten
// times as long for the flush of the whole.

const (
	// backupStep is how many pages are copied at a time: few enough to let other goroutines
	// run.
	backupStep = 64
	// backupFlush is how many bytes are copied between flushes. The flushes of writers wait
	// for each of them: about 150 ms for 160 MB, and about 10 ms for this size.
	backupFlush = 4 << 20
)

// Backup implements [backend.BackupWriter]. The copy is an ordinary file of this package,
// but not in WAL mode: it is one file, and opening it with SQLite's own tools creates no
// other.
func (b *Backend) Backup(ctx context.Context, path string, progress func(done, total int64)) (backend.BackupSummary, error) {
	const op = "backup"
	sum, err := b.backup(ctx, path, progress)
	if err != nil {
		return backend.BackupSummary{}, fail(op, translateFileError(err))
	}
	return sum, nil
}

func (b *Backend) backup(ctx context.Context, path string, progress func(done, total int64)) (sum backend.BackupSummary, err error) {
	if err := ctx.Err(); err != nil {
		return sum, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return sum, err
	}
	if _, err := os.Lstat(path); err == nil {
		return sum, fs.ErrExist // checked before the work
	}
	c, err := b.readers.get()
	if err != nil {
		return sum, err
	}
	defer func() { b.readers.put(c) }()
	temp, err := createTemp(path, partialSuffix)
	if err != nil {
		return sum, err
	}
	defer os.Remove(temp) // unless it is at its place

	patient, cancel := context.WithTimeout(ctx, flushTimeout)
	_ = b.reads.Sync(patient) // read times are worth no longer wait
	cancel()
	copyAndVerify := func(c *conn) (backend.BackupSummary, error) {
		if err := copyDatabase(ctx, c, temp, progress); err != nil {
			return backend.BackupSummary{}, err
		}
		v, err := verify(ctx, temp, nil)
		return v.sum, err
	}
	if sum, err = copyAndVerify(c); seemsDamaged(err) {
		sum, err = confirm(b, &c, copyAndVerify)
	}
	if err != nil {
		return backend.BackupSummary{}, err
	}
	return sum, installTemp(temp, path)
}

// copyDatabase copies the present state of c's database to the file at path, which nobody
// else uses, and flushes it.
func copyDatabase(ctx context.Context, c *conn, path string, progress func(done, total int64)) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close() // closing it drops SQLite's locks on the file: only after SQLite has closed it
	if err := f.Truncate(0); err != nil {
		return err
	}
	if err := c.inTx(func() error { return copyPages(ctx, c, path, f, progress) }); err != nil {
		return err
	}
	// The header of the copy says WAL mode, as the original's does. Bytes 18 and 19 are 2
	// for WAL mode and 1 otherwise: https://www.sqlite.org/fileformat.html.
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
	// The first statement begins the read transaction, and so determines the moment of the
	// copy.
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
	// No other process uses the file, and it is removed after any error.
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
