//go:build linux

package powercut

import (
	"testing"

	"memento/test/longtest"
)

// engines are the backends to test.
var engines = []string{"sqlite", "dir"}

// Each test cuts the power of one kind of disk under each engine.
func cutPower(t *testing.T, cuts map[string]int, newDisk func(*testing.T) disk) {
	t.Helper()
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			c := &campaign{T: t, engine: engine}
			c.run(cuts[engine], newDisk)
		})
	}
}

// volume returns a disk in memory. It fails the test if none can be mounted.
func volume(mode Mode) func(*testing.T) disk {
	return func(t *testing.T) disk {
		t.Helper()
		d, err := newVolumeDisk(t, mode)
		if err != nil {
			t.Fatalf("power cuts cannot be simulated here: they need /dev/fuse and the right to mount: %v", err)
		}
		return d
	}
}

// Only flushed data survives.
func TestStrict(t *testing.T) {
	cutPower(t, map[string]int{"dir": longtest.Scaled(8, 200), "sqlite": longtest.Scaled(8, 100)}, volume(Strict))
}

// Some unflushed data survives as well.
func TestPartial(t *testing.T) {
	cutPower(t, map[string]int{"dir": longtest.Scaled(6, 200), "sqlite": longtest.Scaled(6, 100)}, volume(Partial))
}

// A real file system recovers from its journal. Where there is no loop device, such as in
// a container, the one in memory replaces it, which loses more.
func TestExt4(t *testing.T) {
	cutPower(t, map[string]int{"dir": longtest.Scaled(5, 150), "sqlite": longtest.Scaled(5, 75)}, func(t *testing.T) disk {
		t.Helper()
		d, err := newExt4Disk(t)
		if err != nil {
			t.Logf("in memory, because ext4 is not available: %v", err)
			return volume(Partial)(t)
		}
		return d
	})
}
