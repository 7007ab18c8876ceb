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
const readTimeError = time.Hour

// Expire removes the memories that have expired at a time, and returns them,
// longest unused first. With dryRun it only says which. The versions that it
// makes are by the system, and can be restored like others.
//
// A memory that is written meanwhile stays, and so does one that is read-only.
//
// Expire believes the time it is given, and removes however much there is. Programs
// whose clock nobody watches use a Maintainer].
func (s *Store) Expire(ctx context.Context, at time.Time, dryRun bool) ([]Expired, error) {
	return s.expire(ctx, at, maintenanceRun{dryRun: dryRun})
}

func (s *Store) expire(ctx context.Context, at time.Time, how maintenanceRun) ([]Expired, error) {
	expired, living, err := s.expired(ctx, at)
	if err != nil || len(expired) == 0 {
		return nil, err
	}
	held := how.exceedsShare(HeldMemories, int64(len(expired)), living)
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
		case !isStaleOrProtected(err):
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
func isStaleOrProtected(err error) bool { return isStale(err) || errors.Is(err, ErrProtected) }

// expired returns the memories that have expired at a time, and how many there are.
func (s *Store) expired(ctx context.Context, at time.Time) (expired []Expired, living int64, err error) {
	info, made, err := s.infoIfCreated(ctx)
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
		old := rules.expires(m, at) || m.UpdatedAt.Sub(at) > maxSkew && !m.ReadAt.After(m.UpdatedAt)
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
	return at.Sub(usedAt(m)) >= s.Expiry.After+readTimeError
}
