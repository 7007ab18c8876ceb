//go:build linux && faults

package sqlitestore_test

import (
	"syscall"
	"testing"

	"memento/test/smalldisk"
)

// A file on a read-only file system can be read, with what is only in its log.
func TestFaultReadOnlyFileSystem(t *testing.T) {
	for name, left := range map[string]bool{"closed": false, "after a crash": true} {
		t.Run(name, func(t *testing.T) {
			dir := smalldisk.Mount(t, "8m")
			path, store := makeReadable(t, dir, left)
			if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
				t.Fatal(err)
			}
			checkReadable(t, path, store)
		})
	}
}
