package memstore

import (
	"slices"
	"strings"
	"time"

	"memento"
	"memento/backend"
	"memento/backend/textindex"
)

// A store is one store with all its data. It is the [backend.Snapshot] of an Apply on it.
type store struct {
	info   memento.StoreInfo
	latest time.Time // time of the newest version, see backend.LastTime

	byPath map[memento.Path]*memento.Memory // with contents
	byID   map[memento.MemoryID]*memento.Memory
	paths  []memento.Path // the keys of byPath, sorted

	seq      int64                       // Seq of the newest version, even if it was pruned
	versions []memento.Version           // with contents, in order of Seq, with gaps where versions were pruned
	byVID    map[memento.VersionID]int64 // their Seqs

	index     *textindex.Recent         // nil until the first search
	unindexed map[memento.MemoryID]bool // changed since the last search; see updateIndex
}

func newStore(info memento.StoreInfo) *store {
	return &store{
		info:   info,
		latest: info.CreatedAt,
		byPath: map[memento.Path]*memento.Memory{},
		byID:   map[memento.MemoryID]*memento.Memory{},
		byVID:  map[memento.VersionID]int64{},
	}
}

// Head returns the memory at p without contents.
func (s *store) Head(p memento.Path) (memento.Memory, bool, error) {
	return bare(s.byPath[p])
}

// HeadByID returns the memory with the given ID without contents.
func (s *store) HeadByID(id memento.MemoryID) (memento.Memory, bool, error) {
	return bare(s.byID[id])
}

// Below returns the memories below p without contents.
func (s *store) Below(p memento.Path, limit int) ([]memento.Memory, error) {
	paths := s.below(p)
	if limit > 0 {
		paths = paths[:min(limit, len(paths))]
	}
	memories := make([]memento.Memory, len(paths))
	for i, path := range paths {
		memories[i], _, _ = bare(s.byPath[path])
	}
	return memories, nil
}

func bare(m *memento.Memory) (memento.Memory, bool, error) {
	if m == nil {
		return memento.Memory{}, false, nil
	}
	without := *m
	without.Content = ""
	return without, true, nil
}

// below returns the paths below the directory p. They are adjacent in s.paths, because
// paths with the same prefix are adjacent in byte order.
func (s *store) below(p memento.Path) []memento.Path {
	prefix := p.Prefix()
	from, _ := slices.BinarySearch(s.paths, memento.Path(prefix))
	n, _ := slices.BinarySearchFunc(s.paths[from:], prefix, func(q memento.Path, prefix string) int {
		if strings.HasPrefix(string(q), prefix) {
			return -1
		}
		return 1
	})
	return s.paths[from : from+n]
}

// A transaction is a series of changes to a store that can be reverted.
type transaction struct {
	store    *store
	latest   time.Time
	seq      int64
	versions int // number of versions at the beginning
	swaps    []swap
}

// A swap replaces the memories out by the memories in. Both have contents.
type swap struct{ out, in []memento.Memory }

func (s *store) begin() *transaction {
	return &transaction{store: s, latest: s.latest, seq: s.seq, versions: len(s.versions)}
}

// carryOut makes the effects of a planned change.
func (t *transaction) carryOut(effects []backend.Effect) {
	if len(effects) == 0 {
		return
	}
	var w swap
	for _, e := range effects {
		after, content := e.After, e.After.Content
		if e.Before.ID != "" {
			before := *t.store.byID[e.Before.ID]
			w.out = append(w.out, before)
			if !e.Rewrite {
				content = before.Content
			}
			after.ReadAt = before.ReadAt
		}
		if after.ID != "" {
			after.Content = content
			w.in = append(w.in, after)
		}
		t.store.append(e.Version, content)
	}
	t.store.swap(w)
	t.swaps = append(t.swaps, w)
}

// undo reverts the changes.
func (t *transaction) undo() {
	s := t.store
	for _, w := range slices.Backward(t.swaps) {
		s.swap(swap{out: w.in, in: w.out})
	}
	for _, v := range s.versions[t.versions:] {
		delete(s.byVID, v.ID)
	}
	clear(s.versions[t.versions:])
	s.versions = s.versions[:t.versions]
	s.latest, s.seq = t.latest, t.seq
}

// append adds a version. content is its memory's content.
func (s *store) append(v memento.Version, content string) {
	if v.Operation != memento.Deleted && !v.Redacted() {
		v.Content = content
	}
	s.byVID[v.ID], s.seq = v.Seq, v.Seq
	s.versions = append(s.versions, v)
	s.latest = backend.LastTime(s.latest, &v)
}

func (s *store) swap(w swap) {
	for _, m := range w.out {
		delete(s.byPath, m.Path)
		delete(s.byID, m.ID)
		s.changed(m.ID)
	}
	for _, m := range w.in {
		s.changed(m.ID)
		s.byPath[m.Path] = &m
		s.byID[m.ID] = &m
	}
	if len(w.out) <= 1 && len(w.in) <= 1 {
		for _, m := range w.out {
			if i, ok := slices.BinarySearch(s.paths, m.Path); ok && s.byPath[m.Path] == nil {
				s.paths = slices.Delete(s.paths, i, i+1)
			}
		}
		for _, m := range w.in {
			if i, ok := slices.BinarySearch(s.paths, m.Path); !ok {
				s.paths = slices.Insert(s.paths, i, m.Path)
			}
		}
		return
	}
	// One by one, a large directory would take quadratic time.
	s.paths = s.paths[:0]
	for p := range s.byPath {
		s.paths = append(s.paths, p)
	}
	slices.Sort(s.paths)
}
