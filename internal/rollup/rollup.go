// Package rollup makes the entries of a listing out of memories that come in order of
// path: shared by backends that read them so.
package rollup

import (
	"strings"

	"memento"
)

// Rows takes the memories of a listing one by one, and passes on its entries.
type Rows struct {
	// Count is how many memories it was given.
	Count int

	opts    memento.ListOptions
	yield   func(memento.Entry) bool
	open    memento.Entry // the directory being summed up, if Dir is set
	prefix  string        // of what lies in it
	yielded int
	stopped bool
}

// New returns Rows that pass entries to yield, which reports whether it wants more. Of
// opts, Depth and Limit count, and a directory that After names, or that it is in, is
// left out.
func New(opts memento.ListOptions, yield func(memento.Entry) bool) *Rows {
	return &Rows{opts: opts, yield: yield}
}

// Row takes the next memory, and reports whether it wants more. After false only End
// may be called.
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

// End passes on the directory being summed up, if there is one, and reports whether
// more is wanted. It is to be called when there are no more memories.
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

// Stopped reports whether no more is wanted: there is a limit's worth of entries, or
// whoever gets them has had enough.
func (r *Rows) Stopped() bool { return r.stopped }

func (r *Rows) emit(e memento.Entry) bool {
	r.yielded++
	r.stopped = !r.yield(e) || r.yielded == r.opts.Limit
	return !r.stopped
}

// EntryOf is the entry of a memory that is not rolled up.
func EntryOf(m *memento.Memory) memento.Entry {
	return memento.Entry{Path: m.Path, Memory: *m, Usage: memento.Usage{Memories: 1, Bytes: m.Size}, UpdatedAt: m.UpdatedAt}
}
