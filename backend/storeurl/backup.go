package storeurl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"memento"
	"memento/backend"
	"memento/backend/dirstore"
	"memento/backend/sqlitestore"
)

// Exists reports whether the file or folder that rawURL names exists; [Open] would make
// it. For URLs of other backends it returns true.
//
// Errors: memento.ErrInvalid.
func Exists(rawURL string) (bool, error) {
	l, err := parse(rawURL)
	if err != nil {
		return false, err
	}
	path, local, err := l.local()
	if err != nil || !local {
		return !local, err
	}
	_, err = os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist), nil // Open reports other errors
}

// Local returns the scheme and the path of the file or folder that rawURL names; ok is
// false for URLs of other backends, and for those that are not understood.
func Local(rawURL string) (scheme, path string, ok bool) {
	l, err := parse(rawURL)
	if err != nil {
		return "", "", false
	}
	path, ok, err = l.local()
	return l.scheme, path, ok && err == nil
}

// local returns the path of the file or folder that l names, and whether it names one.
func (l *location) local() (path string, ok bool, err error) {
	switch l.scheme {
	case "sqlite":
		path, err = l.file()
	case "dir":
		path, err = l.folder()
	default:
		return "", false, nil
	}
	return path, true, err
}

// RestoreOptions are the options of [Restore]; nil means all defaults.
type RestoreOptions struct {
	// Replace allows replacing existing memories, which are kept under another name
	// beside the new ones.
	Replace bool
	// Progress, if not nil, is called regularly with the number of bytes copied so far,
	// and in total.
	Progress func(done, total int64)
}

// Restore makes the file or folder that rawURL (sqlite: or dir:) names from a backup
// written by [backend.BackupWriter]. Either can be restored from a backup of the other.
// The backup is checked before anything is changed, and is kept.
//
// Errors: memento.ErrInvalid if the URL is not understood; memento.ErrUnsupported for
// other backends; those of [sqlitestore.Restore] and [dirstore.Restore].
func Restore(ctx context.Context, rawURL, backup string, opts *RestoreOptions) (backend.Restored, error) {
	if opts == nil {
		opts = &RestoreOptions{}
	}
	l, err := parse(rawURL)
	if err != nil {
		return backend.Restored{}, err
	}
	switch l.scheme {
	case "sqlite":
		path, err := l.file()
		if err != nil {
			return backend.Restored{}, err
		}
		if err := makeFolder(filepath.Dir(path)); err != nil {
			return backend.Restored{}, err
		}
		return sqlitestore.Restore(ctx, path, backup, &sqlitestore.RestoreOptions{Replace: opts.Replace, Progress: opts.Progress})
	case "dir":
		path, err := l.folder()
		if err != nil {
			return backend.Restored{}, err
		}
		if err := makeFolder(filepath.Dir(path)); err != nil {
			return backend.Restored{}, err
		}
		return dirstore.Restore(ctx, path, backup, &dirstore.RestoreOptions{Replace: opts.Replace, Progress: opts.Progress})
	}
	for _, s := range schemes() {
		if s.name == l.scheme {
			return backend.Restored{}, &memento.Error{Op: "restore backup", Err: fmt.Errorf("%w: a backup is restored to sqlite:PATH or dir:PATH", memento.ErrUnsupported)}
		}
	}
	return backend.Restored{}, invalid("the scheme %q is not known; known are %s", l.scheme, known())
}

// VerifyBackup reads a whole backup written by [backend.BackupWriter], and returns what
// it contains; see [sqlitestore.Verify].
func VerifyBackup(ctx context.Context, file string, progress func(done, total int64)) (backend.BackupSummary, error) {
	return sqlitestore.Verify(ctx, file, progress)
}
