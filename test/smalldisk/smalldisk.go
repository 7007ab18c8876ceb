//go:build linux && faults

package smalldisk

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Mount mounts a disk of a size, such as "6m", until the test ends, and returns its
// directory.
func Mount(t testing.TB, size string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Fatalf("cannot mount a small disk, which takes root: %v", err)
	}
	UnmountAtEnd(t, dir)
	return dir
}

// UnmountAtEnd unmounts the disk at dir when the test ends.
func UnmountAtEnd(t testing.TB, dir string) {
	t.Helper()
	t.Cleanup(func() {
		flags := 0
		if t.Failed() { // then something may still be open there
			flags = syscall.MNT_DETACH
		}
		if err := syscall.Unmount(dir, flags); err != nil {
			t.Error(err)
		}
	})
}

// Fill leaves no byte of a disk free, and returns the file that takes the space. To be
// removed or truncated by the caller; further calls append to it.
func Fill(t testing.TB, dir string) (name string) {
	t.Helper()
	name = filepath.Join(dir, "filler")
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for step := 1 << 20; step > 0; {
		if n, err := f.Write(make([]byte, step)); err != nil && n == 0 {
			step /= 2
		}
	}
	return name
}
