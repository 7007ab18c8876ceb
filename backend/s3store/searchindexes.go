package s3store

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"memento"
	"memento/backend/textindex"
	"memento/internal/keyedlock"
	"memento/internal/lru"
)

// maxIndexBytes is how much the segments of all indexes may take in main memory.
const maxIndexBytes = 256 << 20

// indexingRest is how many times as long as it works the indexer rests while there are writes.
// These take more of the processor than those of a local database, for requests.
const indexingRest = 16

// searchIndexes keep search indexes: a copy of their segments in main memory, and in the
// bucket what was published, see searchobjects.go. A process goes on with its copy until it
// publishes a change of it itself. If another process did so before, it takes that index, and
// what it lacks from the state of the store.
type searchIndexes struct {
	b         *Backend
	maxStored int64 // see the constant maxStoredIndex

	// Held while the index of a store is read from the bucket, or written.
	exchanging *keyedlock.Locks[memento.StoreID]

	mu     sync.Mutex
	stores lru.Map[memento.StoreID, *heldIndex]
	bytes  int64 // of all segments
}

var _ textindex.Storage = (*searchIndexes)(nil)

// A heldIndex is the index of a store. It never changes: a change replaces it.
type heldIndex struct {
	revision int64
	distrust bool         // what the bucket has does not match the store
	version  indexVersion // what the bucket has
	created  stamp        // when the store was created
	log      *changeLog   // nil before the index was read from the bucket
	stored   textindex.StoredIndex
	segments map[textindex.SegmentID]*heldSegment // those of stored, and those that are being written
}

type heldSegment struct {
	blocks map[int][]byte // complete if the index has the segment
	bytes  int64
	key    string // of its object in the bucket; "" if it has none yet
	size   int64  // of the object
}

// block returns a block of a segment.
//
// Errors: textindex.ErrRevised if this is an index that does not have the segment, because the
// one that had it was dropped for others; textindex.ErrIndex if the segment lacks the block.
func (h *heldIndex) block(id textindex.SegmentID, n int) ([]byte, error) {
	segment := h.segments[id]
	if segment == nil {
		return nil, textindex.ErrRevised
	}
	block, there := segment.blocks[n]
	if !there {
		return nil, textindex.ErrIndex
	}
	return block, nil
}

// isForLarge reports whether the index is known to be too large for a store.
func (h *heldIndex) isForLarge(u memento.Usage) bool {
	return h.version.Store == h.created && h.version.isForLarge(u.Bytes)
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

// begin replaces the index of a store by one that was found in the bucket.
func (x *searchIndexes) begin(id memento.StoreID, found *foundIndex, created stamp, log *changeLog) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.putLocked(id, &heldIndex{
		revision: newRevision(), version: found.version, created: created, log: log, stored: found.stored, segments: found.segments,
	})
}

// outdate makes that the index of a store is read from the bucket next, unless it has another
// revision already. It keeps the segments that the bucket has, but none that are being
// written: they may have what was erased meanwhile.
func (x *searchIndexes) outdate(id memento.StoreID, revision int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	old := x.getLocked(id)
	if old.revision != revision {
		return
	}
	h := &heldIndex{revision: newRevision(), segments: map[textindex.SegmentID]*heldSegment{}}
	for id, segment := range old.segments {
		if segment.key != "" {
			h.segments[id] = segment
		}
	}
	x.putLocked(id, h)
}

// distrust makes that an index begins again without segments.
func (x *searchIndexes) distrust(id memento.StoreID, index *heldIndex) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if now := x.getLocked(id); now.revision == index.revision {
		x.putLocked(id, &heldIndex{revision: newRevision(), distrust: true, version: now.version})
	}
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

// Block implements textindex.Storage.
func (x *searchIndexes) Block(_ context.Context, store memento.StoreID, id textindex.SegmentID, number int) ([]byte, error) {
	return x.get(store).block(id, number)
}

// PutBlocks implements textindex.Storage. Blocks are only in main memory until the segment is
// published. When a segment is announced, the index in the bucket must be the one that this
// process has, so that it does not index what another process has indexed.
func (x *searchIndexes) PutBlocks(ctx context.Context, store memento.StoreID, revision int64, id textindex.SegmentID, blocks []textindex.Block) error {
	if len(blocks) == 0 {
		now, err := x.b.getIndex(ctx, store)
		if err != nil {
			return err
		}
		if h := x.get(store); h.revision != revision || h.version.etag != now.etag && !(h.version.newer && now.newer) {
			x.outdate(store, revision)
			return textindex.ErrRevised
		}
	}
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

// Publish implements textindex.Storage.
func (x *searchIndexes) Publish(ctx context.Context, store memento.StoreID, revision int64, next textindex.StoredIndex, abandon bool) error {
	unlock, err := x.exchanging.Lock(ctx, store)
	if err != nil {
		return err
	}
	defer unlock()
	old := x.get(store)
	if old.revision != revision || old.log == nil {
		return textindex.ErrRevised
	}
	for _, ref := range next.Segments {
		if old.segments[ref.ID] == nil {
			return textindex.ErrRevised
		}
	}
	version, saved, err := x.save(ctx, store, old.created, old.version, next, old.segments)
	if errors.Is(err, memento.ErrReadOnly) || errors.Is(err, errUnreadableIndex) { // the process has the index for itself
		version, saved, err = old.version, map[textindex.SegmentID]*heldSegment{}, nil
		for _, ref := range next.Segments {
			saved[ref.ID] = old.segments[ref.ID]
		}
	}
	if err != nil {
		x.outdate(store, revision) // another process was first, or it is not known what the bucket has
		return err
	}
	if version.etag != old.version.etag {
		// Also what other processes have left. What cannot be deleted now is after the next change.
		_ = x.b.deleteUnreferencedSegments(context.WithoutCancel(ctx), store)
	}

	x.mu.Lock()
	defer x.mu.Unlock()
	if version.Large > 0 {
		x.putLocked(store, &heldIndex{revision: newRevision()}) // which is read again, with the mark
		return textindex.ErrLarge
	}
	now := x.getLocked(store)
	if now.revision != revision { // it was dropped for others
		return nil
	}
	h := &heldIndex{revision: newRevision(), version: version, created: old.created, log: old.log, stored: next, segments: saved}
	if next.Seq < old.stored.Seq {
		h.log = nil // it may lack what the index had
	}
	for id, segment := range now.segments {
		if !abandon && !old.has(id) && h.segments[id] == nil {
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

// Discard implements textindex.Storage.
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

// Sweep implements textindex.Storage. Retired segments are garbage of the process.
func (x *searchIndexes) Sweep(context.Context, memento.StoreID) (more bool, err error) {
	return false, nil
}
