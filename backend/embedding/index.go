package embedding

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"memento"
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

	searched time.Time // zero if it was only looked at; the Searcher's mutex guards it
}

func newIndex() *index {
	return &index{memories: map[memento.MemoryID]*entry{}, vectors: map[textKey]*shared{}, lacking: map[memento.MemoryID]bool{}}
}

// An entry is a memory. Its sections are nil until its contents were read.
type entry struct {
	path     memento.Path
	version  memento.VersionID // that the sections are of
	sections []section
	cut      bool // whether sections are those of the version
	unread   bool // the contents could not be read; see retry
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
	delete(x.lacking, id)
	if e == nil {
		delete(x.memories, id)
	} else {
		x.memories[id] = e
		if !e.cut && !e.unread {
			x.lacking[id] = true
		}
		for i := range e.sections {
			s := &e.sections[i]
			if s.vector = x.vectors[s.key]; s.vector != nil {
				s.vector.uses++
			} else if !s.refused {
				x.lacking[id] = true
			}
		}
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

// encode returns the sections of an entry as a cache keeps them: for each the key of the
// text (32 bytes), offsets of its start and end (4 each, big-endian), step of the vector
// (4, IEEE 754), number of dimensions (2, 0 for no vector), and the dimensions in steps (1
// each).
func (e *entry) encode() []byte {
	var b []byte
	for _, s := range e.sections {
		b = append(b, s.key[:]...)
		b = binary.BigEndian.AppendUint32(b, uint32(s.Start))
		b = binary.BigEndian.AppendUint32(b, uint32(s.End))
		var step float32
		var values []int8
		if s.vector != nil {
			step, values = s.vector.pack()
		}
		b = binary.BigEndian.AppendUint32(b, math.Float32bits(step))
		b = binary.BigEndian.AppendUint16(b, uint16(len(values)))
		for _, x := range values {
			b = append(b, byte(x))
		}
	}
	return b
}

// decode is the reverse of encode. Vectors go into the index. ok is false if b is no
// encoding, as after a fault of the medium.
func (x *index) decode(b []byte) (sections []section, ok bool) {
	const head = sha256.Size + 4 + 4 + 4 + 2
	for len(b) > 0 {
		if len(b) < head {
			return nil, false
		}
		var s section
		copy(s.key[:], b)
		rest := b[sha256.Size:]
		s.Start, s.End = int(binary.BigEndian.Uint32(rest)), int(binary.BigEndian.Uint32(rest[4:]))
		step := math.Float32frombits(binary.BigEndian.Uint32(rest[8:]))
		n := int(binary.BigEndian.Uint16(rest[12:]))
		if b = b[head:]; len(b) < n || s.Start > s.End || n > 0 && !(step > 0 && step <= 1) {
			return nil, false
		}
		if n > 0 {
			values := make([]int8, n)
			none := true
			for i := range values {
				values[i] = int8(b[i])
				none = none && values[i] == 0
			}
			if none {
				return nil, false
			}
			x.add(s.key, unpack(step, values))
		}
		b = b[n:]
		sections = append(sections, s)
	}
	return sections, true
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
