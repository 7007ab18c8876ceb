//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package sqlitestore

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"

	"memento"
)

// What access(2) checks.
const (
	mayRead  = 4
	mayWrite = 2
)

// checkWritable returns memento.ErrReadOnly if this process can read the file at path, but
// cannot write the file or its directory. It does not open the file: closing it again would
// drop SQLite's locks.
func checkWritable(path string) error {
	if syscall.Access(path, mayRead) != nil {
		return nil // that is another problem
	}
	for _, name := range []string{path, filepath.Dir(path)} {
		err := syscall.Access(name, mayWrite)
		if errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EACCES) {
			return fmt.Errorf("%w: neither the file nor its directory may be write-protected (%v)", memento.ErrReadOnly, err)
		}
	}
	return nil
}
