package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// MaxBytes is the maximum size of a file that is edited: 32 MiB. Some clients keep more than
// their configuration in it.
const MaxBytes = 32 << 20

// Errors of files. None of them has changed anything.
var (
	// ErrLink says that a file is a link, or something else that cannot be replaced.
	ErrLink = errors.New("it is not a regular file")

	// ErrTooLarge says that a file is larger than MaxBytes.
	ErrTooLarge = errors.New("the file is too large")

	// ErrChanged says that another program has changed a file since it was read.
	ErrChanged = errors.New("another program has just changed the file")
)

// A File is a file of a user, as it was read.
type File struct {
	Path   string
	Text   []byte
	Exists bool

	info fs.FileInfo // if it exists
}

// Open reads a file, which need not exist. root is the folder of the project below which no
// folder may be a link, because a repository could lead elsewhere; "" for none.
//
// Errors: ErrLink, ErrTooLarge, those of the file system.
func Open(path, root string) (*File, error) {
	if root != "" {
		for dir := filepath.Dir(path); dir != root && len(dir) > len(root); dir = filepath.Dir(dir) {
			if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
				return nil, fmt.Errorf("%w: %s is a link, or no folder", ErrLink, dir)
			}
		}
	}
	f := &File{Path: path}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		if to, err := os.Readlink(path); err == nil {
			return nil, fmt.Errorf("%w: %s is a link to %s", ErrLink, path, to)
		}
		return nil, fmt.Errorf("%w: %s", ErrLink, path)
	}
	f.Exists, f.info = true, info
	f.Text, err = readAll(path)
	return f, err
}

func readAll(path string) ([]byte, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err == nil && len(text) > MaxBytes {
		return nil, fmt.Errorf("%w: %s has more than %d MiB", ErrTooLarge, path, MaxBytes>>20)
	}
	return text, err
}

// Backup is the path of the copy of the file as it was before memento's entry.
func (f *File) Backup(name string) string { return f.Path + ".before-" + name }

// KeepBackup writes the backup, in place of an older one. There is none of a file that does
// not exist.
func (f *File) KeepBackup(name string) error {
	if !f.Exists {
		return nil
	}
	backup, err := Open(f.Backup(name), "")
	if err != nil {
		return err
	}
	backup.info = f.info // with the same permissions
	return backup.write(f.Text)
}

// Restored returns the text that the file had before memento's entry, if text, which is that
// of the file now, is what memento made of it. exists is false if there was no file.
func (f *File) Restored(c Client, name string) (text []byte, exists, ok bool) {
	s, found, err := c.Get(f.Text, name)
	if err != nil || !found {
		return nil, false, false
	}
	backup, err := Open(f.Backup(name), "")
	if err != nil {
		return nil, false, false
	}
	made, err := c.Set(backup.Text, name, s)
	if err != nil || !bytes.Equal(made, f.Text) {
		return nil, false, false
	}
	return backup.Text, backup.Exists, true
}

// Replace replaces the text of the file, or makes the file and its folders. A reader sees the
// old or the new text.
//
// Errors: ErrChanged, those of the file system.
func (f *File) Replace(text []byte) error {
	if !f.Exists {
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
			return err
		}
	}
	return f.write(text)
}

// Remove removes the file. Errors: ErrChanged, those of the file system.
func (f *File) Remove() error {
	if err := f.unchanged(); err != nil {
		return err
	}
	return os.Remove(f.Path)
}

// unchanged returns ErrChanged if the file is not what was read.
func (f *File) unchanged() error {
	now, err := Open(f.Path, "")
	if err != nil {
		return err
	}
	if now.Exists != f.Exists || !bytes.Equal(now.Text, f.Text) {
		return fmt.Errorf("%w: %s", ErrChanged, f.Path)
	}
	return nil
}

// write writes the text beside the file and moves it there. The permissions and the owner
// stay; a new file is for its owner alone, because such files can have secrets.
func (f *File) write(text []byte) (err error) {
	temp, err := os.CreateTemp(filepath.Dir(f.Path), ".memento-*.tmp") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp.Name()) // it may have been moved
		}
	}()
	_, err = temp.Write(text)
	if err == nil && f.info != nil {
		err = errors.Join(keepOwner(temp, f.info), temp.Chmod(f.info.Mode().Perm()))
	}
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	if err := f.unchanged(); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), f.Path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(f.Path))
}
