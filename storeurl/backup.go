package storeurl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"memento"
	"memento/dirstore"
	"memento/sqlitestore"
)

// Exists reports whether there is something where rawURL says, for URLs of files and
// folders, which [Open] would make. Of others it is always true.
//
// Errors: memento.ErrInvalid.
func Exists(rawURL string) (bool, error) {
	l, err := parse(rawURL)
	if err != nil {
		return false, err
	}
	path, err := "", error(nil)
	switch l.scheme {
	case "sqlite":
		path, err = l.file()
	case "dir":
		path, err = l.folder()
	default:
		return true, nil
	}
	if err != nil {
		return false, err
	}
	_, err = os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist), nil // Open says what else there is to say
}

// RestoreOptions are the options of [Restore]; nil means all defaults.
type RestoreOptions struct {
	// Replace allows for memories where rawURL says, which are kept beside.
	Replace bool
	// Progress, if it is not nil, is told now and then how many bytes of how many
	// are copied.
	Progress func(done, total int64)
}

// Restore makes what rawURL names, a file of sqlite: or a folder of dir:, of the
// backup in a file that [memento.BackupWriter] has written; either can be restored
// from a backup of the other. The backup is checked before anything is changed, and
// stays.
//
// Errors: memento.ErrInvalid if the URL is not understood; memento.ErrUnsupported
// for other backends; those of [sqlitestore.Restore] and [dirstore.Restore].
func Restore(ctx context.Context, rawURL, backup string, opts *RestoreOptions) (memento.Restored, error) {
	if opts == nil {
		opts = &RestoreOptions{}
	}
	l, err := parse(rawURL)
	if err != nil {
		return memento.Restored{}, err
	}
	switch l.scheme {
	case "sqlite":
		path, err := l.file()
		if err != nil {
			return memento.Restored{}, err
		}
		if err := makeFolder(filepath.Dir(path)); err != nil {
			return memento.Restored{}, err
		}
		return sqlitestore.Restore(ctx, path, backup, &sqlitestore.RestoreOptions{Replace: opts.Replace, Progress: opts.Progress})
	case "dir":
		path, err := l.folder()
		if err != nil {
			return memento.Restored{}, err
		}
		if err := makeFolder(filepath.Dir(path)); err != nil {
			return memento.Restored{}, err
		}
		return dirstore.Restore(ctx, path, backup, &dirstore.RestoreOptions{Replace: opts.Replace, Progress: opts.Progress})
	}
	for _, s := range schemes() {
		if s.name == l.scheme {
			return memento.Restored{}, &memento.Error{Op: "restore backup", Err: fmt.Errorf("%w: a backup is restored to sqlite:PATH or dir:PATH", memento.ErrUnsupported)}
		}
	}
	return memento.Restored{}, invalid("the scheme %q is not known; known are %s", l.scheme, known())
}

// VerifyBackup reads the whole of a file that [memento.BackupWriter] has written, and
// says what it holds; see [sqlitestore.Verify].
func VerifyBackup(ctx context.Context, file string, progress func(done, total int64)) (memento.BackupSummary, error) {
	return sqlitestore.Verify(ctx, file, progress)
}
