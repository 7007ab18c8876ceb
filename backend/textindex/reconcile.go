package textindex

import (
	"context"
	"runtime"
	"sync"

	"memento"
)

// Reconcile marks as dead, in an index that was stored before, what is not the newest version
// of a memory of its store any more. block returns blocks of the index's segments, which the
// caller has checked with [CheckBlock], newest the seq of a memory's newest version; several
// goroutines call both. It returns how many memories of the index are living. A version after
// those that the index covers counts as dead: it is among the store's changes.
//
// Errors: ErrIndex if the index is damaged, or lacks a block; the context's.
func Reconcile(ctx context.Context, stored StoredIndex, block func(id SegmentID, n int) ([]byte, error), newest func(memento.MemoryID) (seq int64, exists bool)) (now StoredIndex, living int64, err error) {
	now.Seq = stored.Seq
	now.Segments = make([]StoredSegment, len(stored.Segments))
	var wg sync.WaitGroup
	var mu sync.Mutex // guards what follows
	next := 0
	for range min(runtime.GOMAXPROCS(0), len(stored.Segments)) {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				stop := err != nil || i >= len(stored.Segments)
				mu.Unlock()
				if stop {
					return
				}
				s, failed := reconciled(ctx, stored.Seq, stored.Segments[i], block, newest)
				mu.Lock()
				if failed != nil {
					err = failed
				} else {
					now.Segments[i] = StoredSegment{s.id, s.sealedDead()}
					living += int64(s.Living())
				}
				mu.Unlock()
			}
		})
	}
	if wg.Wait(); err != nil {
		return StoredIndex{}, 0, err
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
		if len(data) < sealSize {
			return nil, ErrIndex
		}
		return data[:len(data)-sealSize], nil
	}
	for n := range s.Blocks() {
		if _, err := block(ref.ID, n); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
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
