//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package dirstore

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// reservedNames says whether the system has names that no file can have.
const reservedNames = false

// readFlags are for opening what should be a regular file. If it has become a FIFO,
// opening it does not block.
const readFlags = os.O_RDONLY | syscall.O_NONBLOCK

// inodeOf returns what distinguishes a file from a later one of the same name: its inode
// number, the time of the inode's last change, and the number of hard links.
func inodeOf(info fs.FileInfo) (inode uint64, changed int64, links uint64) {
	st := info.Sys().(*syscall.Stat_t)
	return uint64(st.Ino), changeTime(st), uint64(st.Nlink)
}

// tryLock locks an open file, unless it is locked through another open file.
func tryLock(f *os.File) (locked bool, err error) {
	err = withFd(f, func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func unlock(f *os.File) error {
	return withFd(f, func(fd int) error { return unix.Flock(fd, unix.LOCK_UN) })
}

func withFd(f *os.File, do func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var doErr error
	err = raw.Control(func(fd uintptr) {
		for doErr = do(int(fd)); errors.Is(doErr, unix.EINTR); {
			doErr = do(int(fd))
		}
	})
	return errors.Join(err, doErr)
}

// syncFolder flushes the names in a folder.
func syncFolder(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil // the file system cannot flush folders, or need not
	}
	return errors.Join(err, f.Close())
}

// removeFolder removes an empty folder. It removes nothing else.
func removeFolder(dir *os.Root, name string) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	err = withFd(f, func(fd int) error { return unix.Unlinkat(fd, name, unix.AT_REMOVEDIR) })
	return errors.Join(err, f.Close())
}

// touched returns when a file was last renamed or changed, in nanoseconds since 1970:
// every change of an inode updates this time.
func touched(info fs.FileInfo) int64 {
	_, changed, _ := inodeOf(info)
	return changed
}
