package pgstore

import (
	"iter"

	"memento"
)

func entryOf(m memento.Memory) memento.Entry {
	return memento.Entry{Path: m.Path, Memory: m, Usage: memento.Usage{Memories: 1, Bytes: m.Size}, UpdatedAt: m.UpdatedAt}
}

// A rollUp makes entries of memories, which come in order of path.
type rollUp struct {
	opts  memento.ListOptions
	yield func(memento.Entry) bool

	open    memento.Entry // the directory being summed up, if Dir is set
	yielded int
	stopped bool
}

// all takes memories until it wants no more, and counts them. The caller calls end
// if there was no error.
func (r *rollUp) all(memories iter.Seq2[memento.Memory, error], rows *int) error {
	for m, err := range memories {
		if err != nil {
			return err
		}
		*rows++
		if !r.row(m) {
			return nil
		}
	}
	return nil
}

// row takes the next memory and reports whether it wants more.
func (r *rollUp) row(m memento.Memory) bool {
	dir, deeper := r.opts.RollUp(m.Path)
	if !deeper {
		return r.end() && r.emit(entryOf(m))
	}
	if r.open.Path != dir {
		if !r.end() {
			return false
		}
		r.open = memento.Entry{Path: dir, Dir: true}
	}
	r.open.Usage.Memories++
	r.open.Usage.Bytes += m.Size
	if m.UpdatedAt.After(r.open.UpdatedAt) {
		r.open.UpdatedAt = m.UpdatedAt
	}
	return true
}

// end yields the directory being summed up, if there is one, and reports whether
// more is wanted.
func (r *rollUp) end() bool {
	if e := r.open; e.Dir && !r.stopped {
		r.open = memento.Entry{}
		return r.emit(e)
	}
	return !r.stopped
}

func (r *rollUp) emit(e memento.Entry) bool {
	r.yielded++
	r.stopped = !r.yield(e) || r.yielded == r.opts.Limit
	return !r.stopped
}
