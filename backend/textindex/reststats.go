package textindex

import "hash/maphash"

// restStats are those of memories that a scan has read, and that have no word of the request.
type restStats struct {
	Stats
	seed    maphash.Seed
	all     []restDoc
	removed map[uint64]int // by hash: how many of all were there when the memory was removed last
	spoken  [languages]int
}

// A restDoc is what it takes to remove a memory later.
type restDoc struct {
	hash     uint64 // of its key, which would take more room
	length   uint32
	language Language
}

func newRestStats() restStats { return restStats{seed: maphash.MakeSeed(), removed: map[uint64]int{}} }

func (s *restStats) add(key string, d document) {
	doc := restDoc{maphash.String(s.seed, key), uint32(d.length), d.language}
	s.all = append(s.all, doc)
	s.count(doc, 1)
}

// remove removes a memory, if it was added. It counts until end is called.
func (s *restStats) remove(key string) {
	if len(s.all) > 0 {
		s.removed[maphash.String(s.seed, key)] = len(s.all)
	}
}

func (s *restStats) end() {
	for i, doc := range s.all {
		if i < s.removed[doc.hash] {
			s.count(doc, -1)
		}
	}
	s.all, s.removed = nil, nil
}

func (s *restStats) count(d restDoc, by int) {
	s.Memories += by
	s.Words += int64(by) * int64(d.length)
	if s.spoken[d.language] += by; s.spoken[d.language] > 0 {
		s.Languages = s.Languages.With(d.language)
	} else {
		s.Languages &^= 1 << d.language
	}
}
