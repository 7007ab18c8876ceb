package dirstore

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

const reservedNames = true

const readFlags = os.O_RDONLY

// inodeOf: package os reports no inode number here, and only the time of the last change
// of contents. Size and time have to do.
func inodeOf(info fs.FileInfo) (inode uint64, changed int64, links uint64) {
	return 0, info.ModTime().UnixNano(), 1
}

// lockAt is the offset of the lock: far after the contents, since other processes cannot
// read a locked range.
const lockAt = 1 << 30

func tryLock(f *os.File) (locked bool, err error) {
	at := &windows.Overlapped{OffsetHigh: lockAt}
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

func unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{OffsetHigh: lockAt})
}

// syncFolder does nothing: folders cannot be flushed here.
func syncFolder(*os.Root) error { return nil }

// removeFolder removes a folder if it is empty.
func removeFolder(dir *os.Root, name string) error { return dir.Remove(name) }

// birth is not needed: files have no inodes that could be used again.
func birth(*os.File) (at int64, ok bool) { return 0, false }

// touched returns the later of when a file was last changed and when it was made, in
// nanoseconds since 1970. It does not show that a file was moved.
func touched(info fs.FileInfo) int64 {
	made := info.Sys().(*syscall.Win32FileAttributeData).CreationTime.Nanoseconds()
	return max(info.ModTime().UnixNano(), made)
}
