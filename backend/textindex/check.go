package textindex

import (
	"context"
	"math"

	"memento"
)

// Check reads all of a stored index, and compares it with the memories of its store.
//
// Errors: ErrIndex if it is damaged, or does not match.
func Check(ctx context.Context, now Snapshot) error {
	stored, err := now.Stored(ctx)
	if err != nil {
		return err
	}
	if stored.Seq > now.Seq() {
		return ErrIndex
	}
	changes, err := now.Changed(ctx, stored.Seq, math.MaxInt32)
	if err != nil {
		return err
	}
	changed := map[memento.MemoryID]bool{} // since
	for _, c := range changes {
		changed[c.Memory] = true
	}
	indexed := int64(0)
	for _, ref := range stored.Segments {
		n, err := checkSegment(ctx, now, ref, changed)
		if err != nil {
			return err
		}
		indexed += n
	}
	unchanged := now.Memories()
	var ids []memento.MemoryID
	for id := range changed {
		ids = append(ids, id)
	}
	for len(ids) > 0 {
		n := min(readTogether, len(ids))
		texts, err := now.Texts(ctx, ids[:n])
		if err != nil {
			return err
		}
		unchanged -= int64(len(texts))
		ids = ids[n:]
	}
	if indexed != unchanged {
		return ErrIndex
	}
	return nil
}

// checkSegment returns how many living memories of a segment have not changed since.
func checkSegment(ctx context.Context, now Snapshot, ref StoredSegment, changed map[memento.MemoryID]bool) (n int64, err error) {
	head, err := now.Block(ctx, ref.ID, HeadBlock)
	if err != nil {
		return 0, err
	}
	s, err := ref.parse(head)
	if err != nil {
		return 0, err
	}
	read := func(ctx context.Context, n int) ([]byte, error) {
		block, err := now.Block(ctx, ref.ID, n)
		if err != nil {
			return nil, err
		}
		return unseal(ref.ID, n, block)
	}
	all, err := s.Source(read).all(ctx)
	if err != nil {
		return 0, err
	}
	for e, err := range s.entries(ctx, read, postingsKey) {
		if err != nil {
			return 0, err
		}
		if e.key[:1] != postingsKey {
			break
		}
		if len(e.key) < 6 {
			return 0, ErrIndex
		}
		if err := s.postings(e, len(e.key)-4, func(Posting) {}); err != nil {
			return 0, err
		}
	}
	var ids []memento.MemoryID
	for i, d := range all.docs {
		if id := memento.MemoryID(d.Key); !d.dead && !changed[id] {
			ids = append(ids, id)
		}
		if len(ids) == readTogether || i == len(all.docs)-1 && len(ids) > 0 {
			texts, err := now.Texts(ctx, ids)
			if err != nil {
				return 0, err
			}
			if len(texts) != len(ids) {
				return 0, ErrIndex
			}
			n += int64(len(ids))
			ids = ids[:0]
		}
	}
	return n, nil
}
