package foldersync

import (
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	flagExchange = unix.RENAME_EXCHANGE
	flagNew      = unix.RENAME_NOREPLACE
)

func renameAt(fromDir int, from string, toDir int, to string, flag uint) error {
	return unix.Renameat2(fromDir, from, toDir, to, flag)
}

func changeTime(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }
