package reserve

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

const noFollow = 0

func hollow(fs.FileInfo) bool { return false }

func removed(fs.FileInfo) bool { return false } // an open file cannot be removed

func tryLock(*os.File) bool { return true }

func unlock(*os.File) {}

// isDiskFull reports whether err is ERROR_HANDLE_DISK_FULL or ERROR_DISK_FULL.
func isDiskFull(err error) bool {
	code, ok := errors.AsType[syscall.Errno](err)
	return ok && (code == 39 || code == 112)
}
