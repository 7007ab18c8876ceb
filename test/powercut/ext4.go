//go:build linux

package powercut

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// An Ext4 is a file system in a file, which the kernel can stop like a power cut. It is
// mounted through a new loop device each time: the cache of one that stays open would
// survive the cut, with some blocks as they were before and some as they were never
// written.
type Ext4 struct {
	image string
	dir   string
}

// ext4Options make ext4 flush as little as possible by itself.
const ext4Options = "noauto_da_alloc,commit=300"

// NewExt4 makes a file system in a file of a folder, and mounts it at dir.
func NewExt4(folder, dir string) (*Ext4, error) {
	e := &Ext4{image: filepath.Join(folder, "image"), dir: dir}
	if err := os.WriteFile(e.image, nil, 0o600); err != nil {
		return nil, err
	}
	if err := os.Truncate(e.image, 64<<20); err != nil {
		return nil, err
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", "-J", "size=4", "-E", "lazy_itable_init=0", e.image).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("mkfs.ext4: %w: %s", err, out)
	}
	if err := e.Mount(); err != nil {
		return nil, err
	}
	return e, nil
}

// attach creates a loop device on a file. The kernel releases it when no process has it
// open, and it is not mounted.
func attach(f *os.File) (*os.File, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer control.Close()
	for range 20 {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, err
		}
		loop, err := os.OpenFile(fmt.Sprintf("/dev/loop%d", n), os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		err = unix.IoctlLoopConfigure(int(loop.Fd()), &unix.LoopConfig{Fd: uint32(f.Fd()), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR}})
		if err == nil {
			return loop, nil
		}
		loop.Close()
		if err != unix.EBUSY { // another process has taken it
			return nil, err
		}
	}
	return nil, unix.EBUSY
}

// Mount mounts the file system, which replays its journal.
func (e *Ext4) Mount() error {
	f, err := os.OpenFile(e.image, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	loop, err := attach(f)
	if err != nil {
		return fmt.Errorf("loop device: %w", err)
	}
	defer loop.Close()
	if err := syscall.Mount(loop.Name(), e.dir, "ext4", 0, ext4Options); err != nil {
		return os.NewSyscallError("mount of "+loop.Name(), err)
	}
	return nil
}

// Unmount unmounts the file system, once killed processes have closed their files.
func (e *Ext4) Unmount() error {
	err := syscall.Unmount(e.dir, 0)
	for end := time.Now().Add(10 * time.Second); err == syscall.EBUSY && time.Now().Before(end); err = syscall.Unmount(e.dir, 0) {
		time.Sleep(time.Millisecond)
	}
	return os.NewSyscallError("umount", err)
}

// shutdownIoctl is EXT4_IOC_SHUTDOWN of the kernel's include/uapi/linux/ext4.h.
const shutdownIoctl = 0x8004587d

// Flags of the shutdown.
const (
	FlushLog   = 1 // the journal is flushed before; changes in no transaction are lost
	NoFlushLog = 2 // nothing is flushed
)

// Cut stops the file system: unflushed data is lost, and every operation fails from now
// on.
func (e *Ext4) Cut(flags int) error {
	dir, err := os.Open(e.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	return os.NewSyscallError("EXT4_IOC_SHUTDOWN", unix.IoctlSetPointerInt(int(dir.Fd()), shutdownIoctl, flags))
}
