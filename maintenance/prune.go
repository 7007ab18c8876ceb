package maintenance

import (
	"context"
	"time"

	"memento"
)

// PruneHistory removes the versions that the store's settings no longer retain at the
// time at; see [memento.Retention] and [memento.History.Prune]. With dryRun it only counts them. Like
// [Expire], it trusts the time that it is given.
func PruneHistory(ctx context.Context, s *memento.Store, at time.Time, dryRun bool) (memento.Pruned, error) {
	return pruneHistory(ctx, s, at, run{dryRun: dryRun})
}

func pruneHistory(ctx context.Context, s *memento.Store, at time.Time, how run) (memento.Pruned, error) {
	info, made, err := s.InfoIfCreated(ctx)
	if err != nil || !made {
		return memento.Pruned{}, err
	}
	keep := info.Settings.Retention
	switch {
	case keep.Age == memento.Forever:
		return memento.Pruned{}, nil
	case keep.None(): // independent of time
		return s.Prune(ctx, memento.PruneOptions{Before: memento.EndOfTime, Keep: keep.Versions, DryRun: how.dryRun})
	}
	return pruneOld(ctx, s, memento.PruneOptions{Before: at.Add(-keep.Age), Keep: keep.Versions}, at, how)
}

// Prune is [memento.History.Prune] at the time at, which is trusted: times of versions that
// cannot be right are corrected and, unless share is 0, nothing is removed if it is more
// than that share of the versions, in percent. Versions that were superseded after at
// stay, except that opts.Before = EndOfTime ignores all times.
//
// Errors: a *HeldError, together with what would be removed; those of History.Prune.
func Prune(ctx context.Context, s *memento.Store, opts memento.PruneOptions, at time.Time, share int) (memento.Pruned, error) {
	if !opts.Before.Before(memento.EndOfTime) {
		return s.Prune(ctx, opts)
	}
	return pruneOld(ctx, s, opts, at, run{opts.DryRun, share})
}

func pruneOld(ctx context.Context, s *memento.Store, opts memento.PruneOptions, at time.Time, how run) (sum memento.Pruned, err error) {
	opts.DryRun = true
	if sum, err = s.Prune(ctx, opts); err != nil || sum.Versions == 0 {
		return sum, err
	}
	wrong, total, err := correctedTimes(ctx, s, at, nil)
	if err != nil {
		return memento.Pruned{}, err
	}
	if opts.CorrectedTimes = wrong; len(wrong) > 0 {
		if sum, err = s.Prune(ctx, opts); err != nil || sum.Versions == 0 {
			return sum, err
		}
	}
	var held error
	if how.exceedsShare(HeldVersions, sum.Versions, total) != nil { // count more exactly only if even the total exceeds the share
		late, err := countOverdue(ctx, s, opts, at)
		if err != nil {
			return memento.Pruned{}, err
		}
		held = how.exceedsShare(HeldVersions, late, total)
	}
	if how.dryRun || held != nil {
		return sum, held
	}
	opts.DryRun = false
	return s.Prune(ctx, opts)
}
