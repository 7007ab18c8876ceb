//go:build linux

package powercut

import (
	"math/rand/v2"
	"testing"

	"memento/internal/longtest"
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
	d := &volumeDisk{Volume: NewVolume(), dir: mountPoint(t), mode: mode}
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

func (d *volumeDisk) Arm(r *rand.Rand, early bool) <-chan struct{} {
	changes := r.IntN(60)
	if !early {
		changes = r.IntN(1 << (4 + r.IntN(8)))
	}
	return d.CutAfter(changes)
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

// onVolume runs a campaign for each engine on a strict file system.
func onVolume(t *testing.T, mode Mode, cuts map[string]int) {
	for engine, n := range cuts {
		t.Run(engine, func(t *testing.T) {
			c := &campaign{T: t, engine: engine}
			c.run(n, func(t *testing.T) disk {
				d, err := newVolumeDisk(t, mode)
				if err != nil {
					t.Fatal(err)
				}
				return d
			})
		})
	}
}

// Nothing but what was flushed is left.
func TestStrict(t *testing.T) {
	onVolume(t, Strict, map[string]int{"dir": longtest.Scaled(8, 250), "sqlite": longtest.Scaled(8, 125)})
}

// Some of what was not flushed is left as well.
func TestPartial(t *testing.T) {
	onVolume(t, Partial, map[string]int{"dir": longtest.Scaled(8, 250), "sqlite": longtest.Scaled(8, 125)})
}
