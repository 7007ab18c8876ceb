package s3store

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"memento"
	"memento/backend/textindex"
	"memento/internal/lru"
)

// maxIndexBytes is how much the segments of all indexes may take in main memory.
const maxIndexBytes = 256 << 20

// searchIndexes keep the segments of search indexes in main memory: there are none in the
// bucket. So a process reads all contents of a store for the first search in it, and again
// if the index was dropped for those of other stores.
type searchIndexes struct {
	b *Backend

	mu     sync.Mutex
	stores lru.Map[memento.StoreID, *heldIndex]
	bytes  int64 // of all segments
}

var _ textindex.Medium = (*searchIndexes)(nil)

// A heldIndex is the index of a store. It never changes: a change replaces it.
type heldIndex struct {
	revision int64
	log      *changeLog // nil before the first search
	stored   textindex.StoredIndex
	segments map[textindex.SegmentID]*heldSegment // those of stored, and those that are being written
}

type heldSegment struct {
	blocks map[int][]byte // complete if the index has the segment
	bytes  int64
}

func (h *heldIndex) block(id textindex.SegmentID, n int) ([]byte, error) {
	if segment := h.segments[id]; segment != nil {
		if block, there := segment.blocks[n]; there {
			return block, nil
		}
	}
	return nil, textindex.ErrIndex
}

func (h *heldIndex) bytes() (sum int64) {
	for _, segment := range h.segments {
		sum += segment.bytes
	}
	return sum
}

func newRevision() int64 { return 1 + rand.Int64N(1<<62) }

// get returns the index of a store.
func (x *searchIndexes) get(id memento.StoreID) *heldIndex {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.getLocked(id)
}

func (x *searchIndexes) getLocked(id memento.StoreID) *heldIndex {
	h, known := x.stores.Get(id)
	if !known {
		h = &heldIndex{revision: newRevision()}
		x.stores.Put(id, h)
	}
	return h
}

// begin drops the index of a store, and begins another one with a log.
func (x *searchIndexes) begin(id memento.StoreID, log *changeLog) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.putLocked(id, &heldIndex{revision: newRevision(), log: log})
}

// putLocked replaces the index of a store, and drops those of other stores if all are too
// large.
func (x *searchIndexes) putLocked(id memento.StoreID, h *heldIndex) {
	if old, known := x.stores.Get(id); known {
		x.bytes -= old.bytes()
	}
	x.stores.Put(id, h)
	x.bytes += h.bytes()
	for other, old := range x.stores.Oldest() {
		if x.bytes <= maxIndexBytes || other == id {
			return
		}
		x.bytes -= old.bytes()
		x.stores.Remove(other)
	}
}

// remove drops the index of a store.
func (x *searchIndexes) remove(id memento.StoreID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if old, known := x.stores.Get(id); known {
		x.bytes -= old.bytes()
		x.stores.Remove(id)
	}
}

// Block implements textindex.Medium.
func (x *searchIndexes) Block(_ context.Context, store memento.StoreID, id textindex.SegmentID, number int) ([]byte, error) {
	return x.get(store).block(id, number)
}

// PutBlocks implements textindex.Medium.
func (x *searchIndexes) PutBlocks(_ context.Context, store memento.StoreID, revision int64, id textindex.SegmentID, blocks []textindex.Block) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	h := *x.getLocked(store)
	segment := &heldSegment{blocks: map[int][]byte{}}
	if known := h.segments[id]; known != nil {
		segment.blocks, segment.bytes = known.blocks, known.bytes // nobody reads it yet
	} else if h.revision != revision {
		return textindex.ErrRevised
	}
	for _, b := range blocks {
		segment.blocks[b.N] = b.Data
		segment.bytes += int64(len(b.Data))
	}
	h.segments = maps.Clone(h.segments)
	if h.segments == nil {
		h.segments = map[textindex.SegmentID]*heldSegment{}
	}
	h.segments[id] = segment
	x.putLocked(store, &h)
	return nil
}

// Publish implements textindex.Medium.
func (x *searchIndexes) Publish(_ context.Context, store memento.StoreID, revision int64, next textindex.StoredIndex, abandon bool) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	old := x.getLocked(store)
	if old.revision != revision {
		return textindex.ErrRevised
	}
	h := &heldIndex{revision: newRevision(), log: old.log, stored: next, segments: map[textindex.SegmentID]*heldSegment{}}
	if next.Seq < old.stored.Seq {
		h.log = nil // it may lack what the index had
	}
	for _, ref := range next.Segments {
		segment := old.segments[ref.ID]
		if segment == nil {
			return textindex.ErrRevised
		}
		h.segments[ref.ID] = segment
	}
	for id, segment := range old.segments {
		if !abandon && !old.has(id) {
			h.segments[id] = segment // it is being written
		}
	}
	if h.log != nil {
		h.log.covered.Store(next.Seq)
	}
	x.putLocked(store, h)
	return nil
}

// has reports whether the index has a segment, rather than that it is being written.
func (h *heldIndex) has(id textindex.SegmentID) bool {
	return slices.ContainsFunc(h.stored.Segments, func(s textindex.StoredSegment) bool { return s.ID == id })
}

// Discard implements textindex.Medium.
func (x *searchIndexes) Discard(_ context.Context, store memento.StoreID, id textindex.SegmentID) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	h := *x.getLocked(store)
	if h.has(id) {
		return nil
	}
	h.segments = maps.Clone(h.segments)
	delete(h.segments, id)
	x.putLocked(store, &h)
	return nil
}

// Sweep implements textindex.Medium. Retired segments are garbage of the process.
func (x *searchIndexes) Sweep(context.Context, memento.StoreID) (more bool, err error) {
	return false, nil
}
