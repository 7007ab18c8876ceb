package sqlitestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"memento"
	"memento/backend"
)

// RestoreOptions are the options of [Restore]; nil means all defaults.
type RestoreOptions struct {
	// Replace permits replacing a database at the path. It is kept beside the new one, with
	// the suffix ".before-" and the time.
	Replace bool
	// Now returns that time; nil means time.Now.
	Now func() time.Time
	// Progress, if it is not nil, is called regularly with the number of bytes done and in
	// total.
	Progress func(done, total int64)

	step func(string) // called after each step; for tests
}

// Restore creates the file at path from a backup, which it copies and checks as [Verify]
// does. The backup stays. The directory of the file must exist.
//
// The old file is at path until the new one takes its place, in one step and flushed. If
// the process dies before, either file is there, and perhaps a temporary file with the
// suffix ".restoring-" and some digits, which can be removed. On Windows, and on file
// systems without hard links, there is a moment in which the old file has only its new
// name.
//
// A process that opens the file meanwhile waits, and gets the new one. If the old file is
// so damaged that SQLite cannot complete its log, the log is kept with it.
//
// Errors: memento.ErrExist if there is something at path and Replace is not set;
// backend.ErrInUse if a process, this one included, has it open; a backend.BackupError if
// the backup is not sound; memento.ErrFormat if the database at path is another program's;
// fs.ErrNotExist if the backup does not exist; memento.ErrInvalid if the backup is the file
// at path; memento.ErrNoSpace, memento.ErrReadOnly. After any error, the old file is still
// at path.
func Restore(ctx context.Context, path, backup string, opts *RestoreOptions) (backend.Restored, error) {
	const op = "restore backup"
	r := restore{}
	if opts != nil {
		r.RestoreOptions = *opts
	}
	if r.Now == nil {
		r.Now = time.Now
	}
	if r.step == nil {
		r.step = func(string) {}
	}
	done, err := r.run(ctx, path, backup)
	if err != nil {
		return backend.Restored{}, fail(op, translateFileError(err))
	}
	return done, nil
}

// A restore is one call of Restore.
type restore struct {
	RestoreOptions
	path   string
	absent bool     // whether there is no file at path; its log may exist
	undo   []func() // reverts changes of the files at path, the last first
}

func (r *restore) run(ctx context.Context, path, backup string) (done backend.Restored, err error) {
	if r.path, err = realPath(path); err != nil {
		return done, err
	}
	there, err := r.checkTarget(backup)
	if err != nil {
		return done, err
	}
	var h hold
	if there {
		if h, err = takeHold(ctx, r.path); err != nil {
			return done, err
		}
		defer func() { h.release() }()
		r.step("held")
	}
	temp, err := createTemp(r.path, restoringSuffix)
	if err != nil {
		return done, err
	}
	defer os.Remove(temp) // does nothing once temp was renamed
	if done.BackupSummary, err = r.copyAndVerify(ctx, backup, temp); err != nil {
		return done, err
	}
	r.step("brought")
	if runtime.GOOS == "windows" {
		h.release() // Windows cannot rename an open file
	}
	if there {
		done.Kept, err = r.keepOld(h.whole)
	}
	if err == nil {
		r.step("kept")
		if r.absent {
			err = installTemp(temp, r.path)
		} else {
			err = os.Rename(temp, r.path)
		}
	}
	if err != nil {
		for _, undo := range slices.Backward(r.undo) {
			undo()
		}
		return done, err
	}
	r.step("placed")
	return done, syncDir(filepath.Dir(r.path))
}

// realPath returns path without symbolic links, because the other files of a database are
// beside the file that a link leads to.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	switch real, err := filepath.EvalSymlinks(path); {
	case err == nil:
		return real, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", fmt.Errorf("%w: a symbolic link without a target", memento.ErrExist)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

// sidecarSuffixes are the suffixes of the files that SQLite has beside a database. It would
// take old ones for those of the new database.
var sidecarSuffixes = []string{"-wal", "-journal", "-shm"}

// checkTarget reports whether there is something to replace, and refuses what cannot be
// replaced.
func (r *restore) checkTarget(backup string) (there bool, err error) {
	from, err := os.Stat(backup)
	if err != nil {
		return false, err
	}
	at, err := os.Lstat(r.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.absent = true
		for _, suffix := range sidecarSuffixes {
			if _, err := os.Lstat(r.path + suffix); err == nil {
				there = true
			}
		}
	case err != nil:
		return false, err
	case os.SameFile(from, at):
		return false, fmt.Errorf("%w: the backup is the file that it would replace", memento.ErrInvalid)
	case !at.Mode().IsRegular():
		return false, fmt.Errorf("%w: it is not a regular file", memento.ErrExist)
	default:
		there = true
	}
	if there && !r.Replace {
		return false, memento.ErrExist
	}
	return there, nil
}

// copyAndVerify copies the backup to the empty file at temp, and checks the copy.
func (r *restore) copyAndVerify(ctx context.Context, backup, temp string) (sum backend.BackupSummary, err error) {
	if err := checkIsBackup(ctx, backup); err != nil { // before the copy
		return sum, err
	}
	if err := r.copy(ctx, backup, temp); err != nil {
		return sum, err
	}
	r.step("copied")
	v, err := verify(ctx, temp, nil) // the copy, because it is the file that will be used
	if err == nil && v.indexMismatch {
		err = resetIndex(temp)
	}
	return v.sum, err
}

// copyStep is how many bytes are copied at a time.
const copyStep = 4 << 20

func (r *restore) copy(ctx context.Context, from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	for done := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.CopyN(f, source, copyStep)
		if done += n; r.Progress != nil {
			r.Progress(done, info.Size())
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(f.Sync(), f.Close())
}

// keepOld renames the file at the path, and returns its new name. If whole is false, the
// files beside it are renamed, too.
func (r *restore) keepOld(whole bool) (string, error) {
	name, err := r.freeName()
	if err != nil {
		return "", err
	}
	kept := ""
	// With a link there is no moment without a file at the path.
	switch err := os.Link(r.path, name); {
	case err == nil:
		r.undo, kept = append(r.undo, func() { os.Remove(name) }), name
	case lacksHardLinks(err):
		if err := r.move("", name); err != nil {
			return "", err
		}
		kept = name
	case !errors.Is(err, fs.ErrNotExist): // there may be only a log
		return "", err
	}
	if whole {
		return kept, nil
	}
	for _, suffix := range sidecarSuffixes {
		switch err := r.move(suffix, name); {
		case err == nil:
			kept = cmp.Or(kept, name+suffix)
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
	}
	return kept, nil
}

// freeName returns a name that does not exist yet.
func (r *restore) freeName() (string, error) {
	base := r.path + ".before-" + r.Now().UTC().Format("20060102T150405Z")
	name := base
	for n := 2; ; n++ {
		taken := false
		for _, suffix := range append(sidecarSuffixes, "") {
			switch _, err := os.Lstat(name + suffix); {
			case err == nil:
				taken = true
			case !errors.Is(err, fs.ErrNotExist):
				return "", err
			}
		}
		if !taken {
			return name, nil
		}
		name = fmt.Sprintf("%s-%d", base, n)
	}
}

func (r *restore) move(suffix, name string) error {
	from, to := r.path+suffix, name+suffix
	if err := os.Rename(from, to); err != nil {
		return err
	}
	r.undo = append(r.undo, func() { os.Rename(to, from) })
	return nil
}
