package dirstore

import "golang.org/x/sys/unix"

// exchange exchanges the names of two files or folders in one step.
func exchange(a, b string) error { return unix.RenamexNp(a, b, unix.RENAME_SWAP) }
