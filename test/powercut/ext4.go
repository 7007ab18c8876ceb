//go:build linux

package powercut

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// An Ext4 is a file system on a loop device, which the kernel can stop like a power cut.
type Ext4 struct {
	loop *os.File
	dir  string
}

// ext4Options make ext4 flush as little as possible by itself.
const ext4Options = "noauto_da_alloc,commit=300"

// NewExt4 makes a file system in a file of a folder, and mounts it at dir. The
// kernel releases the loop device when no process has it open.
func NewExt4(folder, dir string) (*Ext4, error) {
	image := filepath.Join(folder, "image")
	f, err := os.OpenFile(image, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(64 << 20); err != nil {
		return nil, err
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", "-J", "size=4", "-E", "lazy_itable_init=0", image).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("mkfs.ext4: %w: %s", err, out)
	}
	e := &Ext4{dir: dir}
	if e.loop, err = attach(f); err != nil {
		return nil, fmt.Errorf("loop device: %w", err)
	}
	if err := e.Mount(); err != nil {
		return nil, errors.Join(err, e.loop.Close())
	}
	return e, nil
}

// attach creates a loop device on a file.
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
	if err := syscall.Mount(e.loop.Name(), e.dir, "ext4", 0, ext4Options); err != nil {
		return os.NewSyscallError("mount of "+e.loop.Name(), err)
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

// Close unmounts the file system, and releases its device.
func (e *Ext4) Close() error { return errors.Join(e.Unmount(), e.loop.Close()) }

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
