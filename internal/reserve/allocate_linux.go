package reserve

import (
	"errors"
	"os"
	"syscall"
)

// allocate makes the file system allocate blocks for a part of a file.
func allocate(file *os.File, at, n int64) error {
	for {
		switch err := syscall.Fallocate(int(file.Fd()), 0, at, n); err {
		case syscall.EINTR:
		case syscall.ENOTSUP, syscall.ENOSYS:
			return errors.ErrUnsupported
		default:
			return err
		}
	}
}
