package foldersync

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"memento"
)

// A displaced file is one that was taken from its place, under a temporary name until it
// is certain that nobody has changed it.
type displaced struct {
	temp string // name
	path memento.Path
	name string // where it was
	old  string // hash of the text that it should have
	new  string // hash of the text that has replaced it; "" if it was removed
	at   time.Time
}

// settleTime is how long a displaced file is kept, for programs that have opened it and
// not yet written to it.
const settleTime = 250 * time.Millisecond

// writeTemp writes a text to a temporary file beside name, and flushes it.
func (d *folder) writeTemp(name, text string, mode fs.FileMode) (temp string, err error) {
	temp = d.temp(name)
	f, err := d.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Chmod(mode)
		if errors.Is(err, errors.ErrUnsupported) {
			err = nil
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, d.root.Remove(temp))
	}
	return temp, nil
}

// create writes a text to a new file, and makes the folders that it needs.
//
// Errors: fs.ErrExist if there is a file of that name; errInTheWay; those of the file
// system.
func (d *folder) create(name, text string) error {
	if err := d.makeFolders(path.Dir(name)); err != nil {
		return err
	}
	temp, err := d.writeTemp(name, text, 0o600)
	if err != nil {
		return err
	}
	d.step("file written")
	if err := d.moveNew(temp, name); err != nil {
		return errors.Join(err, d.root.Remove(temp))
	}
	d.step("file created")
	return d.flushNames(path.Dir(name))
}

// errInTheWay says that a path leads through something that is no folder.
var errInTheWay = errors.New("a link or a file is in the place of one of its folders")

// makeFolders makes a folder and those above it. It does not follow links.
func (d *folder) makeFolders(name string) error {
	at := ""
	for part := range strings.SplitSeq(name, "/") {
		if part == "." {
			continue
		}
		above := path.Join(".", at)
		at = path.Join(at, part)
		switch info, err := d.root.Lstat(at); {
		case err == nil && info.IsDir():
			continue
		case err == nil:
			return errInTheWay
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		if err := d.root.Mkdir(at, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := d.flushNames(above); err != nil {
			return err
		}
	}
	return nil
}

// replace replaces the text of a file, which must be the one with the given hash. The
// displaced file is kept until settle.
//
// Errors: errChanged; fs.ErrNotExist; those of the file system.
func (d *folder) replace(p memento.Path, name, old, text string) error {
	info, err := d.root.Lstat(name)
	if err != nil {
		return err
	}
	temp, err := d.writeTemp(name, text, info.Mode().Perm())
	if err != nil {
		return err
	}
	if _, err := d.readAs(name, old); err != nil {
		return errors.Join(err, d.root.Remove(temp))
	}
	d.step("file compared")
	x := displaced{temp: temp, path: p, name: name, old: old, new: memento.HashContent(text), at: time.Now()}
	if err := d.journal.displace(x); err != nil {
		return errors.Join(err, d.root.Remove(temp))
	}
	if err := d.swap(&x); err != nil {
		return err
	}
	d.step("file replaced")
	if _, err := d.readAs(x.temp, old); err != nil {
		return d.swapBack(x)
	}
	d.displaced = append(d.displaced, x)
	return d.flushNames(path.Dir(name))
}

// swap exchanges the file with the temporary one. Where the system cannot do that, the
// file is moved to another temporary name first.
func (d *folder) swap(x *displaced) error {
	err := d.swapNames(x.temp, x.name)
	if !errors.Is(err, errors.ErrUnsupported) {
		if err != nil {
			return errors.Join(err, d.root.Remove(x.temp), d.journal.forget(x.temp))
		}
		return nil
	}
	prepared := x.temp
	if err := d.journal.forget(prepared); err != nil {
		return err
	}
	x.temp = d.temp(x.name)
	if err := d.journal.displace(*x); err != nil {
		return err
	}
	if err := d.root.Rename(x.name, x.temp); err != nil {
		return errors.Join(err, d.root.Remove(prepared), d.journal.forget(x.temp))
	}
	d.step("file moved away")
	if err := d.moveNew(prepared, x.name); err != nil { // somebody has made a new file
		d.displaced = append(d.displaced, *x)
		return errors.Join(errChanged, d.root.Remove(prepared))
	}
	return nil
}

// swapBack puts a displaced file back that somebody has changed just before it was
// displaced. If the new file was changed as well, both are kept: see settle.
func (d *folder) swapBack(x displaced) error {
	err := d.swapNames(x.temp, x.name)
	if err == nil {
		x.old = x.new // what the temporary file should have now
	}
	x.at = time.Now()
	d.displaced = append(d.displaced, x)
	return errChanged
}

// remove removes a file, which must be the one with the given hash. It is kept under
// another name until settle.
//
// Errors: errChanged; fs.ErrNotExist; those of the file system.
func (d *folder) remove(p memento.Path, name, old string) error {
	if _, err := d.readAs(name, old); err != nil {
		return err
	}
	d.step("file compared")
	x := displaced{temp: d.temp(name), path: p, name: name, old: old, at: time.Now()}
	if err := d.journal.displace(x); err != nil {
		return err
	}
	if err := d.root.Rename(name, x.temp); err != nil {
		return errors.Join(err, d.journal.forget(x.temp))
	}
	d.step("file removed")
	if _, err := d.readAs(x.temp, old); err != nil {
		if d.moveNew(x.temp, name) == nil {
			return errors.Join(errChanged, d.journal.forget(x.temp))
		}
		d.displaced = append(d.displaced, x)
		return errChanged
	}
	d.displaced = append(d.displaced, x)
	return d.flushNames(path.Dir(name))
}

// rename renames a file to a new name, and makes the folders that it needs.
//
// Errors: fs.ErrExist; fs.ErrNotExist; errInTheWay; those of the file system.
func (d *folder) rename(from, to string) error {
	if err := d.makeFolders(path.Dir(to)); err != nil {
		return err
	}
	if err := d.moveNew(from, to); err != nil {
		return err
	}
	d.step("file renamed")
	return errors.Join(d.flushNames(path.Dir(to)), d.flushNames(path.Dir(from)))
}

// removeEmptied removes the folder of a file that is gone, and those above it, as far as
// they are empty.
func (d *folder) removeEmptied(name string) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if d.removeFolder(dir) != nil {
			return
		}
	}
}

// swapNames exchanges two files in one step. Errors: errors.ErrUnsupported.
func (d *folder) swapNames(a, b string) error {
	if d.plain {
		return errors.ErrUnsupported
	}
	return d.exchange(a, b)
}

// moveNew renames a file, and fails with fs.ErrExist if there is one of the new name.
func (d *folder) moveNew(from, to string) error {
	err := errors.ErrUnsupported
	if !d.plain {
		err = d.renameNew(from, to)
	}
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err = d.root.Link(from, to); err == nil {
		return d.root.Remove(from)
	}
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// The file system has no hard links.
	if _, err := d.root.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return fs.ErrExist
	}
	return d.root.Rename(from, to)
}

// flushNames flushes the names in a folder, where the system can.
func (d *folder) flushNames(dir string) error {
	f, err := d.root.Open(dir)
	if err != nil {
		return err
	}
	_ = f.Sync() // some file systems cannot flush folders
	return f.Close()
}

// flush flushes the contents of a file before they become the base. Without that, a power
// cut could bring back an earlier text, which would then be taken for a change.
func (d *folder) flush(name string) error {
	f, err := d.root.Open(name)
	if err != nil {
		return err
	}
	_ = f.Sync() // some systems flush only files that are open for writing
	return f.Close()
}
