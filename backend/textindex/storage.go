package textindex

import (
	"context"
	"errors"

	"memento"
)

// A Storage keeps the stored indexes of a backend's stores. An index is a list of segments
// and the newest version that they cover; each change of it gives it another revision.
type Storage interface {
	// View calls do with a store at one instant, which is not earlier than the call, and
	// returns its error.
	View(ctx context.Context, store memento.StoreID, do func(context.Context, Snapshot) error) error

	// Block returns a block of a segment, whether the index has the segment or not.
	Block(ctx context.Context, store memento.StoreID, id SegmentID, n int) ([]byte, error)

	// PutBlocks writes blocks of a segment that the index does not have yet. The first call
	// for a segment may have no blocks: it announces the segment.
	//
	// Errors: ErrRevised if the index has another revision and the segment is a new one, or
	// if the segment was abandoned or discarded.
	PutBlocks(ctx context.Context, store memento.StoreID, revision int64, id SegmentID, blocks []Block) error

	// Publish replaces the index of a store: its segments that now lacks are retired. With
	// abandon, so are those of which only blocks are written.
	//
	// Errors: ErrRevised if the index has another revision, or a segment of now was
	// abandoned, or discarded.
	Publish(ctx context.Context, store memento.StoreID, revision int64, now StoredIndex, abandon bool) error

	// Discard retires a segment, unless the index has it.
	Discard(ctx context.Context, store memento.StoreID, id SegmentID) error

	// Sweep removes some blocks of retired segments, and of others that were begun long ago
	// and never published. It reports whether there are more.
	Sweep(ctx context.Context, store memento.StoreID) (more bool, err error)
}

// ErrRevised says that an index was changed by somebody else.
var ErrRevised = errors.New("the search index was changed meanwhile")

// ErrLarge says that a store is too large for an index: a storage returns it from View and
// Publish. The store is looked at again when it was written to.
var ErrLarge = errors.New("the store is too large for a search index")

// A SegmentID names a segment. It is between 1 and 1<<42, and chosen at random.
type SegmentID int64

// HeadBlock is the number of the block that is a segment's head. Others count from 0.
const HeadBlock = -1

// MaxBlocks is more than the number of blocks of any segment.
const MaxBlocks = 1<<20 - 1

// A Block is a part of a segment.
type Block struct {
	N    int // number; HeadBlock for the head
	Data []byte
}

// A StoredIndex is what a storage has of a store's index, without the blocks.
type StoredIndex struct {
	Seq      int64 // of the newest version that it covers
	Segments []StoredSegment
}

// A StoredSegment is a segment of a [StoredIndex].
type StoredSegment struct {
	ID   SegmentID
	Dead []byte // numbers of dead memories; empty if there are none
}

// A Snapshot is a store at one instant, with its index.
type Snapshot interface {
	// Seq is that of the store's newest version.
	Seq() int64

	// Memories is how many memories the store has.
	Memories() int64

	// Revision is that of the index, and not 0. It is another one if the store was deleted, and
	// created again with the same ID.
	Revision() int64

	// Long says that the view will take long: it does not keep others waiting that are quick.
	Long()

	// Version returns the ID of the version with a seq; "" if there is none.
	Version(ctx context.Context, seq int64) (memento.VersionID, error)

	// Kept returns which of some versions, by their seqs, exist and were not redacted.
	Kept(ctx context.Context, seqs []int64) (map[int64]bool, error)

	// Stored returns the index.
	Stored(ctx context.Context) (StoredIndex, error)

	// Block returns a block of a segment of the index.
	Block(ctx context.Context, id SegmentID, n int) ([]byte, error)

	// Changed returns which memories have versions after seq, at most limit versions, in
	// order of their seqs. If deletions after the index's seq were pruned, it has them too.
	Changed(ctx context.Context, seq int64, limit int) ([]Change, error)

	// Texts returns memories with their contents by their IDs, like Lookup, but without
	// checking contents: damaged ones are indexed as they are.
	Texts(ctx context.Context, ids []memento.MemoryID) (map[memento.MemoryID]Text, error)

	// Lookup is a [Lookup].
	Lookup(ctx context.Context, ids []memento.MemoryID, actors bool) (map[memento.MemoryID]Found, error)

	// Meeting is a [Meeting].
	Meeting(ctx context.Context, c Condition, seqs []int64) ([]int64, error)
}

// A VersionReader is a [Snapshot] that finds the texts of versions faster than those of
// memories, because they stand in the order of their seqs.
type VersionReader interface {
	// VersionTexts returns what versions have made of their memories, by their seqs, like
	// Texts. Deletions have none, and versions that were redacted or pruned.
	VersionTexts(ctx context.Context, seqs []int64) (map[int64]Text, error)
}

// A Change says that a memory has a version.
type Change struct {
	Memory memento.MemoryID
	Seq    int64
	First  bool  // no older version ever had the ID of the memory; false if that is not certain
	Size   int64 // of its contents, in bytes

	again bool // whether it is not the memory's first one of those it is among
}

// A Text is what is indexed of a memory.
type Text struct {
	Seq      int64 // of the memory's newest version
	Path     memento.Path
	Contents string // "" if they are sealed
}
