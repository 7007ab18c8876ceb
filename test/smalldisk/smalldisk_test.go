//go:build linux && faults

package smalldisk

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A disk that was filled takes no byte, and takes some once the file is removed.
func TestFaultFill(t *testing.T) {
	disk := Mount(t, "2m")
	other := filepath.Join(disk, "other")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	filler := Fill(t, disk)
	if err := os.WriteFile(other, []byte("x"), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("on a full disk: %v, want ENOSPC", err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, []byte("x"), 0o600); err != nil {
		t.Error(err)
	}
}
