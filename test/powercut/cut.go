//go:build linux

package powercut

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// A Mode is which unflushed changes survive a cut.
type Mode int

// The modes.
const (
	Strict  Mode = iota // none
	Partial             // at random: of each file some of the first writes, of each folder some changes
)

// Restart cuts the power, unless that has happened already, and restores it. No process
// may use the file system meanwhile.
func (v *Volume) Restart(mode Mode, r *rand.Rand) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if mode == Partial {
		v.keepSome(r)
	}
	found := map[*node]bool{}
	v.recover(v.root, found)
	v.nodes = map[uint64]*node{}
	v.inodes = inodes{}
	used := map[uint64]bool{}
	for n := range found {
		n.links, n.opened = n.kept, 0
		v.nodes[n.id] = n
		used[n.inode] = true
		v.inodes.most = max(v.inodes.most, n.inode)
	}
	for i := uint64(1); i < v.inodes.most; i++ {
		if !used[i] {
			v.inodes.free = append(v.inodes.free, i)
		}
	}
	v.start()
}

// keepSome makes some unflushed changes durable.
func (v *Volume) keepSome(r *rand.Rand) {
	share := []float64{0.2, 0.5, 0.9, 1}[r.IntN(4)]
	for _, id := range slices.Sorted(maps.Keys(v.nodes)) {
		n := v.nodes[id]
		if len(n.writes) > 0 && r.Float64() < share {
			whole := r.IntN(len(n.writes) + 1)
			for _, w := range n.writes[:whole] {
				n.durable = w.apply(n.durable)
			}
			if whole < len(n.writes) { // and some sectors of the next
				if w := n.writes[whole]; len(w.bytes) > sector {
					w.bytes = w.bytes[:sector*r.IntN(len(w.bytes)/sector)]
					if len(w.bytes) > 0 {
						n.durable = w.apply(n.durable)
					}
				}
			}
			n.durableMeta = n.meta
		}
		for _, c := range n.renames {
			if r.Float64() < share {
				v.keep(n, c)
			}
		}
	}
}

const sector = 512 // bytes; a disk writes a sector wholly or not at all

// recover reduces the contents of a folder to those that are durable.
func (v *Volume) recover(dir *node, found map[*node]bool) {
	found[dir] = true
	dir.meta, dir.renames = dir.durableMeta, nil
	if dir.meta.mode == 0 {
		dir.meta = meta{syscall.S_IFDIR | 0o700, time.Now(), time.Now()}
	}
	dir.entries = map[string]*node{}
	dir.kept = 1
	for _, name := range slices.Sorted(maps.Keys(dir.durableEntries)) {
		n := dir.durableEntries[name]
		if n.isDir() && found[n] {
			delete(dir.durableEntries, name) // a folder has one name: the check at start-up sees to it
			continue
		}
		dir.entries[name] = n
		n.parent, n.name = dir, name
		if n.isDir() {
			v.recover(n, found)
			continue
		}
		if !found[n] {
			n.kept = 0
			kind := n.meta.mode & syscall.S_IFMT
			if n.meta = n.durableMeta; n.meta.mode == 0 {
				n.meta = meta{kind | 0o600, time.Now(), time.Now()}
			}
			n.data, n.writes = slices.Clone(n.durable), nil
		}
		found[n] = true
		n.kept++
	}
}

// Export copies all contents to a folder, for debugging.
func (v *Volume) Export(to string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.root.export(to)
}

func (n *node) export(to string) error {
	if !n.isDir() {
		return os.WriteFile(to, n.data, 0o600)
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for name, inner := range n.entries {
		if err := inner.export(filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

// Clone returns a file system with the durable contents of this one, which must not be in
// use.
func (v *Volume) Clone() *Volume {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := &Volume{nodes: map[uint64]*node{}, nextID: v.nextID}
	copies := map[*node]*node{}
	c.root = v.root.clone(copies)
	c.root.parent = c.root
	c.Restart(Strict, nil)
	return c
}

func (n *node) clone(copies map[*node]*node) *node {
	if c := copies[n]; c != nil {
		return c
	}
	c := &node{id: n.id, inode: n.inode, kept: n.kept, meta: n.meta, durableMeta: n.durableMeta, durable: slices.Clone(n.durable), target: n.target}
	copies[n] = c
	if n.isDir() {
		c.durableEntries = map[string]*node{}
		for name, inner := range n.durableEntries {
			c.durableEntries[name] = inner.clone(copies)
		}
	}
	return c
}
