package textindex

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"memento"
)

// Several processes may change an index at the same time. A segment is announced before the
// texts or segments that it is made from are read, and abandoned by a purge. When it is
// complete, it is added to the index that there is then: what others have added meanwhile
// stays, and memories that have died meanwhile die in it, too. So nobody's work is in vain
// unless somebody else did the same.

const (
	// leastTogether is how many blocks are written at a time, because others wait for that. If
	// others take long themselves, such as with large transactions, it is a block for each
	// putWait that the writing before has taken, up to mostTogether.
	leastTogether, mostTogether = 8, 64
	putWait                     = 200 * time.Microsecond
	// publishAttempts is how often an index is read and published again because others have
	// published another one in between, which takes them much longer.
	publishAttempts = 20
)

// An edition is a change of a stored index.
type edition struct {
	live     *Live
	store    memento.StoreID
	revision int64  // of the index that was read last
	pacer    *pacer // nil if somebody waits for the change
}

// view calls do with the store, and its stored index.
func (e *edition) view(ctx context.Context, do func(context.Context, Snapshot, *StoredIndex) error) error {
	return e.live.storage.View(ctx, e.store, func(ctx context.Context, now Snapshot) error {
		e.revision = now.Revision()
		index, err := now.Stored(ctx)
		if err != nil {
			return err
		}
		return do(ctx, now, &index)
	})
}

// announce begins a segment, which a purge abandons from now on.
//
// Errors: ErrRevised if the index is not the one that was read any more.
func (e *edition) announce(ctx context.Context) (SegmentID, error) {
	id := SegmentID(1 + rand.Int64N(1<<42-1))
	return id, e.live.storage.PutBlocks(ctx, e.store, e.revision, id, nil)
}

// write writes the blocks of a segment that was announced, and reports whether it has any
// memories.
func (e *edition) write(ctx context.Context, id SegmentID, sources ...Source) (some bool, err error) {
	var blocks []Block
	together := leastTogether
	put := func() error {
		start := time.Now()
		err := e.live.storage.PutBlocks(ctx, e.store, e.revision, id, blocks)
		blocks, together = nil, min(max(leastTogether, int(time.Since(start)/putWait)), mostTogether)
		return err
	}
	n := 0
	head, err := Write(ctx, func(_ int, block []byte) error {
		e.pacer.pause(ctx)
		if n++; n >= MaxBlocks {
			return errors.New("a segment of the search index would be too large")
		}
		if blocks = append(blocks, Block{n - 1, seal(id, n-1, block)}); len(blocks) < together {
			return nil
		}
		return put()
	}, sources...)
	if err != nil || n == 0 {
		return false, err
	}
	blocks = append(blocks, Block{HeadBlock, seal(id, HeadBlock, head)})
	return true, put()
}

// publish changes the index. It calls compose with the stored one, perhaps several times.
//
// Errors: ErrRevised if a segment of the index was abandoned; those of compose.
func (e *edition) publish(ctx context.Context, abandon bool, compose func(context.Context, Snapshot, *StoredIndex) error) error {
	err := error(ErrRevised)
	for n := 0; n < publishAttempts && errors.Is(err, ErrRevised); n++ {
		var next StoredIndex
		err = e.view(ctx, func(ctx context.Context, now Snapshot, index *StoredIndex) error {
			if err := compose(ctx, now, index); err != nil {
				return err
			}
			next = *index
			return nil
		})
		if err != nil {
			return err
		}
		err = e.live.storage.Publish(ctx, e.store, e.revision, next, abandon)
	}
	return err
}

// discard removes a segment that was announced and will not be published. If this fails,
// it is removed later.
func (e *edition) discard(ctx context.Context, id SegmentID) {
	_ = e.live.storage.Discard(context.WithoutCancel(ctx), e.store, id)
}

// longKill is how many memories take long to look for.
const longKill = 1024

// kill marks memories as dead in the segments of an index, if they have changed.
func (e *edition) kill(ctx context.Context, now Snapshot, index *StoredIndex, changes []Change) error {
	var again []memento.MemoryID
	for _, c := range changes {
		if !c.First {
			again = append(again, c.Memory)
		}
	}
	if len(again) == 0 {
		return nil
	}
	if len(again) > longKill {
		now.Long()
	}
	slices.Sort(again)
	again = slices.Compact(again)
	for i := range index.Segments {
		segment, err := e.live.head(ctx, now, index.Segments[i])
		if err != nil {
			return err
		}
		living := segment.Living()
		for _, id := range again {
			if err := e.live.kill(ctx, now, segment, id); err != nil {
				return err
			}
		}
		if segment.Living() < living {
			index.Segments[i].Dead = segment.sealedDead()
		}
	}
	return nil
}

// find returns where an index has a segment, or -1.
func (x *StoredIndex) find(id SegmentID) int {
	return slices.IndexFunc(x.Segments, func(s StoredSegment) bool { return s.ID == id })
}
