package dirstore

import (
	"io/fs"
	"iter"
	"maps"
	"slices"
	"time"

	"memento"
)

// A row is what the index says of one file: what memento last put or saw there.
// Rows are never changed, only replaced.
type row struct {
	path    memento.Path
	memory  memento.MemoryID
	version memento.VersionID // of which the file has the contents; "" if there is none
	sha256  string            // of these contents
	print   fingerprint       // of the file
	checked int64             // when the contents were last known to be these, in nanoseconds since 1970
	status  fileStatus        // what keeps the file from being the memory, if something does
}

// A fingerprint tells a file from any other, and from itself with other contents,
// as far as it can without reading it. The zero fingerprint is of no file.
type fingerprint struct {
	kind    fs.FileMode // its type bits
	size    int64
	mtime   int64 // when its contents were last changed, in nanoseconds since 1970
	changed int64 // when its inode was
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

// How far apart two changes must be for a file's times to show both: on most file
// systems, and on those that keep whole seconds, or every other.
const (
	tick     = 20 * time.Millisecond
	longTick = 2*time.Second + tick
)

// racy reports whether the file could have been changed once more, after it was
// checked, without its fingerprint showing it.
func (r *row) racy() bool {
	within := tick
	if second := int64(time.Second); r.print.mtime%second == 0 && r.print.changed%second == 0 {
		within = longTick
	}
	return r.checked-r.print.changed < int64(within) // mtime is whatever someone wants it to be
}

// A strange says why a file is not a memory, or not the one at its path. The
// zero strange is of a file that is.
type fileStatus struct {
	kind   fileKind
	reason string // completes the sentence "is not a memory: …"
}

type fileKind int

const (
	managed    fileKind = iota
	unreadable          // its contents cannot be a memory's; it is listed, but not read
	blocked             // the same, until there is room for it in the store
	withheld            // its contents may not become the memory's: the database' are served, if there is one
	notRegular          // no plain file; if a memory should be there, the database' is served
	ioFault             // as unreadable, by a fault that may pass: it is read again when everything is looked at
)

// listed reports whether the file, which is not what the database has at its path,
// is shown in listings all the same.
func (r *row) listed() bool {
	switch r.status.kind {
	case unreadable, blocked, ioFault:
		return true
	case withheld:
		return r.memory == ""
	}
	return false
}

// A node is a name in the tree of rows. There is one only where there is a row,
// or below which there is one.
type node struct {
	segment string            // of the path; the name on disk is the key in its parent
	row     *row              // nil if only something below has one
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

// put adds or replaces a row, and returns the one it replaces, if any.
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

// remove removes a row and what is left empty by that, and returns it.
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

// all yields the rows at and below a node, in no order.
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

// alike returns the name in the folder n which the file system takes for the
// same as name, though it is another.
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
