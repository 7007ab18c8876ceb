package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"memento"
)

// A file on a read-only file system, or of another user, cannot even be read in place: in WAL
// mode, readers write their locks. SQLite's "immutable" mode has no locks, ignores the log,
// and returns wrong results if a process for which the file is writable changes it meanwhile.
// So the file and its log are copied, and the copy is read.

// errReadingCopy refuses what would be written to a copy only.
var errReadingCopy = fmt.Errorf("%w: the file cannot be written, and was opened for reading", memento.ErrReadOnly)

// openCopy opens a copy of the file at path, which cannot be written, in its present state.
func openCopy(ctx context.Context, path string, o Options) (*Backend, error) {
	scratch, err := os.MkdirTemp("", "memento-reading-") // mode 0700
	if err != nil {
		return nil, withoutPath(err)
	}
	b, err := openCopyIn(ctx, scratch, path, o)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(scratch))
	}
	return b, nil
}

func openCopyIn(ctx context.Context, scratch, path string, o Options) (*Backend, error) {
	to := filepath.Join(scratch, "memento.db")
	if err := copyUnchanged(ctx, to, path); err != nil {
		return nil, err
	}
	o.Reading, o.Reserve = false, -1
	b, err := Open(ctx, to, &o)
	if err != nil {
		return nil, err
	}
	b.scratch, b.writer.refusal = scratch, errReadingCopy
	return b, nil
}

// copyUnchanged copies a database and its log. A process for which they are writable may
// change them meanwhile: then it starts over.
func copyUnchanged(ctx context.Context, to, from string) error {
	const attempts = 5
	for range attempts {
		before, err := stateOf(from)
		if err != nil {
			return err
		}
		for _, suffix := range []string{"", "-wal"} {
			if err := copyFile(ctx, to+suffix, from+suffix); err != nil && (suffix == "" || !errors.Is(err, fs.ErrNotExist)) {
				return translateFileError(err)
			}
		}
		switch after, err := stateOf(from); {
		case err != nil:
			return err
		case after == before:
			return nil
		}
	}
	return fmt.Errorf("%w: another process writes to the file, which is read-only here", memento.ErrUnavailable)
}

// copiedAtOnce is how many bytes are copied before it is seen that the context has ended.
const copiedAtOnce = 16 << 20

// A fileState changes with the contents of a database.
type fileState struct {
	size, logSize     int64
	changed, logWrite time.Time
}

func stateOf(path string) (s fileState, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return s, withoutPath(err)
	}
	s.size, s.changed = info.Size(), info.ModTime()
	switch info, err := os.Stat(path + "-wal"); {
	case err == nil:
		s.logSize, s.logWrite = info.Size(), info.ModTime()
	case !errors.Is(err, fs.ErrNotExist):
		return s, withoutPath(err)
	}
	return s, nil
}

// copyFile copies a file, and replaces an earlier copy. If there is none to copy, there is
// none afterwards.
func copyFile(ctx context.Context, to, from string) error {
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	for err == nil {
		if err = ctx.Err(); err == nil {
			_, err = io.CopyN(out, in, copiedAtOnce)
		}
	}
	if err == io.EOF {
		err = nil
	}
	return errors.Join(err, out.Close())
}
