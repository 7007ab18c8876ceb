package textindex

import (
	"context"

	"memento"
)

// Reconcile marks as dead, in an index that was stored before, what is not the newest version
// of a memory of its store any more. block returns blocks of the index's segments, newest the
// seq of a memory's newest version. It returns how many memories of the index are living. A
// version after those that the index covers counts as dead: it is among the store's changes.
//
// Errors: ErrIndex if the index is damaged, which all blocks are checked for; the context's.
func Reconcile(ctx context.Context, stored StoredIndex, block func(id SegmentID, n int) ([]byte, error), newest func(memento.MemoryID) (seq int64, exists bool)) (now StoredIndex, living int64, err error) {
	now.Seq = stored.Seq
	for _, ref := range stored.Segments {
		s, err := reconciled(ctx, stored.Seq, ref, block, newest)
		if err != nil {
			return StoredIndex{}, 0, err
		}
		now.Segments = append(now.Segments, StoredSegment{ref.ID, s.sealedDead()})
		living += int64(s.Living())
	}
	return now, living, nil
}

func reconciled(ctx context.Context, upto int64, ref StoredSegment, block func(SegmentID, int) ([]byte, error), newest func(memento.MemoryID) (int64, bool)) (*liveSegment, error) {
	head, err := block(ref.ID, HeadBlock)
	if err != nil {
		return nil, err
	}
	parsed, err := ref.parse(head)
	if err != nil {
		return nil, err
	}
	s := &liveSegment{id: ref.ID, Segment: parsed}
	read := func(ctx context.Context, n int) ([]byte, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		data, err := block(ref.ID, n)
		if err != nil {
			return nil, err
		}
		return unseal(ref.ID, n, data)
	}
	for n := range s.Blocks() {
		if _, err := read(ctx, n); err != nil {
			return nil, err
		}
	}
	doc := 0
	c, ok := s.seek(ctx, read, entriesKey)
	for ; ok && c.begins(entriesKey); ok = c.next() {
		for r := (decoder{data: c.value}); len(r.data) > 0; doc++ {
			key := r.bytes()
			r.bytes()
			if r.failed || doc >= s.Size() {
				return nil, ErrIndex
			}
			if s.isDead(uint32(doc)) {
				continue
			}
			if seq, exists := newest(memento.MemoryID(key)); !exists || seq != s.seqs[doc] || seq > upto {
				s.Kill(uint32(doc))
			}
		}
	}
	if c.err != nil {
		return nil, c.err
	}
	if doc != s.Size() {
		return nil, ErrIndex
	}
	return s, ctx.Err()
}
