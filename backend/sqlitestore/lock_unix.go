//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package sqlitestore

import (
	"errors"
	"io"
	"os"
	"syscall"

	"memento/backend"
)

// Position of SQLite's locks in a file. Readers lock some of the last 510 of these bytes.
// See PENDING_BYTE in SQLite's os.h.
const (
	lockAt    = 0x40000000
	lockBytes = 512
)

// lockFile opens a file that SQLite cannot read, and takes the lock that SQLite takes for
// exclusive access. Errors: backend.ErrInUse.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: lockAt, Len: lockBytes}
	err = syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &lock)
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		err = backend.ErrInUse
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
