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
	// of Seq, as [Store.PruneHistory] determines them.
	CorrectedTimes []CorrectedTime
}

// EndOfTime is later than any version: as PruneOptions.Before, it keeps no version for
// its age.
var EndOfTime = time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)

// Pruned says what a Prune removed, or would remove.
type Pruned struct {
	Versions int64
	Bytes    int64 // of their contents, whether or not other versions have the same
}

// A Pruner decides for [History.Prune] which versions are removed. Backends share it.
// Goes must be called in descending order of Seq, for all versions of a store or for all
// versions of some memories.
type Pruner struct {
	PruneOptions
	seen map[MemoryID]*memoryVersions
}

// memoryVersions is what a Pruner knows of one memory from the versions seen so far.
type memoryVersions struct {
	living       bool
	seen         int       // number of versions seen
	supersededAt time.Time // when the next older version was superseded
	removeRest   bool      // whether a version is removed: then all older ones are, whatever their times in an imported history
}

// Goes reports whether v is removed.
func (p *Pruner) Goes(v *Version) bool {
	s := p.seen[v.Memory]
	present := false
	made := correctedTime(p.CorrectedTimes, v)
	if s == nil {
		if p.seen == nil {
			p.seen = map[MemoryID]*memoryVersions{}
		}
		s = &memoryVersions{living: v.Operation != Deleted, supersededAt: made}
		p.seen[v.Memory] = s
		present = s.living
	}
	s.removeRest = s.removeRest || !present && s.supersededAt.Before(p.Before) && !(s.living && s.seen < p.Keep)
	s.seen++
	s.supersededAt = made
	return s.removeRest
}

// living reports whether a memory, of which versions were seen, exists.
func (p *Pruner) living(id MemoryID) bool {
	s := p.seen[id]
	return s != nil && s.living
}

// pruneTimeout bounds the pruning after a write to a store without history.
const pruneTimeout = 30 * time.Second

// pruneReplaced removes the versions that were replaced by versions, in a store that
// keeps no history. Errors are ignored, since the write has succeeded: PruneHistory
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

// PruneHistory removes the versions that the store's settings no longer retain at the
// time at; see [Retention] and [History.Prune]. With dryRun it only counts them. Like
// [Store.Expire], it trusts the time that it is given.
func (s *Store) PruneHistory(ctx context.Context, at time.Time, dryRun bool) (Pruned, error) {
	return s.pruneHistory(ctx, at, maintenanceRun{dryRun: dryRun})
}

func (s *Store) pruneHistory(ctx context.Context, at time.Time, how maintenanceRun) (Pruned, error) {
	info, made, err := s.infoIfCreated(ctx)
	if err != nil || !made {
		return Pruned{}, err
	}
	keep := info.Settings.Retention
	switch {
	case keep.Age == Forever:
		return Pruned{}, nil
	case keep.None(): // independent of time
		return s.prune(ctx, info.ID, PruneOptions{Before: EndOfTime, Keep: keep.Versions, DryRun: how.dryRun})
	}
	return s.pruneOld(ctx, info.ID, PruneOptions{Before: at.Add(-keep.Age), Keep: keep.Versions}, at, how)
}

// Prune is [History.Prune] at the time at, which is trusted: times of versions that
// cannot be right are corrected and, unless share is 0, nothing is removed if it is more
// than that share of the versions, in percent. Versions that were superseded after at
// stay, except that opts.Before = EndOfTime ignores all times.
//
// Errors: a *HeldError, together with what would be removed; those of History.Prune.
func (s *Store) Prune(ctx context.Context, opts PruneOptions, at time.Time, share int) (Pruned, error) {
	info, err := s.Info(ctx)
	if err != nil {
		return Pruned{}, err
	}
	if !opts.Before.Before(EndOfTime) {
		return s.prune(ctx, info.ID, opts)
	}
	return s.pruneOld(ctx, info.ID, opts, at, maintenanceRun{opts.DryRun, share})
}

func (s *Store) pruneOld(ctx context.Context, id StoreID, opts PruneOptions, at time.Time, how maintenanceRun) (sum Pruned, err error) {
	opts.DryRun = true
	if sum, err = s.prune(ctx, id, opts); err != nil || sum.Versions == 0 {
		return sum, err
	}
	wrong, total, err := s.correctedTimes(ctx, at, nil)
	if err != nil {
		return Pruned{}, err
	}
	if opts.CorrectedTimes = wrong; len(wrong) > 0 {
		if sum, err = s.prune(ctx, id, opts); err != nil || sum.Versions == 0 {
			return sum, err
		}
	}
	var held error
	if how.exceedsShare(HeldVersions, sum.Versions, total) != nil { // count more exactly only if even the total exceeds the share
		late, err := s.countOverdue(ctx, opts, at)
		if err != nil {
			return Pruned{}, err
		}
		held = how.exceedsShare(HeldVersions, late, total)
	}
	if how.dryRun || held != nil {
		return sum, held
	}
	opts.DryRun = false
	return s.prune(ctx, id, opts)
}

// prune removes versions; see [History.Prune].
func (s *Store) prune(ctx context.Context, id StoreID, opts PruneOptions) (sum Pruned, err error) {
	defer s.observe(ctx, "prune", id)(&err)
	return s.backend.Prune(ctx, id, opts)
}
