// Package rollup makes the entries of a listing from memories that come ordered by path.
// It is shared by backends.
package rollup

import (
	"strings"

	"memento"
)

// Rows takes the memories of a listing one by one, and yields its entries.
type Rows struct {
	// Count is the number of memories taken.
	Count int

	opts    memento.ListOptions
	yield   func(memento.Entry) bool
	open    memento.Entry // the directory being summed up, if Dir is set
	prefix  string        // of its memories
	yielded int
	stopped bool
}

// New returns Rows that pass entries to yield, which reports whether it wants more. Of
// opts it uses Depth and Limit, and leaves out a directory that After names or is in.
func New(opts memento.ListOptions, yield func(memento.Entry) bool) *Rows {
	return &Rows{opts: opts, yield: yield}
}

// Row takes the next memory, and reports whether it wants more. After false, only End may
// be called.
func (r *Rows) Row(m *memento.Memory) bool {
	r.Count++
	if !r.open.Dir || !strings.HasPrefix(string(m.Path), r.prefix) {
		if !r.End() {
			return false
		}
		dir, deeper := r.opts.RollUp(m.Path)
		if !deeper {
			return r.emit(EntryOf(m))
		}
		r.open, r.prefix = memento.Entry{Path: dir, Dir: true}, dir.Prefix()
	}
	r.open.Usage.Memories++
	r.open.Usage.Bytes += m.Size
	if m.UpdatedAt.After(r.open.UpdatedAt) {
		r.open.UpdatedAt = m.UpdatedAt
	}
	return true
}

// Sum takes all memories of the directory that the last row was rolled up to: e is its
// entry. It reports whether more are wanted; none of this directory may follow.
func (r *Rows) Sum(e memento.Entry) bool {
	r.Count += int(e.Usage.Memories - r.open.Usage.Memories)
	r.open = e
	return r.End()
}

// End yields the directory being summed up, if there is one, and reports whether more are
// wanted. It must be called after the last memory.
func (r *Rows) End() bool {
	e := r.open
	if !e.Dir || r.stopped {
		return !r.stopped
	}
	r.open = memento.Entry{}
	if e.Cursor() <= r.opts.After {
		return true
	}
	return r.emit(e)
}

// Stopped reports whether no more entries are wanted: the limit is reached, or yield
// returned false.
func (r *Rows) Stopped() bool { return r.stopped }

func (r *Rows) emit(e memento.Entry) bool {
	r.yielded++
	r.stopped = !r.yield(e) || r.yielded == r.opts.Limit
	return !r.stopped
}

// EntryOf returns the entry of a memory that is not rolled up.
func EntryOf(m *memento.Memory) memento.Entry {
	return memento.Entry{Path: m.Path, Memory: *m, Usage: memento.Usage{Memories: 1, Bytes: m.Size}, UpdatedAt: m.UpdatedAt}
}
