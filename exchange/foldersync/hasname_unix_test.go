//go:build unix

package foldersync

import (
	"os"
	"syscall"
)

// hasName reports whether an open file still has a name in some folder.
func hasName(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink > 0
}
