//go:build darwin || freebsd || netbsd

package dirstore

import (
	"os"
	"syscall"
)

func changeTime(st *syscall.Stat_t) int64 { return st.Ctimespec.Nano() }

// birth returns when a file was made, if the file system records that.
func birth(f *os.File) (at int64, ok bool) {
	info, err := f.Stat()
	if err != nil {
		return 0, false
	}
	at = info.Sys().(*syscall.Stat_t).Birthtimespec.Nano()
	return at, at > 0
}
