//go:build openbsd || dragonfly

package dirstore

import (
	"os"
	"syscall"
)

func changeTime(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }

// birth: package syscall does not report it here.
func birth(*os.File) (at int64, ok bool) { return 0, false }
