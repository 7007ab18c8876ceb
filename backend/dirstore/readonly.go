package dirstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"memento"
	"memento/internal/reserve"
)

// isUnwritable reports whether err says that a folder cannot be written: it is on a
// read-only file system, or belongs to another user.
func isUnwritable(err error) bool {
	return errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)
}

// openCopy opens a temporary folder with a copy of memento's own files instead of the
// folder that has them, which can be read but not written. Even a reader of the database
// needs its locks.
func (b *Backend) openCopy() error {
	from, err := reach(b.base, b.place.hidden, openFolder)
	if err != nil {
		return err
	}
	defer from.Close()
	const attempts = 5
	for range attempts {
		if err := b.openScratch(); err != nil {
			return err
		}
		before, err := stateOf(from)
		if err == nil {
			err = copyFiles(b.hidden, from)
		}
		if err != nil {
			return err
		}
		// A process for which the folder is writable may have changed the files meanwhile.
		if after, err := stateOf(from); err != nil || after == before {
			return err
		}
		if err := b.closeScratch(); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: another process writes to the folder, which is read-only here", memento.ErrUnavailable)
}

// A fileState changes with the contents of the database.
type fileState struct {
	size, logSize     int64
	changed, logWrite time.Time
}

// stateOf returns the state of the database in a hidden folder.
func stateOf(hidden *os.Root) (s fileState, err error) {
	switch info, err := hidden.Lstat(dbFile); {
	case err == nil:
		s.size, s.changed = info.Size(), info.ModTime()
	case !errors.Is(err, fs.ErrNotExist):
		return s, err
	}
	switch info, err := hidden.Lstat(dbFile + "-wal"); {
	case err == nil:
		s.logSize, s.logWrite = info.Size(), info.ModTime()
	case !errors.Is(err, fs.ErrNotExist):
		return s, err
	}
	return s, nil
}

// copyFiles copies memento's own files, except those that only running processes need.
func copyFiles(to, from *os.Root) error {
	infos, err := readFolder(from)
	if err != nil {
		return err
	}
	for _, info := range infos {
		name := info.Name()
		switch {
		case strings.HasSuffix(name, reserve.Suffix), strings.HasSuffix(name, "-shm"), name == rootOtherStores:
		case info.IsDir():
			err = copyFolder(to, from, info)
		case info.Mode().IsRegular():
			err = copyFile(to, from, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func copyFolder(to, from *os.Root, info fs.FileInfo) error {
	inner, err := enter(from, info)
	if err != nil {
		return err
	}
	defer inner.Close()
	if err := to.Mkdir(info.Name(), ownFolderMode); err != nil {
		return err
	}
	copied, err := to.OpenRoot(info.Name())
	if err != nil {
		return err
	}
	return errors.Join(copyFiles(copied, inner), copied.Close())
}

func copyFile(to, from *os.Root, name string) error {
	in, err := from.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, ownMode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
