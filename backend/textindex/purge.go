package textindex

import (
	"context"
	"errors"

	"memento"
)

// purgeAttempts is how often a segment is rewritten because others have purged the index
// meanwhile, before the index is dropped.
const purgeAttempts = 5

// Purge removes all words from the storage that no version of a store's memories has any
// more, because they were redacted or pruned. It calls rest after each step. In the
// background, it gives way to others.
//
// It ends although other processes change the index: what they have begun before is
// abandoned, and what they begin later has none of those words.
func (l *Live) Purge(ctx context.Context, store memento.StoreID, background bool, rest func(context.Context) error) error {
	s := l.store(store)
	if err := s.purging.take(ctx); err != nil { // otherwise purges would abandon each other's segments
		return err
	}
	defer s.purging.give()
	e := &edition{live: l, store: store}
	if background {
		e.pacer = l.indexer.newPacer(farBehind + 1) // it should not take long either
	}
	err := e.purge(ctx, rest)
	if errors.Is(err, memento.ErrNoSpace) || errors.Is(err, ErrIndex) || errors.Is(err, ErrRevised) {
		err = e.publish(ctx, true, func(_ context.Context, _ Snapshot, index *StoredIndex) error {
			*index = StoredIndex{} // it is made again from the store's history
			return nil
		})
		l.Behind(store)
	}
	l.blocks.Clear()
	for {
		if err != nil {
			return err
		}
		more := false
		if more, err = l.storage.Sweep(ctx, store); err != nil || !more {
			return err
		}
		err = rest(ctx)
	}
}

// PurgeRequests is implemented by a [Storage] that counts requests to purge an index. They are
// made in the transactions that remove something for good.
type PurgeRequests interface {
	// Requested returns the number of the newest request that is not carried out yet; 0 if
	// there is none.
	Requested(ctx context.Context, store memento.StoreID) (request int64, err error)

	// Purged says that a request, and those before it, are carried out.
	Purged(ctx context.Context, store memento.StoreID, request int64) error
}

// PurgeRequested purges the index of a store if that was requested. If it fails, it is done
// in the background.
func (l *Live) PurgeRequested(ctx context.Context, store memento.StoreID) error {
	_, err := l.purgeRequested(ctx, store, false)
	if err != nil {
		l.BehindAfter(store, retryIndexing)
	}
	return err
}

func (l *Live) purgeRequested(ctx context.Context, store memento.StoreID, background bool) (purged bool, err error) {
	requests, has := l.storage.(PurgeRequests)
	if !has {
		return false, nil
	}
	request, err := requests.Requested(ctx, store)
	if err != nil || request == 0 {
		return false, err
	}
	if err := l.Purge(ctx, store, background, context.Context.Err); err != nil {
		return false, err
	}
	return true, requests.Purged(ctx, store, request)
}

func (e *edition) purge(ctx context.Context, rest func(context.Context) error) error {
	var chosen []SegmentID
	// Once this is published, merges of other processes leave the dead memories out.
	err := e.publish(ctx, true, func(ctx context.Context, now Snapshot, index *StoredIndex) error {
		for seq := index.Seq; seq < now.Seq(); {
			changes, err := now.Changed(ctx, seq, e.live.limits.maxFlush)
			if err == nil {
				err = e.kill(ctx, now, index, changes)
			}
			if err != nil {
				return err
			}
			seq = after(changes, e.live.limits.maxFlush, now)
		}
		chosen = nil
		now.Long()
		for _, ref := range index.Segments {
			if len(ref.Dead) == 0 {
				continue
			}
			segment, err := e.live.head(ctx, now, ref)
			if err != nil {
				return err
			}
			if erased, err := segment.hasErased(ctx, now); err != nil {
				return err
			} else if erased {
				chosen = append(chosen, ref.ID)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range chosen {
		err := error(ErrRevised)
		for n := 0; n < purgeAttempts && errors.Is(err, ErrRevised); n++ {
			if err = e.rewrite(ctx, []SegmentID{id}); errors.Is(err, errReplaced) {
				err = nil
			}
		}
		if err == nil {
			err = rest(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hasErased reports whether a segment has a dead memory as it was in a version that was
// redacted or pruned.
func (s *liveSegment) hasErased(ctx context.Context, now Snapshot) (bool, error) {
	var seqs []int64
	for doc := range uint32(s.Size()) {
		if !s.isDead(doc) {
			continue
		}
		if seqs = append(seqs, s.seqs[doc]); len(seqs) < 1024 {
			continue
		}
		kept, err := now.Kept(ctx, seqs)
		if err != nil || len(kept) < len(seqs) {
			return err == nil, err
		}
		seqs = seqs[:0]
	}
	kept, err := now.Kept(ctx, seqs)
	return err == nil && len(kept) < len(seqs), err
}
