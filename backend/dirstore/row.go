package dirstore

import (
	"io/fs"
	"iter"
	"maps"
	"slices"
	"time"

	"memento"
)

// A row is the index's entry for one file: what memento last wrote or saw there. Rows are
// immutable; they are replaced.
type row struct {
	path    memento.Path
	memory  memento.MemoryID
	version memento.VersionID // whose contents the file has; "" if none
	sha256  string            // of the contents
	print   fingerprint       // of the file
	checked int64             // when the contents were last known to be these, in nanoseconds since 1970
	status  fileStatus        // says why the file is not the memory, if so
}

// A fingerprint identifies a file and its state, as far as possible without reading it.
// The zero fingerprint belongs to no file.
type fingerprint struct {
	kind    fs.FileMode // type bits of its mode
	size    int64
	mtime   int64 // last change of its contents, in nanoseconds since 1970
	changed int64 // last change of its inode, in nanoseconds since 1970
	inode   uint64
}

func printOf(info fs.FileInfo) fingerprint {
	inode, changed, _ := inodeOf(info)
	return fingerprint{
		kind:    info.Mode().Type(),
		size:    info.Size(),
		mtime:   info.ModTime().UnixNano(),
		changed: changed,
		inode:   inode,
	}
}

// The minimum time between two changes for a file's times to show both: tick on most file
// systems, longTick on those with a resolution of one or two seconds.
const (
	tick     = 20 * time.Millisecond
	longTick = 2*time.Second + tick
)

// racy reports whether the file could have been changed again after it was checked,
// without a change of its fingerprint.
func (r *row) racy() bool {
	within := tick
	if second := int64(time.Second); r.print.mtime%second == 0 && r.print.changed%second == 0 {
		within = longTick
	}
	return r.checked-r.print.changed < int64(within) // programs can set mtime to any value
}

// A fileStatus says whether a file is managed, and if not, why. The zero value means that
// the file is the memory at its path.
type fileStatus struct {
	kind   fileKind
	reason string // completes the sentence "is not a memory: …"
}

type fileKind int

const (
	managed    fileKind = iota
	unreadable          // its contents cannot be a memory's; it is listed, but cannot be read
	blocked             // like unreadable, until a limit or another memory is no longer in the way
	withheld            // the store refuses changes of the memory; the database's contents are served, if there are any
	notRegular          // not a regular file; if there is a memory at the path, the database's contents are served
	ioFault             // like unreadable, because of an I/O error that may pass: it is read again when all files are compared
)

// listed reports whether an unmanaged file is listed in place of the memory at its path.
func (r *row) listed() bool {
	switch r.status.kind {
	case unreadable, blocked, ioFault:
		return true
	case withheld:
		return r.memory == ""
	}
	return false
}

// A node is a name in the tree of rows. There is a node only where there is a row at or
// below it.
type node struct {
	segment string            // of the path; the name on disk is the key in the parent
	row     *row              // nil if there are rows only below
	inner   map[string]*node  // by name on disk
	keys    map[string]string // from traits.key to the name on disk; nil until needed
}

// find returns the node of a path, or nil.
func (n *node) find(t traits, p memento.Path) *node {
	if p.IsRoot() {
		return n
	}
	for segment := range p.Segments() {
		if n = n.inner[t.diskName(segment)]; n == nil {
			return nil
		}
	}
	return n
}

// put adds or replaces a row, and returns the replaced one, if any.
func (n *node) put(t traits, r *row) (before *row) {
	for segment := range r.path.Segments() {
		name := t.diskName(segment)
		next := n.inner[name]
		if next == nil {
			next = &node{segment: segment}
			if n.inner == nil {
				n.inner = map[string]*node{}
			}
			n.inner[name] = next
			if n.keys != nil {
				n.keys[t.key(name)] = name
			}
		}
		n = next
	}
	before, n.row = n.row, r
	return before
}

// remove removes a row, and the nodes left empty by that, and returns the row.
func (n *node) remove(t traits, p memento.Path) (gone *row) {
	segments := slices.Collect(p.Segments())
	way := []*node{n}
	for _, segment := range segments {
		if n = n.inner[t.diskName(segment)]; n == nil {
			return nil
		}
		way = append(way, n)
	}
	gone, n.row = n.row, nil
	for i := len(segments); i > 0 && way[i].row == nil && len(way[i].inner) == 0; i-- {
		name := t.diskName(segments[i-1])
		delete(way[i-1].inner, name)
		if way[i-1].keys != nil {
			delete(way[i-1].keys, t.key(name))
		}
	}
	return gone
}

// all yields the rows at and below a node, in no particular order.
func (n *node) all() iter.Seq[*row] {
	return func(yield func(*row) bool) { n.each(yield) }
}

func (n *node) each(yield func(*row) bool) bool {
	if n.row != nil && !yield(n.row) {
		return false
	}
	for _, inner := range n.inner {
		if !inner.each(yield) {
			return false
		}
	}
	return true
}

// alike returns another name in the folder n that the file system does not tell apart
// from name.
func (n *node) alike(t traits, name string) (other string, ok bool) {
	if _, exact := n.inner[name]; exact || len(n.inner) == 0 {
		return "", false
	}
	if n.keys == nil {
		n.keys = make(map[string]string, len(n.inner))
		for name := range maps.Keys(n.inner) {
			n.keys[t.key(name)] = name
		}
	}
	other, ok = n.keys[t.key(name)]
	return other, ok
}
