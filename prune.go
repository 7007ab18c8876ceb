package memento

import (
	"context"
	"time"
)

// PruneOptions choose what [History.Prune] removes.
type PruneOptions struct {
	Before time.Time
	Keep   int
	Memory MemoryID // only versions of this one, if set
	DryRun bool     // only counts

	// CorrectedTimes has the versions whose times cannot be right, in order of Seq, as
	// [Store.PruneHistory] has found them.
	CorrectedTimes []CorrectedTime
}

// EndOfTime is later than any version: with it as PruneOptions.Before, age keeps nothing.
var EndOfTime = time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)

// Pruned is what a Prune removed, or would remove.
type Pruned struct {
	Versions int64
	Bytes    int64 // of their contents, whether or not other versions have the same
}

// A Pruner decides for [History.Prune], of one version after the other, which go.
// It is shared by backends, and asked in falling order of Seq, of all versions of
// a store or of all of some memories.
type Pruner struct {
	PruneOptions
	seen map[MemoryID]*memoryVersions
}

// A succession is what a Pruner has seen of one memory's versions.
type memoryVersions struct {
	living       bool
	seen         int       // versions seen
	supersededAt time.Time // when the version before those ceased to be the present
	removeRest   bool      // whether one of those goes: then what is older goes too, whatever an imported history says of its time
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

// living reports whether a memory that it was asked of lives.
func (p *Pruner) living(id MemoryID) bool {
	s := p.seen[id]
	return s != nil && s.living
}

// forgetting is how long the removal of history may take after a write.
const pruneTimeout = 30 * time.Second

// forget removes what versions have replaced, of a store that keeps no history.
// The write has happened: what cannot be removed now, PruneHistory removes.
func (s *Store) pruneReplaced(ctx context.Context, id StoreID, versions []Version) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pruneTimeout)
	defer cancel()
	const several = 20 // when it is better to look at all memories at once
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

// PruneHistory removes the versions that the store's settings do not ask to
// keep at a time; see [Retention] and [History.Prune]. With dryRun it only counts
// them. Like [Store.Expire], it believes the time it is given.
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
	case keep.None(): // which has nothing to do with time
		return s.prune(ctx, info.ID, PruneOptions{Before: EndOfTime, Keep: keep.Versions, DryRun: how.dryRun})
	}
	return s.pruneOld(ctx, info.ID, PruneOptions{Before: at.Add(-keep.Age), Keep: keep.Versions}, at, how)
}

// Prune is [History.Prune] for a caller whose opts are for a time, at, which is
// believed: it passes over times that cannot be right then and, unless share is 0,
// holds what removes more than that share of the versions, in percent. Nothing that
// ceased in the future of at goes, but with EndOfTime everything that may.
//
// Errors: a *HeldError, with what would go; those of Prune.
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
	if how.exceedsShare(HeldVersions, sum.Versions, total) != nil { // if all of it is out of the usual
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
