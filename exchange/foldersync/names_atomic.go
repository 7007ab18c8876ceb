//go:build linux || darwin

package foldersync

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"

	"golang.org/x/sys/unix"
)

// exchange exchanges two files in one step. Errors: errors.ErrUnsupported.
func (d *folder) exchange(a, b string) error { return d.renameWith(a, b, flagExchange) }

// renameNew renames a file unless there is one of the new name. Errors:
// errors.ErrUnsupported.
func (d *folder) renameNew(from, to string) error { return d.renameWith(from, to, flagNew) }

func (d *folder) renameWith(from, to string, flag uint) error {
	fromDir, err := d.root.Open(path.Dir(from))
	if err != nil {
		return err
	}
	defer fromDir.Close()
	toDir, err := d.root.Open(path.Dir(to))
	if err != nil {
		return err
	}
	defer toDir.Close()
	for {
		err = withFds(fromDir, toDir, func(a, b int) error { return renameAt(a, path.Base(from), b, path.Base(to), flag) })
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP) {
		return errors.ErrUnsupported
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

func withFds(a, b *os.File, do func(a, b int) error) error {
	first, err := a.SyscallConn()
	if err != nil {
		return err
	}
	second, err := b.SyscallConn()
	if err != nil {
		return err
	}
	var outer, inner error
	outer = first.Control(func(x uintptr) {
		inner = second.Control(func(y uintptr) { err = do(int(x), int(y)) })
	})
	return errors.Join(outer, inner, err)
}

// removeFolder removes a folder if it is empty, and nothing else.
func (d *folder) removeFolder(name string) error {
	parent, err := d.root.Open(path.Dir(name))
	if err != nil {
		return err
	}
	defer parent.Close()
	return withFds(parent, parent, func(fd, _ int) error { return unix.Unlinkat(fd, path.Base(name), unix.AT_REMOVEDIR) })
}

func printOf(info fs.FileInfo) print {
	p := print{size: info.Size(), modified: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		p.inode, p.changed = uint64(st.Ino), changeTime(st)
	}
	return p
}
