package memento

import (
	"context"
	"time"
)

// PruneOptions choose what [History.Prune] removes.
type PruneOptions struct {
	Before time.Time // versions that were superseded before this time are removed
	Keep   int       // the newest versions of a living memory, so many, are kept
	Memory MemoryID  // only versions of this memory, if set
	DryRun bool      // only count the versions

	// CorrectedTimes are the times of versions whose own times cannot be right, in order
	// of Seq. Package maintenance determines them.
	CorrectedTimes []CorrectedTime
}

// CorrectedTime is the time that counts for the versions with Seq from From to To, both
// included, that were made in the store, because their own times cannot be right.
type CorrectedTime struct {
	From, To int64
	At       time.Time
}

// EndOfTime is later than any version: as PruneOptions.Before, it keeps no version for
// its age.
var EndOfTime = time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)

// Pruned says what a Prune removed, or would remove.
type Pruned struct {
	Versions int64
	Bytes    int64 // of their contents, whether or not other versions have the same
}

// pruneTimeout bounds the pruning after a write to a store without history.
const pruneTimeout = 30 * time.Second

// pruneReplaced removes the versions that were replaced by versions, in a store that
// keeps no history. Errors are ignored, since the write has succeeded: maintenance
// removes what is left.
func (s *Store) pruneReplaced(ctx context.Context, id StoreID, versions []Version) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pruneTimeout)
	defer cancel()
	const several = 20 // above this, one pass over all memories is faster
	opts := PruneOptions{Before: EndOfTime}
	if len(versions) > several {
		_, _ = s.prune(ctx, id, opts)
		return
	}
	for _, v := range versions {
		opts.Memory = v.Memory
		_, _ = s.prune(ctx, id, opts)
	}
}

// Prune removes versions; see [History.Prune]. It trusts the times that it is given.
// Programs whose clock may be wrong, and those that apply a store's [Retention], use
// package maintenance.
func (s *Store) Prune(ctx context.Context, opts PruneOptions) (Pruned, error) {
	info, err := s.Info(ctx)
	if err != nil {
		return Pruned{}, err
	}
	return s.prune(ctx, info.ID, opts)
}

// prune removes versions; see [History.Prune].
func (s *Store) prune(ctx context.Context, id StoreID, opts PruneOptions) (sum Pruned, err error) {
	defer s.observe(ctx, "prune", id)(&err)
	return s.backend.Prune(ctx, id, opts)
}
