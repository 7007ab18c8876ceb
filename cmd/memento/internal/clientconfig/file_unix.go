//go:build unix

package clientconfig

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a file the owner and the group that info has.
func keepOwner(f *os.File, info fs.FileInfo) error {
	mine, err := f.Stat()
	if err != nil {
		return err
	}
	old, ok := info.Sys().(*syscall.Stat_t)
	own, okToo := mine.Sys().(*syscall.Stat_t)
	if !ok || !okToo || old.Uid == own.Uid && old.Gid == own.Gid {
		return nil
	}
	return f.Chown(int(old.Uid), int(old.Gid))
}

// syncFolder makes the names in a folder durable, where the file system can do that.
func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	err = dir.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, dir.Close())
}
