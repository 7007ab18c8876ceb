package dirstore

import "golang.org/x/sys/unix"

// exchange has two names change what they name.
func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}
