package memento

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// An Expired memory is one that its store's settings let expire.
type Expired struct {
	Memory Memory    // without contents
	Used   time.Time // when it was last read or written
}

// coarseReads is how far off the time of a read may be: see [ReadMarker]. A
// memory lives on for as long after its time, so that none in use expires.
const coarseReads = time.Hour

// Expire removes the memories that have expired at a time, and returns them,
// longest unused first. With dryRun it only says which. The versions that it
// makes are by the system, and can be restored like others.
//
// A memory that is written meanwhile stays, and so does one that is read-only.
//
// Expire believes the time it is given, and removes however much there is. Programs
// whose clock nobody watches use a Maintainer].
func (s *Store) Expire(ctx context.Context, at time.Time, dryRun bool) ([]Expired, error) {
	return s.expire(ctx, at, run{dryRun: dryRun})
}

// A run is how upkeep is done.
type run struct {
	dryRun bool
	share  int // the most of what a store has, in percent, that goes without a word; 0 for all
}

func (s *Store) expire(ctx context.Context, at time.Time, how run) ([]Expired, error) {
	expired, living, err := s.expired(ctx, at)
	if err != nil || len(expired) == 0 {
		return nil, err
	}
	held := how.holds(HeldMemories, int64(len(expired)), living)
	switch {
	case how.dryRun && held != nil:
		return expired, held
	case how.dryRun:
		return expired, nil
	case held != nil:
		return nil, held
	}
	by := Actor{Kind: ActorSystem, ID: "expiry"}
	var gone []Expired
	for _, x := range expired {
		_, err := s.Apply(ctx, by, Remove{Path: x.Memory.Path, If: IfVersion(x.Memory.Version)})
		switch {
		case err == nil:
			gone = append(gone, x)
		case !isOutrun(err):
			// The path may look sensitive, and this may be logged.
			if at, ok := errors.AsType[*Error](err); ok {
				err = at.Err
			}
			return gone, fmt.Errorf("expire memory %s: %w", x.Memory.ID, err)
		}
	}
	return gone, nil
}

// isOutrun reports whether a change of one version failed because another, or a
// change of the settings, came first.
func isOutrun(err error) bool { return isMissed(err) || errors.Is(err, ErrProtected) }

// expired returns the memories that have expired at a time, and how many there are.
func (s *Store) expired(ctx context.Context, at time.Time) (expired []Expired, living int64, err error) {
	info, made, err := s.infoIfMade(ctx)
	if err != nil || !made {
		return nil, 0, err
	}
	rules := info.Settings
	if rules.Expiry.After == 0 {
		return nil, 0, nil
	}
	if s.marker != nil {
		if err := s.marker.SyncReads(ctx); err != nil {
			return nil, 0, err
		}
	}
	var doubtful []Memory // that have expired, if their times are right, or may have if they are not
	for e, err := range s.List(ctx, ListOptions{}) {
		if err != nil {
			return nil, 0, err
		}
		m := e.Memory
		if e.Foreign {
			continue
		}
		living++
		old := rules.expires(m, at) || m.UpdatedAt.Sub(at) > smallSkew && !m.ReadAt.After(m.UpdatedAt)
		if old && !matchAny(rules.Expiry.Keep, m.Path) && !matchAny(rules.ReadOnly, m.Path) {
			doubtful = append(doubtful, m)
		}
	}
	if len(doubtful) == 0 {
		return nil, living, nil
	}
	seqs := map[VersionID]int64{}
	for _, m := range doubtful {
		seqs[m.Version] = 0
	}
	wrong, _, err := s.correctedTimes(ctx, at, seqs)
	if err != nil {
		return nil, living, err
	}
	for _, m := range doubtful {
		m.UpdatedAt = correctedTime(wrong, &Version{ID: m.Version, Seq: seqs[m.Version], CreatedAt: m.UpdatedAt})
		if rules.expires(m, at) {
			expired = append(expired, Expired{m, usedAt(m)})
		}
	}
	slices.SortStableFunc(expired, func(a, b Expired) int { return a.Used.Compare(b.Used) })
	return expired, living, nil
}

// usedAt is when a memory was last read or written.
func usedAt(m Memory) time.Time {
	if m.ReadAt.After(m.UpdatedAt) {
		return m.ReadAt
	}
	return m.UpdatedAt
}

// expires reports whether a memory has expired at a time, by its own times.
func (s *Settings) expires(m Memory, at time.Time) bool {
	return at.Sub(usedAt(m)) >= s.Expiry.After+coarseReads
}

// correctedTimes returns the versions whose times cannot be right at a time, and how many
// versions there are. It sets the Seqs of those in seqs.
func (s *Store) correctedTimes(ctx context.Context, at time.Time, seqs map[VersionID]int64) (wrong []CorrectedTime, total int64, err error) {
	d := dating{now: at}
	for v, err := range s.Versions(ctx, VersionListOptions{OldestFirst: true}) {
		if err != nil {
			return nil, 0, err
		}
		d.add(&v)
		total++
		if _, asked := seqs[v.ID]; asked {
			seqs[v.ID] = v.Seq
		}
	}
	return d.result(), total, nil
}

// PruneHistory removes the versions that the store's settings do not ask to
// keep at a time; see [Retention] and [History.Prune]. With dryRun it only counts
// them. Like [Store.Expire], it believes the time it is given.
func (s *Store) PruneHistory(ctx context.Context, at time.Time, dryRun bool) (Pruned, error) {
	return s.collect(ctx, at, run{dryRun: dryRun})
}

func (s *Store) collect(ctx context.Context, at time.Time, how run) (Pruned, error) {
	info, made, err := s.infoIfMade(ctx)
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
	return s.pruneOld(ctx, info.ID, opts, at, run{opts.DryRun, share})
}

func (s *Store) pruneOld(ctx context.Context, id StoreID, opts PruneOptions, at time.Time, how run) (sum Pruned, err error) {
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
	if how.holds(HeldVersions, sum.Versions, total) != nil { // if all of it is out of the usual
		late, err := s.overdue(ctx, opts, at)
		if err != nil {
			return Pruned{}, err
		}
		held = how.holds(HeldVersions, late, total)
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
