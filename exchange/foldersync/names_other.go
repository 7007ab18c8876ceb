//go:build !linux && !darwin

package foldersync

import (
	"errors"
	"io/fs"
)

// These systems have no such calls, or package os cannot make them.

func (d *folder) exchange(a, b string) error      { return errors.ErrUnsupported }
func (d *folder) renameNew(from, to string) error { return errors.ErrUnsupported }

// removeFolder removes a folder if it is empty.
func (d *folder) removeFolder(name string) error {
	if info, err := d.root.Lstat(name); err != nil || !info.IsDir() {
		return errors.Join(err, errInTheWay)
	}
	return d.root.Remove(name)
}

func printOf(info fs.FileInfo) print {
	return print{size: info.Size(), modified: info.ModTime().UnixNano()}
}
