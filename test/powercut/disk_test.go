//go:build linux

package powercut

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A volumeDisk is a mounted Volume.
type volumeDisk struct {
	*Volume
	dir     string
	mode    Mode
	unmount func() error
}

func newVolumeDisk(t *testing.T, mode Mode) (*volumeDisk, error) {
	t.Helper()
	return mountVolume(t, NewVolume(), mode)
}

func mountVolume(t *testing.T, v *Volume, mode Mode) (*volumeDisk, error) {
	t.Helper()
	d := &volumeDisk{Volume: v, dir: mountPoint(t), mode: mode}
	var err error
	if d.unmount, err = d.Mount(d.dir); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := d.unmount(); err != nil {
			t.Error(err)
		}
	})
	return d, nil
}

func (d *volumeDisk) Dir() string { return d.dir }

func (d *volumeDisk) Arm(r *rand.Rand, early bool) cut {
	changes := r.IntN(100)
	if !early {
		changes = 40 + r.IntN(1<<(6+r.IntN(7)))
	}
	done := d.CutAfter(changes)
	return cut{begins: done, done: done}
}

func (d *volumeDisk) Restart(r *rand.Rand) (err error) {
	if err := d.unmount(); err != nil {
		return err
	}
	d.Volume.Restart(d.mode, r)
	d.unmount, err = d.Mount(d.dir)
	return err
}

func (d *volumeDisk) Keep(dir string) error { return d.Export(dir) }

// An ext4Disk is a mounted Ext4.
type ext4Disk struct {
	*Ext4
	*testing.T
}

func newExt4Disk(t *testing.T) (*ext4Disk, error) {
	t.Helper()
	e, err := NewExt4(t.TempDir(), mountPoint(t))
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := e.Unmount(); err != nil {
			t.Error(err)
		}
	})
	return &ext4Disk{e, t}, nil
}

func (d *ext4Disk) Dir() string { return d.dir }

func (d *ext4Disk) Arm(r *rand.Rand, early bool) cut {
	wait := time.Duration(20+r.IntN(130)) * time.Millisecond
	if early {
		wait = time.Duration(r.IntN(60)) * time.Millisecond
	}
	flags := NoFlushLog
	if r.IntN(4) == 0 {
		flags = FlushLog
	}
	begins, done := make(chan struct{}), make(chan struct{})
	var at int64 // while it stops, ext4 confirms some flushes that it no longer does
	time.AfterFunc(wait, func() {
		at = ktime()
		close(begins)
		if err := d.Cut(flags); err != nil {
			d.Error(err)
		}
		close(done)
	})
	return cut{begins, done, &at}
}

func (d *ext4Disk) Restart(*rand.Rand) error {
	if err := d.Unmount(); err != nil {
		return err
	}
	return d.Mount()
}

func (d *ext4Disk) Keep(dir string) error { return os.CopyFS(dir, os.DirFS(d.dir)) }

// ktime returns the time of a clock that is the same in all processes, in nanoseconds.
func ktime() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}

// mountPoint returns a new folder to mount at.
func mountPoint(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}
