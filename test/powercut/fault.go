//go:build linux

package powercut

import (
	"strings"
	"syscall"
)

// A Kind is a kind of operation that changes a file system.
type Kind string

// The kinds.
const (
	Write     Kind = "write" // and truncating or extending a file
	Create    Kind = "create"
	Mkdir     Kind = "mkdir"
	Unlink    Kind = "unlink"
	Rmdir     Kind = "rmdir"
	Rename    Kind = "rename"
	Link      Kind = "link"
	Sync      Kind = "fsync"
	SyncDir   Kind = "fsync of a folder"
	Attribute Kind = "chmod or utimens"
)

// A Fault has operations of one kind fail, without effect.
type Fault struct {
	Kind  Kind
	Below string        // only paths that contain this; all if ""
	Skip  int           // operations that succeed before
	Times int           // operations that fail
	Errno syscall.Errno // their error
	Hits  int           // operations that have failed
}

// Inject adds a fault, until the next restart.
func (v *Volume) Inject(f *Fault) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.faults = append(v.faults, f)
}

// Hits returns how many operations a fault has made fail.
func (v *Volume) Hits(f *Fault) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return f.Hits
}

// change is called before each operation that changes something. If it returns an error,
// the operation fails with it. The caller holds mu.
func (v *Volume) change(kind Kind, n *node, name string) syscall.Errno {
	if v.dead {
		return syscall.EIO
	}
	if v.until == 0 {
		v.die()
		return syscall.EIO
	}
	if v.until > 0 {
		v.until--
	}
	v.total[kind]++
	for _, f := range v.faults {
		if f.Kind != kind || !strings.Contains(n.path()+"/"+name, f.Below) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
		} else if f.Times > 0 {
			f.Times--
			f.Hits++
			return f.Errno
		}
	}
	return 0
}

func (v *Volume) die() {
	if !v.dead {
		v.dead = true
		close(v.cut)
	}
}

// Cut stops the file system: from now on every operation fails.
func (v *Volume) Cut() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.die()
}

// CutAfter cuts the power after a number of operations that change something. The
// channel is closed by the cut.
func (v *Volume) CutAfter(changes int) <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.until = changes
	return v.cut
}
