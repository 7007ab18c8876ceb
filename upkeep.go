package memento

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
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
func (s *Store) Expire(ctx context.Context, at time.Time, dryRun bool) ([]Expired, error) {
	expired, err := s.expired(ctx, at)
	if err != nil || dryRun {
		return expired, err
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

func (s *Store) expired(ctx context.Context, at time.Time) ([]Expired, error) {
	info, made, err := s.infoIfMade(ctx)
	if err != nil || !made {
		return nil, err
	}
	rules := info.Settings
	if rules.Expiry.After == 0 {
		return nil, nil
	}
	if s.marker != nil {
		if err := s.marker.SyncReads(ctx); err != nil {
			return nil, err
		}
	}
	var expired []Expired
	for e, err := range s.List(ctx, ListOptions{}) {
		if err != nil {
			return nil, err
		}
		m := e.Memory
		x := Expired{Memory: m, Used: m.UpdatedAt}
		if m.ReadAt.After(x.Used) {
			x.Used = m.ReadAt
		}
		if !e.Foreign && at.Sub(x.Used) >= rules.Expiry.After+coarseReads && !matchAny(rules.Expiry.Keep, m.Path) && !matchAny(rules.ReadOnly, m.Path) {
			expired = append(expired, x)
		}
	}
	slices.SortStableFunc(expired, func(a, b Expired) int { return a.Used.Compare(b.Used) })
	return expired, nil
}

// CollectHistory removes the versions that the store's settings do not ask to
// keep at a time; see [Retention] and [History.Prune]. With dryRun it only counts them.
func (s *Store) CollectHistory(ctx context.Context, at time.Time, dryRun bool) (Pruned, error) {
	info, made, err := s.infoIfMade(ctx)
	if err != nil || !made {
		return Pruned{}, err
	}
	keep := info.Settings.Retention
	opts := PruneOptions{Before: at.Add(-keep.Age), Keep: keep.Versions, DryRun: dryRun}
	switch {
	case keep.Age == Forever:
		return Pruned{}, nil
	case keep.None():
		opts.Before = endOfTime
	}
	return s.prune(ctx, info.ID, opts)
}

// prune removes versions; see [History.Prune].
func (s *Store) prune(ctx context.Context, id StoreID, opts PruneOptions) (sum Pruned, err error) {
	defer s.observe(ctx, "prune", id)(&err)
	return s.backend.Prune(ctx, id, opts)
}

// An Upkeep is what a store's settings asked to be done, and was.
type Upkeep struct {
	Store   StoreInfo // as it was before
	Expired []Expired
	Pruned  Pruned
}

// Maintain has every store of a workspace, archived ones included, do what its
// settings ask for as time goes by: memories expire, then history is collected.
// Programs that run on call it now and then, an hour apart for example. A store
// that fails does not keep the others from their turn.
func Maintain(ctx context.Context, b Backend, ws Workspace, at time.Time) iter.Seq2[Upkeep, error] {
	return func(yield func(Upkeep, error) bool) {
		var stores []StoreInfo // first, since a listing can keep a backend from tidying up
		for info, err := range b.ListStores(ctx, ws, StoreListOptions{IncludeArchived: true}) {
			if err != nil {
				yield(Upkeep{}, err)
				return
			}
			stores = append(stores, info)
		}
		for _, info := range stores {
			u, err := maintain(ctx, b, info, at)
			if errors.Is(err, ErrNoStore) { // deleted meanwhile
				continue
			}
			if !yield(u, err) || ctx.Err() != nil {
				return
			}
		}
	}
}

func maintain(ctx context.Context, b Backend, info StoreInfo, at time.Time) (Upkeep, error) {
	u := Upkeep{Store: info}
	s, err := OpenStore(ctx, b, info.Workspace, info.ID, nil) // nothing is written that a detector need see
	if err != nil {
		return u, err
	}
	var expiring, collecting error
	u.Expired, expiring = s.Expire(ctx, at, false)
	u.Pruned, collecting = s.CollectHistory(ctx, at, false)
	return u, cmp.Or(expiring, collecting)
}
