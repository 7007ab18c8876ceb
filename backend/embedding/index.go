package embedding

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"
	"sync"
	"time"

	"memento"
	"memento/backend"
	"memento/backend/textindex"
)

// An index has the vectors of one store, in main memory.
type index struct {
	working sync.Mutex // held while it catches up

	mu       sync.RWMutex
	loaded   bool
	seq      int64 // the newest version that was looked at
	memories map[memento.MemoryID]*entry
	vectors  map[textKey]*shared
	lacking  map[memento.MemoryID]bool // memories with sections to embed
	bytes    int64                     // of vectors
	tooLarge int64                     // how many memories the store had when its vectors did not fit; 0 if they do
	told     bool                      // whether the log has that texts of the store were refused
	keeps    bool                      // whether the backend keeps the vectors
	pause    time.Time                 // until when another process embeds the store

	searched time.Time // the Searcher's mutex guards it
}

func newIndex(keeps bool) *index {
	return &index{memories: map[memento.MemoryID]*entry{}, vectors: map[textKey]*shared{}, lacking: map[memento.MemoryID]bool{}, keeps: keeps}
}

// An entry is a memory. Its sections are nil until its contents were read.
type entry struct {
	path     memento.Path
	version  memento.VersionID // that the sections are of
	sections []section
	cut      bool // whether sections are those of the version
	unread   bool // the contents could not be read; see retry
	kept     bool // whether the backend has what the sections have, or cannot keep it
}

type section struct {
	textindex.Section // without its headings
	key               textKey
	vector            *shared // nil if it is lacking
	refused           bool    // the Embedder does not accept the text
}

// A textKey is the SHA-256 of a text that was embedded. Equal texts have one vector.
type textKey [sha256.Size]byte

type shared struct {
	vector
	uses int
}

// A neighbour is a memory with the section that is nearest to a query.
type neighbour struct {
	id      memento.MemoryID
	path    memento.Path
	version memento.VersionID
	section textindex.Section
	cosine  float32
}

// nearest returns the memories below the directories that are nearest to a query, nearest
// first, at most n.
func (x *index) nearest(query vector, dirs []memento.Path, n int) []neighbour {
	x.mu.RLock()
	defer x.mu.RUnlock()
	order := func(a, b neighbour) int {
		return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(a.path, b.path))
	}
	var best []neighbour
	for id, e := range x.memories {
		if slices.ContainsFunc(dirs, func(dir memento.Path) bool { return dir != "" && !strings.HasPrefix(string(e.path), dir.Prefix()) }) {
			continue
		}
		found := neighbour{id: id, path: e.path, version: e.version}
		for i := range e.sections {
			s := &e.sections[i]
			if s.vector == nil || len(s.vector.vector) != len(query) {
				continue
			}
			if c := cosine(query, s.vector.vector); c > found.cosine {
				found.cosine, found.section = c, s.Section
			}
		}
		if found.cosine <= 0 || len(best) == n && order(found, best[n-1]) > 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, found, order)
		best = slices.Insert(best[:min(len(best), n-1)], min(at, n-1), found)
	}
	return best
}

// dimension returns the length of the vectors; 0 if there are none.
func (x *index) dimension() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, v := range x.vectors {
		return len(v.vector)
	}
	return 0
}

// set replaces the sections of a memory; nil removes it. Vectors that no section has any
// more are gone. The caller holds mu.
func (x *index) set(id memento.MemoryID, e *entry) {
	old := x.memories[id]
	if e == nil {
		delete(x.memories, id)
		delete(x.lacking, id)
	} else {
		x.memories[id] = e
		for i := range e.sections {
			s := &e.sections[i]
			if s.vector = x.vectors[s.key]; s.vector != nil {
				s.vector.uses++
			}
		}
		x.check(id, e)
	}
	if old == nil {
		return
	}
	for i := range old.sections {
		if v := old.sections[i].vector; v != nil {
			if v.uses--; v.uses == 0 {
				delete(x.vectors, old.sections[i].key)
				x.bytes -= v.size()
			}
		}
	}
}

// check notes whether a memory lacks vectors. The caller holds mu.
func (x *index) check(id memento.MemoryID, e *entry) {
	lacks := !e.cut && !e.unread || e.cut && x.keeps && !e.kept
	for i := range e.sections {
		lacks = lacks || e.sections[i].vector == nil && !e.sections[i].refused
	}
	if lacks {
		x.lacking[id] = true
	} else {
		delete(x.lacking, id)
	}
}

// vectors returns how many sections have one.
func (e *entry) vectors() (n int) {
	for i := range e.sections {
		if e.sections[i].vector != nil {
			n++
		}
	}
	return n
}

// retry has memories embedded that could not be read before.
func (x *index) retry() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for id, e := range x.memories {
		if e.unread {
			x.lacking[id] = true
		}
	}
}

// size returns the bytes that the index takes in main memory.
func (x *index) size() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.bytes + memoryBytes*int64(len(x.memories))
}

// memoryBytes is about how many bytes a memory takes in an index besides its vectors.
const memoryBytes = 256

// add adds the vector of a text, which nothing uses yet.
func (x *index) add(key textKey, v vector) {
	if x.vectors[key] == nil {
		x.vectors[key] = &shared{vector: v}
		x.bytes += x.vectors[key].size()
	}
}

// size returns the bytes of a vector with what refers to it.
func (s *shared) size() int64 { return 4*int64(len(s.vector)) + 160 }

// encode returns the sections as a backend keeps them.
func (e *entry) encode() []backend.Vector {
	vectors := make([]backend.Vector, len(e.sections))
	for i, s := range e.sections {
		vectors[i] = backend.Vector{Text: s.key, Start: s.Start, End: s.End}
		if s.vector != nil {
			vectors[i].Step, vectors[i].Values = s.vector.pack()
		}
	}
	return vectors
}

// decode returns the entry of a memory that a backend has. Its vectors go into the index.
// The caller holds mu, and sets the entry.
func (x *index) decode(m backend.MemoryVectors) *entry {
	e := &entry{path: m.Path, version: m.Version, cut: m.Vectors != nil, kept: m.Vectors != nil}
	for _, v := range m.Vectors {
		s := section{Section: textindex.Section{Start: v.Start, End: v.End}, key: v.Text}
		if len(v.Values) > 0 {
			x.add(s.key, unpack(v.Step, v.Values))
		}
		e.sections = append(e.sections, s)
	}
	return e
}

// prune drops vectors that nothing uses. The caller holds mu.
func (x *index) prune() {
	for key, v := range x.vectors {
		if v.uses == 0 {
			delete(x.vectors, key)
			x.bytes -= v.size()
		}
	}
}
