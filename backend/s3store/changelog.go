package s3store

import (
	"cmp"
	"slices"
	"sync/atomic"

	"memento"
	"memento/backend/textindex"
)

// A changeLog has the changes of a store's memories in main memory, for the store's search
// index: the memories that the index did not have when it began, as if they were just created,
// and every version since. It goes on when the state is loaded again. It is guarded by the
// store's lock.
type changeLog struct {
	from    int64                     // entries has all changes after this version
	st      *state                    // the state that writes to it, or has until it was dropped
	dropped int                       // changes that the index has, and that are not in entries
	entries []changeEntry             // in order of their seqs; entries that are there never change
	deleted map[memento.MemoryID]bool // memories that were deleted since the log began

	forScans bool // there is no index: it ends with the last search that reads all contents

	covered atomic.Int64 // the newest version that the index has; it needs no lock
}

type changeEntry struct {
	textindex.Change
	before *indexEntry // the memory until then; nil if there was none
}

// maxLogged is the largest number of changes in a log, and of deleted memories. If it is
// reached, the next search makes the index anew.
const maxLogged = 1 << 19

// newChangeLog begins a log of a state from now on; see fill.
func newChangeLog(st *state) *changeLog {
	l := &changeLog{from: st.seq, st: st, deleted: map[memento.MemoryID]bool{}}
	st.log = l
	return l
}

// fill adds to the beginning of a log what it lacks for an index that has the memories up to a
// version: the others of those that the state had when the log began. The earlier versions of
// these are dead in the index.
func (l *changeLog) fill(memories []*indexEntry, from int64) {
	var entries []changeEntry
	for _, h := range memories {
		if h.seq > from {
			entries = append(entries, changeEntry{Change: textindex.Change{Memory: h.memory.ID, Seq: h.seq, First: true, Size: h.memory.Size}})
		}
	}
	l.entries = append(entries, l.entries...)
	l.sort(0)
	l.from = from
	l.covered.Store(from)
}

// follow makes a state that was loaded again write to the log, and adds how it differs from
// the one before. It reports whether it can.
func (l *changeLog) follow(st *state) bool {
	old := l.st
	if old == st || st.log != nil || st.seq < old.seq {
		return false
	}
	from := len(l.entries)
	taken := map[int64]bool{}
	for id, h := range st.byID {
		before := old.byID[id]
		if before != nil && before.memory.Version == h.memory.Version {
			continue
		}
		seq := h.seq
		taken[seq] = true
		l.entries = append(l.entries, changeEntry{textindex.Change{Memory: id, Seq: seq, First: before == nil && !l.deleted[id], Size: h.memory.Size}, before})
	}
	// The versions that deleted memories had other seqs than those of the memories that exist.
	seq := old.seq
	for id, before := range old.byID {
		if st.byID[id] != nil {
			continue
		}
		for seq++; taken[seq]; seq++ {
		}
		if seq > st.seq {
			return false // it is another store
		}
		l.deleted[id] = true
		l.entries = append(l.entries, changeEntry{textindex.Change{Memory: id, Seq: seq}, before})
	}
	for _, e := range l.entries[from:] {
		if e.Seq <= old.seq {
			return false
		}
	}
	l.sort(from)
	l.st, st.log = st, l
	return true
}

func (l *changeLog) sort(from int) {
	slices.SortFunc(l.entries[from:], func(a, b changeEntry) int { return cmp.Compare(a.Seq, b.Seq) })
}

// note adds a version of a memory that was before until then.
func (l *changeLog) note(v *version, before, after *indexEntry) {
	l.drop(l.covered.Load())
	if len(l.entries) >= maxLogged || len(l.deleted) >= maxLogged {
		l.st.log = nil
		return
	}
	first := before == nil && !l.deleted[v.Memory]
	if after == nil {
		l.deleted[v.Memory] = true
	}
	l.entries = append(l.entries, changeEntry{textindex.Change{Memory: v.Memory, Seq: v.Seq, First: first, Size: v.Size}, before})
}

// drop drops changes up to a version, if they are many.
func (l *changeLog) drop(upto int64) {
	if n := after(l.entries, upto); n > len(l.entries)/2 {
		l.dropped, l.from = l.dropped+n, max(l.from, upto)
		l.entries = slices.Clone(l.entries[n:]) // snapshots have the others still
	}
}

// after returns the index of the first change after a version.
func after(all []changeEntry, seq int64) int {
	n, _ := slices.BinarySearchFunc(all, seq+1, func(e changeEntry, seq int64) int { return cmp.Compare(e.Seq, seq) })
	return n
}

// size returns about how many bytes the log takes in memory.
func (l *changeLog) size() int64 {
	if l == nil {
		return 0
	}
	return 100 * int64(len(l.entries))
}

// end counts the changes that were ever in the log.
func (l *changeLog) end() int { return l.dropped + len(l.entries) }

// since returns what memories were, at a time when the log had end changes, that have
// changed since; nil if they did not exist. It reports whether it is known.
func (l *changeLog) since(end int) (before map[memento.MemoryID]*indexEntry, known bool) {
	if end < l.dropped {
		return nil, false
	}
	later := l.entries[end-l.dropped:]
	before = make(map[memento.MemoryID]*indexEntry, len(later))
	for _, e := range later {
		if _, again := before[e.Memory]; !again {
			before[e.Memory] = e.before
		}
	}
	return before, true
}
