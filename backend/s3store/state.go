package s3store

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"memento"
	"memento/backend"
)

// An indexEntry is a memory without its contents, the seq of its newest version, and where the
// contents are stored. It is immutable.
type indexEntry struct {
	memory memento.Memory
	seq    int64
	ref    ref
}

// A state is a store as of one record of its log, without contents and without the
// compacted part of its history.
type state struct {
	n       int64 // number of the newest record
	info    memento.StoreInfo
	deleted bool
	seq     int64     // of the newest version, which may have been pruned
	latest  time.Time // see backend.LastTime

	byID  map[memento.MemoryID]*indexEntry
	paths []*indexEntry // in order of path

	// seqByID has the Seqs of versions with imported IDs, from which they cannot be read.
	seqByID map[memento.VersionID]int64

	manifest manifest
	etag     string    // of the manifest; "" if there is none yet
	tail     []*record // the records that are not compacted
	tailSize int64     // of their contents

	// Versions that records of the tail redact and prune; a compaction removes them.
	redacted    map[int64]redaction
	pruned      map[int64]bool
	lastRemoval int64 // number of the newest record that redacts or prunes

	reads map[memento.MemoryID]time.Time // when memories were last read

	// Entries that a checkpoint had, which share memory in blocks, and how many were replaced
	// or removed since, at most; see releaseBlocks.
	loaded, replaced int

	unsorted bool // paths is not kept while many records are applied; see sort

	log *changeLog // of the search index; nil if there is none
}

func newState() *state {
	return &state{
		byID: map[memento.MemoryID]*indexEntry{}, seqByID: map[memento.VersionID]int64{},
		redacted: map[int64]redaction{}, pruned: map[int64]bool{}, reads: map[memento.MemoryID]time.Time{},
	}
}

// size returns the approximate number of bytes that the state takes in memory.
func (s *state) size() int64 {
	kept := len(s.byID)
	if s.loaded > 0 {
		kept += s.replaced // their blocks are there as long as one entry is
	}
	return 2000 + 450*int64(kept) + 100*int64(len(s.seqByID)) + 300*int64(len(s.tail)) + 400*(s.seq-s.manifest.seq()) +
		150*int64(len(s.manifest.Segments)) + 80*int64(len(s.reads)) + s.log.size()
}

// apply applies the next record, without its contents. compacted says that the record was
// read from a segment.
func (s *state) apply(r *record, compacted bool) {
	if s.deleted && r.Info != nil { // the store is created again with the same ID
		empty := newState()
		empty.manifest, empty.etag, empty.unsorted = s.manifest, s.etag, s.unsorted
		*s = *empty
	}
	s.n = r.N
	if r.Info != nil {
		usage := s.info.Usage
		s.info = r.Info.info()
		s.info.Usage = usage
		if s.seq == 0 && s.latest.IsZero() {
			s.latest = s.info.CreatedAt
		}
	}
	s.info.Usage = memento.Usage{Memories: r.Usage.Memories, Bytes: r.Usage.Bytes}
	s.applyVersions(r.Versions)
	for _, c := range r.Redact {
		s.latest = later(s.latest, c.At.time())
	}
	if len(r.Redact) > 0 || len(r.Prune) > 0 {
		s.lastRemoval = r.N
	}
	if len(r.Prune) > 0 && len(s.seqByID) > 0 {
		pruned := map[int64]bool{}
		for _, seq := range r.Prune {
			pruned[seq] = true
		}
		maps.DeleteFunc(s.seqByID, func(_ memento.VersionID, seq int64) bool { return pruned[seq] })
	}
	s.deleted = s.deleted || r.Deleted
	if compacted {
		return
	}
	for _, c := range r.Redact {
		s.redacted[c.Seq] = c
	}
	for _, seq := range r.Prune {
		s.pruned[seq] = true
	}
	for _, size := range r.Sizes {
		s.tailSize += int64(size)
	}
	s.tail = append(s.tail, r)
}

// applyVersions updates the index of memories.
func (s *state) applyVersions(versions []*version) {
	var out, in []*indexEntry
	for _, v := range versions {
		s.seq = v.Seq
		s.latest = backend.LastTime(s.latest, &memento.Version{ID: v.ID, Seq: v.Seq, CreatedAt: v.At.time()})
		if v.ID.SeqHint() != v.Seq {
			s.seqByID[v.ID] = v.Seq
		}
		before := s.byID[v.Memory]
		if before != nil {
			delete(s.byID, v.Memory)
			s.replaced++
			out = append(out, before)
		}
		after := v.entry()
		if after != nil {
			s.byID[v.Memory] = after
			in = append(in, after)
		}
		if s.log != nil {
			s.log.note(v, before, after)
		}
	}
	s.sortPaths(out, in)
	if s.replaced > s.loaded/2 {
		s.releaseBlocks()
	}
}

// releaseBlocks copies entries that share memory, once half of those are gone: the last entry
// of a block of a checkpoint would keep all of it.
func (s *state) releaseBlocks() {
	if s.loaded == 0 {
		return
	}
	s.loaded, s.replaced = 0, 0
	byID := make(map[memento.MemoryID]*indexEntry, len(s.byID)) // keys share the memory, too
	for _, h := range s.byID {
		c := h.alone()
		byID[c.memory.ID] = c
	}
	s.byID = byID
	if !s.unsorted {
		s.sort()
	}
}

// alone returns a copy that shares no memory with other entries.
func (h *indexEntry) alone() *indexEntry {
	c := *h
	m := &c.memory
	m.ID, m.Path, m.Version = memento.MemoryID(strings.Clone(string(m.ID))), memento.Path(strings.Clone(string(m.Path))), memento.VersionID(strings.Clone(string(m.Version)))
	m.SHA256, m.Digest, c.ref.Blob = strings.Clone(m.SHA256), strings.Clone(m.Digest), strings.Clone(c.ref.Blob)
	return &c
}

// entry returns the memory as the version has left it, or nil if it was deleted.
func (v *version) entry() *indexEntry {
	if v.Created == 0 || v.Redacted != 0 || v.Ref == nil {
		return nil
	}
	return &indexEntry{memory: memento.Memory{
		ID: v.Memory, Path: v.Path, SHA256: v.SHA256, Digest: v.Digest, Size: v.Size, Version: v.ID,
		CreatedAt: v.Created.time(), UpdatedAt: v.At.time(),
	}, seq: v.Seq, ref: *v.Ref}
}

// sort makes paths, after records were applied with unsorted set.
func (s *state) sort() {
	s.unsorted = false
	s.paths = slices.SortedFunc(maps.Values(s.byID), func(a, b *indexEntry) int { return cmp.Compare(a.memory.Path, b.memory.Path) })
}

// sortPaths takes entries out of paths, and puts in those others that no later version has
// deleted or changed.
func (s *state) sortPaths(out, in []*indexEntry) {
	if s.unsorted {
		return
	}
	in = slices.DeleteFunc(in, func(h *indexEntry) bool { return s.byID[h.memory.ID] != h })
	if len(out)+len(in) > 8 { // one by one, a large directory would take quadratic time
		s.mergePaths(out, in)
		return
	}
	for _, h := range out {
		if i, found := s.find(h.memory.Path); found && s.paths[i] == h {
			s.paths = slices.Delete(s.paths, i, i+1)
		}
	}
	for _, h := range in {
		if i, found := s.find(h.memory.Path); found {
			s.paths[i] = h
		} else {
			s.paths = slices.Insert(s.paths, i, h)
		}
	}
}

// mergePaths is sortPaths in one pass over paths. To sort all of them again, for each record of
// a large store, would take longer than everything else.
func (s *state) mergePaths(out, in []*indexEntry) {
	slices.SortFunc(in, func(a, b *indexEntry) int { return cmp.Compare(a.memory.Path, b.memory.Path) })
	gone := make([]int, 0, len(out))
	for _, h := range out {
		if i, found := s.find(h.memory.Path); found && s.paths[i] == h {
			gone = append(gone, i)
		}
	}
	slices.Sort(gone)
	paths := make([]*indexEntry, 0, len(s.paths)+len(in)+len(in)/2)
	from := 0
	keep := func(to int) { // what is there before to
		for len(gone) > 0 && gone[0] < to {
			paths = append(paths, s.paths[from:gone[0]]...)
			from, gone = gone[0]+1, gone[1:]
		}
		if from < to {
			paths = append(paths, s.paths[from:to]...)
			from = to
		}
	}
	for _, h := range in {
		i, found := s.find(h.memory.Path)
		keep(i)
		paths = append(paths, h)
		if found && from == i { // it takes the place of the one that is there
			from++
			if len(gone) > 0 && gone[0] == i {
				gone = gone[1:]
			}
		}
	}
	keep(len(s.paths))
	s.paths = paths
}

// at returns the memory with a path; nil if there is none.
func (s *state) at(path memento.Path) *indexEntry {
	if i, found := s.find(path); found {
		return s.paths[i]
	}
	return nil
}

// find returns where a path is, or would be.
func (s *state) find(path memento.Path) (int, bool) {
	return slices.BinarySearchFunc(s.paths, path, func(h *indexEntry, path memento.Path) int { return cmp.Compare(h.memory.Path, path) })
}

// below returns the memories below a directory: a slice of s.paths.
func (s *state) below(dir memento.Path) []*indexEntry {
	prefix := dir.Prefix()
	from, _ := s.find(memento.Path(prefix))
	n, _ := slices.BinarySearchFunc(s.paths[from:], prefix, func(h *indexEntry, prefix string) int {
		if strings.HasPrefix(string(h.memory.Path), prefix) {
			return -1
		}
		return 1
	})
	return s.paths[from : from+n]
}

// adopt replaces the manifest by a newer one, and drops the records of the tail that are
// compacted according to it.
func (s *state) adopt(m manifest, etag string) {
	if m.End < s.manifest.End {
		return
	}
	s.manifest, s.etag = m, etag
	keep, _ := slices.BinarySearchFunc(s.tail, m.End+1, func(r *record, n int64) int { return cmp.Compare(r.N, n) })
	s.tail = slices.Clone(s.tail[keep:])
	s.tailSize = 0
	clear(s.redacted)
	clear(s.pruned)
	for _, r := range s.tail {
		for _, size := range r.Sizes {
			s.tailSize += int64(size)
		}
		for _, c := range r.Redact {
			s.redacted[c.Seq] = c
		}
		for _, seq := range r.Prune {
			s.pruned[seq] = true
		}
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
