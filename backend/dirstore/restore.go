package dirstore

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"memento"
	"memento/backend"
	"memento/backend/sqlitestore"
)

// RestoreOptions are the options of [Restore]; nil means all defaults.
type RestoreOptions struct {
	// Replace allows restoring to a folder that has memories. The whole old folder is
	// kept beside the new one, renamed with the suffix ".before-" and the time.
	Replace bool
	// Now returns the time for that name; nil means time.Now.
	Now func() time.Time
	// Progress, if not nil, is called regularly with the number of bytes of the backup
	// copied so far, and in total.
	Progress func(done, total int64)

	hook func(step string) // for tests
}

// Restore makes the folder at path from a backup, with its history and all files. The
// backup is kept. The parent folder must exist.
//
// A folder without memories is filled in place: the database appears in one step and
// flushed. If the process dies before all files are written, the next Open writes the
// rest. A folder with memories stays until a new one beside it is complete; then the two
// exchange their names in one step. On systems other than Linux and macOS there is a
// moment in which neither has the name. A folder beside it whose name ends in
// ".restoring-" and digits was left by a process that died, and can be removed.
//
// Errors: memento.ErrExist if there are memories and Replace is not set, or if the folder
// also has other contents, which would be moved with it; backend.ErrInUse if a process
// has the folder open; memento.ErrForeign if path is not a folder; those of
// [sqlitestore.Restore].
func Restore(ctx context.Context, path, backup string, opts *RestoreOptions) (backend.Restored, error) {
	r := restore{}
	if opts != nil {
		r.RestoreOptions = *opts
	}
	if r.Now == nil {
		r.Now = time.Now
	}
	if r.hook == nil {
		r.hook = func(string) {}
	}
	done, err := r.run(ctx, path, backup)
	if err != nil {
		return backend.Restored{}, failRestore(err)
	}
	return done, nil
}

func failRestore(err error) error {
	const op = "restore backup"
	if _, whole := errors.AsType[*memento.Error](err); !whole && (errors.Is(err, memento.ErrExist) || errors.Is(err, backend.ErrInUse)) {
		return &memento.Error{Op: op, Err: err}
	}
	return fail(op, err)
}

// A restore is one call of Restore.
type restore struct{ RestoreOptions }

func (r *restore) run(ctx context.Context, path, backup string) (done backend.Restored, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return done, err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	} else if !errors.Is(err, fs.ErrNotExist) {
		return done, err
	}
	if _, err := os.Lstat(filepath.Join(path, hiddenFolder, rootFolder)); err == nil {
		return done, fmt.Errorf("%w: this folder's files are not only memento's; restore to a new folder", memento.ErrUnsupported)
	}
	switch occupied, err := hasMemories(path); {
	case err != nil:
		return done, err
	case !occupied:
		return r.fill(ctx, path, backup)
	case !r.Replace:
		return done, memento.ErrExist
	}
	return r.replace(ctx, path, backup)
}

// own are the names in a backend's folder that memento uses.
var own = []string{hiddenFolder, defaultFolder, otherFolders}

// hasMemories reports whether a folder has, or could have, memories. The folder need not
// exist.
func hasMemories(path string) (bool, error) {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.IsDir():
		return false, fmt.Errorf("%w: it is not a folder", memento.ErrForeign)
	}
	for _, name := range []string{defaultFolder, otherFolders, filepath.Join(hiddenFolder, dbFile)} {
		if _, err := os.Lstat(filepath.Join(path, name)); err == nil {
			return true, nil
		} else if !isAbsent(err) {
			return false, err
		}
	}
	return false, nil
}

// fill restores to a folder that has no memories, and need not exist.
func (r *restore) fill(ctx context.Context, path, backup string) (done backend.Restored, err error) {
	_, err = os.Lstat(path)
	made := errors.Is(err, fs.ErrNotExist)
	base, err := openBase(path)
	if err != nil {
		return done, err
	}
	defer base.Close()
	hidden, err := makeFolder(osSyncer{}, base, hiddenFolder)
	if errors.Is(err, errNoFolder) {
		return done, notFolder(hiddenFolder, err)
	}
	if err != nil {
		return done, err
	}
	if err := hidden.Close(); err != nil {
		return done, err
	}
	done, err = sqlitestore.Restore(ctx, filepath.Join(path, hiddenFolder, dbFile), backup, &sqlitestore.RestoreOptions{Progress: r.Progress})
	if err != nil {
		_ = base.Remove(hiddenFolder) // fails unless it is empty
		if made {
			_ = os.Remove(path)
		}
		return done, err
	}
	r.hook("database")
	b, err := Open(ctx, path, &Options{hook: r.hook})
	if err != nil {
		return done, err
	}
	err = errors.Join(b.refreshAll(ctx), b.Close(), syncFolder(base))
	return done, err
}

// replace restores to a folder that has memories.
func (r *restore) replace(ctx context.Context, path, backup string) (done backend.Restored, err error) {
	if err := onlyOwn(path); err != nil {
		return done, err
	}
	release, err := sqlitestore.Hold(ctx, filepath.Join(path, hiddenFolder, dbFile))
	if err != nil {
		return done, err
	}
	defer func() { release() }()
	r.hook("held")
	temp, err := makeTemp(path)
	if err != nil {
		return done, err
	}
	swapped := false
	defer func() {
		if !swapped {
			err = errors.Join(err, os.RemoveAll(temp))
		}
	}()
	if done, err = r.fill(ctx, temp, backup); err != nil {
		return done, err
	}
	r.hook("filled")
	kept, err := r.free(path)
	if err != nil {
		return done, err
	}
	if runtime.GOOS == "windows" {
		release() // Windows does not rename a folder with open files
	}
	if swapped, err = swap(path, temp, kept, r.hook); err != nil {
		return done, err
	}
	done.Kept = kept
	return done, syncParent(path)
}

// onlyOwn returns an error if a folder has contents that are not memento's: it would be
// unexpected if they were moved.
func onlyOwn(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !slices.Contains(own, e.Name()) {
			return fmt.Errorf("%w: the folder also has other contents, which would be moved with it", memento.ErrExist)
		}
	}
	return nil
}

// makeTemp makes a temporary folder beside the one at path.
func makeTemp(path string) (string, error) {
	var chance [4]byte
	for {
		rand.Read(chance[:]) // never fails: crypto/rand
		temp := path + ".restoring-" + hex.EncodeToString(chance[:])
		err := os.Mkdir(temp, ownFolderMode)
		if err == nil {
			return temp, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
}

// free returns a free name for keeping the folder at path.
func (r *restore) free(path string) (string, error) {
	base := path + ".before-" + r.Now().UTC().Format("20060102T150405Z")
	name := base
	for n := 2; ; n++ {
		switch _, err := os.Lstat(name); {
		case errors.Is(err, fs.ErrNotExist):
			return name, nil
		case err != nil:
			return "", err
		}
		name = fmt.Sprintf("%s-%d", base, n)
	}
}

// swap renames the folder at temp to path, and the folder at path to kept. swapped says
// whether the new folder is at path.
func swap(path, temp, kept string, hook func(string)) (swapped bool, err error) {
	switch err := exchange(path, temp); {
	case err == nil:
		hook("exchanged")
		return true, os.Rename(temp, kept)
	case errors.Is(err, syscall.EBUSY):
		return false, fmt.Errorf("the folder cannot be renamed, perhaps because a file system is mounted there: restore to another one (%w)", bare(err))
	case !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL):
		return false, err
	}
	if err := os.Rename(path, kept); err != nil {
		return false, err
	}
	hook("moved")
	if err := os.Rename(temp, path); err != nil {
		return false, errors.Join(err, os.Rename(kept, path))
	}
	return true, nil
}
