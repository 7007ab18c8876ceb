package textindex

import (
	"cmp"
	"context"
	"errors"
	"slices"
)

const (
	mergeTogether = 8 // segments of a size
	mergeLevels   = 2 // of sizes; larger segments are not merged, so that rewriting one does not take too long
)

// merge makes one segment of several of a size, or of one that has many dead memories.
func (e *edition) merge(ctx context.Context) (merged bool, err error) {
	var sizes []segmentSize
	err = e.view(ctx, func(ctx context.Context, now Snapshot, index *StoredIndex) error {
		sizes = nil
		for _, ref := range index.Segments {
			segment, err := e.live.head(ctx, now, ref)
			if err != nil {
				return err
			}
			sizes = append(sizes, segmentSize{ref.ID, segment.Living(), segment.Size()})
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	chosen := toMerge(sizes, e.live.limits.smallest)
	if len(chosen) == 0 {
		return false, nil
	}
	return true, e.rewrite(ctx, chosen)
}

// A segmentSize says how many memories a segment has.
type segmentSize struct {
	id          SegmentID
	living, all int
}

// toMerge chooses segments to merge.
func toMerge(segments []segmentSize, smallest int) []SegmentID {
	var levels [mergeLevels][]segmentSize
	for _, s := range segments {
		if dead := s.all - s.living; 4*dead > s.all {
			return []SegmentID{s.id}
		}
		level := 0
		for size := smallest; level < mergeLevels && s.living > size; size *= mergeTogether {
			level++
		}
		if level < mergeLevels {
			levels[level] = append(levels[level], s)
		}
	}
	for _, level := range levels {
		if len(level) < mergeTogether {
			continue
		}
		slices.SortFunc(level, func(x, y segmentSize) int { return cmp.Or(cmp.Compare(x.living, y.living), cmp.Compare(x.id, y.id)) })
		var chosen []SegmentID
		for _, s := range level[:mergeTogether] {
			chosen = append(chosen, s.id)
		}
		return chosen
	}
	return nil
}

// errReplaced is an ErrRevised: somebody else has replaced a segment.
var errReplaced = errors.Join(ErrRevised)

// rewrite replaces segments by one that has their living memories.
//
// Errors: errReplaced if the index does not have one of the segments any more.
func (e *edition) rewrite(ctx context.Context, chosen []SegmentID) error {
	old := map[SegmentID]*liveSegment{}
	all := func(index *StoredIndex) error {
		for _, id := range chosen {
			if index.find(id) < 0 {
				return errReplaced
			}
		}
		return nil
	}
	var id SegmentID
	err := error(ErrRevised)
	for n := 0; n < publishAttempts && errors.Is(err, ErrRevised); n++ {
		err = e.view(ctx, func(ctx context.Context, now Snapshot, index *StoredIndex) (err error) {
			if err := all(index); err != nil {
				return err
			}
			for _, id := range chosen {
				if old[id], err = e.live.head(ctx, now, index.Segments[index.find(id)]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		id, err = e.announce(ctx)
	}
	if err != nil {
		return err
	}
	some, err := e.write(ctx, id, e.sources(old, chosen)...)
	if err == nil {
		err = e.publish(ctx, false, func(ctx context.Context, now Snapshot, index *StoredIndex) error {
			if err := all(index); err != nil {
				return err
			}
			return e.replace(ctx, now, index, old, chosen, id, some)
		})
	}
	if err != nil || !some {
		e.discard(ctx, id)
	}
	if errors.Is(err, ErrIndex) {
		// Perhaps a segment has no blocks any more because the index does not have it.
		if gone := e.view(ctx, func(_ context.Context, _ Snapshot, index *StoredIndex) error { return all(index) }); gone != nil {
			return gone
		}
	}
	return err
}

// sources returns segments as what another one is made from.
func (e *edition) sources(segments map[SegmentID]*liveSegment, chosen []SegmentID) (sources []Source) {
	for _, id := range chosen {
		sources = append(sources, segments[id].Source(func(ctx context.Context, n int) ([]byte, error) {
			e.pacer.pause(ctx)
			block, err := e.live.storage.Block(ctx, e.store, id, n)
			if err != nil {
				return nil, err
			}
			return unseal(id, n, block)
		}))
	}
	return sources
}

// replace replaces segments of an index by one that was made of them when they were old.
func (e *edition) replace(ctx context.Context, now Snapshot, index *StoredIndex, old map[SegmentID]*liveSegment, chosen []SegmentID, id SegmentID, some bool) error {
	made := StoredSegment{ID: id}
	var head *liveSegment
	for _, each := range chosen {
		at := index.find(each)
		ref := index.Segments[at]
		index.Segments = slices.Delete(index.Segments, at, at+1)
		if string(ref.Dead) == old[each].dead || !some {
			continue
		}
		segment, err := e.live.head(ctx, now, ref)
		if err != nil {
			return err
		}
		died, err := segment.Part(e.live.reader(now, each)).Entries(ctx, segment.deadSince(old[each].Segment))
		if err != nil {
			return err
		}
		if head == nil {
			if head, err = e.live.head(ctx, now, made); err != nil {
				return err
			}
		}
		for _, entry := range died {
			doc, known, err := head.Number(ctx, e.live.reader(now, id), entry.Key)
			if err != nil {
				return err
			}
			if known {
				head.Kill(doc)
			}
		}
	}
	if head != nil {
		made.Dead = head.sealedDead()
	}
	if some {
		index.Segments = append(index.Segments, made)
	}
	return nil
}

// deadSince returns the memories that are dead in a segment, and were not when it was old.
func (s *Segment) deadSince(old *Segment) (docs []uint32) {
	for doc := range uint32(s.Size()) {
		if s.isDead(doc) && !old.isDead(doc) {
			docs = append(docs, doc)
		}
	}
	return docs
}
