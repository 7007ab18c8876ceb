package sqlitestore

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"memento"
)

// Suffixes of temporary files, which are written beside a file and renamed to it when they
// are complete. Some digits follow.
const (
	partialSuffix   = ".partial-"
	restoringSuffix = ".restoring-"
)

// createTemp creates a file beside path with the permissions 0600, and returns its name.
func createTemp(path, kind string) (string, error) {
	var chance [4]byte
	for {
		rand.Read(chance[:]) // never fails: crypto/rand
		name := path + kind + hex.EncodeToString(chance[:])
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		if err := errors.Join(f.Chmod(0o600), f.Close()); err != nil { // whatever the umask
			return "", errors.Join(err, os.Remove(name))
		}
		return name, nil
	}
}

// installTemp renames the file at temp, which must be flushed, to path. The error is
// fs.ErrExist if path exists.
func installTemp(temp, path string) error {
	switch err := os.Link(temp, path); {
	case err == nil:
		if err := os.Remove(temp); err != nil {
			return err
		}
	case !lacksHardLinks(err):
		return err
	default: // without links, checking and renaming are two steps
		if _, err := os.Lstat(path); err == nil {
			return fs.ErrExist
		}
		if err := os.Rename(temp, path); err != nil {
			return err
		}
	}
	return syncDir(filepath.Dir(path))
}

// lacksHardLinks reports whether an error says that the file system has no hard links.
func lacksHardLinks(err error) bool {
	for _, code := range []error{syscall.EPERM, syscall.ENOTSUP, syscall.EOPNOTSUPP, syscall.ENOSYS, syscall.EMLINK, errors.ErrUnsupported} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

// translateFileError turns errors about files into the root package's, and removes the file
// names from them.
func translateFileError(err error) error {
	bare := err
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		bare = at.Err
	} else if at, ok := errors.AsType[*os.LinkError](err); ok {
		bare = at.Err
	} else {
		return translate(err) // not about a file
	}
	switch {
	case errors.Is(bare, syscall.ENOSPC), errors.Is(bare, syscall.EDQUOT):
		return fmt.Errorf("%w (%v)", memento.ErrNoSpace, bare)
	case errors.Is(bare, syscall.EROFS):
		return fmt.Errorf("%w (%v)", memento.ErrReadOnly, bare)
	}
	return bare
}
