//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package reserve

import (
	"io/fs"
	"os"
	"syscall"
)

const noFollow = syscall.O_NOFOLLOW

// hollow reports whether a file has much fewer blocks than its size needs.
func hollow(info fs.FileInfo) bool {
	at, ok := info.Sys().(*syscall.Stat_t)
	return ok && at.Blocks*512 < info.Size()/2
}

// removed reports whether an open file has no name any more.
func removed(info fs.FileInfo) bool {
	at, ok := info.Sys().(*syscall.Stat_t)
	return ok && at.Nlink == 0
}

func tryLock(file *os.File) bool {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			return err != syscall.EWOULDBLOCK // a file system without locks: nobody holds it
		}
	}
}

func unlock(file *os.File) { _ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN) }

func isDiskFull(error) bool { return false } // ENOSPC and EDQUOT say it here
