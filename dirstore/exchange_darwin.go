package dirstore

import "golang.org/x/sys/unix"

// exchange has two names change what they name.
func exchange(a, b string) error { return unix.RenamexNp(a, b, unix.RENAME_SWAP) }
