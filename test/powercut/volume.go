//go:build linux

package powercut

import (
	"slices"
	"sync"
	"syscall"
	"time"
)

// A Volume is a file system in memory that records what is durable: the contents of a file
// as of its last fsync, and the names in a folder as of the last fsync of the folder.
// Nothing else is durable, no rename and no creation, as POSIX allows.
//
// It is safe for concurrent use.
type Volume struct {
	mu     sync.Mutex
	root   *node
	nodes  map[uint64]*node // by ID, including those without a name
	nextID uint64
	inodes inodes
	dead   bool          // since the cut
	cut    chan struct{} // closed by the cut
	until  int           // changes until the cut; -1 for no end
	faults []*Fault
	total  map[Kind]int // operations so far, by kind
}

// A node is a file, a folder or a symbolic link.
type node struct {
	id, inode uint64
	parent    *node // of a file, the folder of its newest name
	name      string
	links     int // current names in folders
	kept      int // durable names
	opened    int

	meta, durableMeta meta

	data, durable []byte
	writes        []write // to data, not yet durable

	target string // of a symbolic link

	entries, durableEntries map[string]*node
	renames                 []change // of entries, not yet durable
}

// meta is the result of stat, except the size.
type meta struct {
	mode         uint32 // with the type
	mtime, ctime time.Time
}

// A write is an unflushed write: bytes at an offset, or a truncation to it if there are
// none.
type write struct {
	offset int
	bytes  []byte
}

// A change is the effect of one operation on a folder: names and their new nodes, nil for a
// removed name.
type change map[string]*node

func (n *node) isDir() bool { return n.meta.mode&syscall.S_IFMT == syscall.S_IFDIR }

func (n *node) path() string {
	if n.parent == nil || n.parent == n {
		return ""
	}
	return n.parent.path() + "/" + n.name
}

// NewVolume returns an empty file system.
func NewVolume() *Volume {
	v := &Volume{nodes: map[uint64]*node{}}
	v.root = v.newNode(syscall.S_IFDIR | 0o755)
	v.root.parent, v.root.links, v.root.kept = v.root, 1, 1
	v.root.durableMeta = v.root.meta
	v.start()
	return v
}

// start resets the state at start-up.
func (v *Volume) start() {
	v.dead, v.cut, v.until, v.faults, v.total = false, make(chan struct{}), -1, nil, map[Kind]int{}
}

func (v *Volume) newNode(mode uint32) *node {
	v.nextID++
	now := time.Now()
	n := &node{id: v.nextID, inode: v.inodes.take(), meta: meta{mode, now, now}}
	if n.isDir() {
		n.entries, n.durableEntries = map[string]*node{}, map[string]*node{}
	}
	v.nodes[n.id] = n
	return n
}

// inodes allocates numbers as ext4 does, the lowest free one first: a new file often has
// the number of one that was just removed.
type inodes struct {
	most uint64
	free []uint64
}

func (i *inodes) take() uint64 {
	if len(i.free) == 0 {
		i.most++
		return i.most
	}
	slices.Sort(i.free)
	n := i.free[0]
	i.free = i.free[1:]
	return n
}

// release frees the number of a node that has no name, now or after a cut.
func (v *Volume) release(n *node) {
	if n.links == 0 && n.kept == 0 && n.opened == 0 && n.inode != 0 {
		v.inodes.free = append(v.inodes.free, n.inode)
		n.inode = 0
	}
}

// set changes names in a folder.
func (v *Volume) set(dir *node, c change) {
	now := time.Now()
	dir.meta.mtime, dir.meta.ctime = now, now
	for name, n := range c {
		if old := dir.entries[name]; old != nil {
			old.links--
			defer v.release(old)
		}
		if n == nil {
			delete(dir.entries, name)
			continue
		}
		n.links++
		n.parent, n.name, n.meta.ctime = dir, name, now
		dir.entries[name] = n
	}
	dir.renames = append(dir.renames, c)
}

// keep makes a change of names durable.
func (v *Volume) keep(dir *node, c change) {
	for name, n := range c {
		if old := dir.durableEntries[name]; old != nil {
			old.kept--
			defer v.release(old)
		}
		if n == nil {
			delete(dir.durableEntries, name)
			continue
		}
		n.kept++
		dir.durableEntries[name] = n
	}
}

// apply returns data after a write.
func (w write) apply(data []byte) []byte {
	if w.bytes == nil {
		if w.offset <= len(data) {
			return data[:w.offset]
		}
		return append(data, make([]byte, w.offset-len(data))...)
	}
	if end := w.offset + len(w.bytes); end > len(data) {
		data = append(data, make([]byte, end-len(data))...)
	}
	copy(data[w.offset:], w.bytes)
	return data
}

func (n *node) write(w write) {
	n.data = w.apply(n.data)
	n.writes = append(n.writes, w)
	n.meta.mtime = time.Now()
	n.meta.ctime = n.meta.mtime
}

// flush makes the contents of a node durable.
func (v *Volume) flush(n *node) {
	n.durableMeta = n.meta
	for _, w := range n.writes {
		n.durable = w.apply(n.durable)
	}
	n.writes = nil
	for _, c := range n.renames {
		v.keep(n, c)
	}
	n.renames = nil
}

// lose drops the writes of a failed flush: the system marks them as written, so that the
// next flush does not try again. It does try the names of a folder again.
func (n *node) lose() { n.writes = nil }
