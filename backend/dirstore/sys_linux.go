package dirstore

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func changeTime(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }

// birth returns when a file was made, if the file system records that.
func birth(f *os.File) (at int64, ok bool) {
	var x unix.Statx_t
	err := withFd(f, func(fd int) error { return unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &x) })
	return x.Btime.Sec*1e9 + int64(x.Btime.Nsec), err == nil && x.Mask&unix.STATX_BTIME != 0
}
