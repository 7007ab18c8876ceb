package maintenance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"memento"
	"memento/backend"
	"memento/internal/times"
)

// An Expired describes a memory that has expired by its store's settings.
type Expired struct {
	Memory memento.Memory // without contents
	Used   time.Time      // when it was last read or written
	At     time.Time      // from when on it counts as expired
}

// readTimeError is by how much the recorded time of a read may be too early; see
// [memento.ReadMarker]. Memories expire later by this much, so that none in use expires.
const readTimeError = time.Hour

// Expire removes the memories that have expired at the time at, and returns them,
// longest unused first. With dryRun it only returns them, and at can be in the future. The deletions are versions by
// the system, and can be restored like others.
//
// A memory that is written meanwhile stays, and so does one that is read-only.
//
// Expire trusts the time that it is given, and removes any number of memories. Programs
// whose clock may be wrong use a [Runner].
func Expire(ctx context.Context, s *memento.Store, at time.Time, dryRun bool) ([]Expired, error) {
	return expire(ctx, s, at, run{dryRun: dryRun})
}

func expire(ctx context.Context, s *memento.Store, at time.Time, how run) ([]Expired, error) {
	expired, living, err := findExpired(ctx, s, at)
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
	by := memento.Actor{Kind: memento.ActorSystem, ID: "expiry"}
	var gone []Expired
	for _, x := range expired {
		_, err := s.Apply(ctx, by, memento.Remove{Path: x.Memory.Path, If: memento.IfVersion(x.Memory.Version)})
		switch {
		case err == nil:
			gone = append(gone, x)
		case !isStaleOrProtected(err):
			// The path may look sensitive, and this may be logged.
			if at, ok := errors.AsType[*memento.Error](err); ok {
				err = at.Err
			}
			return gone, fmt.Errorf("expire memory %s: %w", x.Memory.ID, err)
		}
	}
	return gone, nil
}

// isStaleOrProtected reports whether the change of a memory failed because another
// change of the memory, or of the settings, came first.
func isStaleOrProtected(err error) bool {
	return errors.Is(err, memento.ErrConflict) || errors.Is(err, memento.ErrNotExist) || errors.Is(err, memento.ErrIsDir) || errors.Is(err, memento.ErrProtected)
}

// findExpired returns the memories that have expired at the time at, and the number of all
// memories.
func findExpired(ctx context.Context, s *memento.Store, at time.Time) (expired []Expired, living int64, err error) {
	info, made, err := s.InfoIfCreated(ctx)
	if err != nil || !made {
		return nil, 0, err
	}
	settings := info.Settings
	if settings.Expiry.After == 0 {
		return nil, 0, nil
	}
	if err := s.SyncReads(ctx); err != nil {
		return nil, 0, err
	}
	// Memories that have expired, or whose times may be wrong.
	var candidates []memento.Memory
	for e, err := range s.List(ctx, memento.ListOptions{}) {
		if err != nil {
			return nil, 0, err
		}
		m := e.Memory
		if e.Foreign {
			continue
		}
		living++
		old := expires(&settings.Expiry, m, at) || m.UpdatedAt.Sub(at) > times.MaxSkew && !m.ReadAt.After(m.UpdatedAt)
		if old && !settings.Expiry.Keeps(m.Path) && !settings.IsReadOnly(m.Path) {
			candidates = append(candidates, m)
		}
	}
	if len(candidates) == 0 {
		return nil, living, nil
	}
	seqs := map[memento.VersionID]int64{}
	for _, m := range candidates {
		seqs[m.Version] = 0
	}
	wrong, _, err := correctedTimes(ctx, s, at, seqs)
	if err != nil {
		return nil, living, err
	}
	for _, m := range candidates {
		m.UpdatedAt = backend.TimeOf(wrong, &memento.Version{ID: m.Version, Seq: seqs[m.Version], CreatedAt: m.UpdatedAt})
		if expires(&settings.Expiry, m, at) {
			used := usedAt(m)
			expired = append(expired, Expired{m, used, used.Add(settings.Expiry.After + readTimeError)})
		}
	}
	slices.SortStableFunc(expired, func(a, b Expired) int { return a.Used.Compare(b.Used) })
	return expired, living, nil
}

// usedAt returns when a memory was last read or written.
func usedAt(m memento.Memory) time.Time {
	if m.ReadAt.After(m.UpdatedAt) {
		return m.ReadAt
	}
	return m.UpdatedAt
}

// expires reports whether a memory has expired at the time at, by its own times.
func expires(e *memento.Expiry, m memento.Memory, at time.Time) bool {
	return at.Sub(usedAt(m)) >= e.After+readTimeError
}
