package foldersync

import (
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	flagExchange = unix.RENAME_SWAP
	flagNew      = unix.RENAME_EXCL
)

func renameAt(fromDir int, from string, toDir int, to string, flag uint) error {
	return unix.RenameatxNp(fromDir, from, toDir, to, uint32(flag))
}

func changeTime(st *syscall.Stat_t) int64 { return st.Ctimespec.Nano() }
