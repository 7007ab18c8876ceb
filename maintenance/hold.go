package maintenance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"memento"
	"memento/backend"
)

// Maintenance that would remove more than usual is held until it is confirmed. The share
// is chosen so that the mere passage of time never exceeds it: the longest pause of
// maintenance that is trusted without other evidence is 8 days, see [Runner]. After
// it, 8 of the 38 days of a history of 30 days are removed, which is 21 %.
const (
	// DefaultShare is the share of a store's memories, or of its versions, in percent,
	// that a run removes without confirmation.
	DefaultShare = 25

	// Up to so many are removed in any case: small stores would be held all the time
	// otherwise.
	minHeldMemories = 2
	minHeldVersions = 10

	// overdueAfter is the delay after which a version that should have been removed
	// counts towards the share. Runs are an hour or a day apart, and each removes almost
	// all of a history of one hour, and all of the history of a deleted memory at once.
	overdueAfter = 25 * time.Hour
)

// ErrHeld says that maintenance has removed nothing. It is always a *ClockError or a
// *HeldError.
var ErrHeld = errors.New("maintenance is held")

// What maintenance removes.
const (
	HeldMemories = "memories"
	HeldVersions = "versions"
)

// A HeldError says that maintenance would have removed more of a store than usual, and
// has removed nothing. It is [ErrHeld].
type HeldError struct {
	What  string // HeldMemories or HeldVersions
	Count int64  // how many would be removed; of versions, only those more than a day overdue
	Of    int64  // how many there are
	Share int    // how many may be removed, in percent
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("maintenance is held: it would remove %d of %d %s, more than %d %%", e.Count, e.Of, e.What, e.Share)
}

func (e *HeldError) Unwrap() error { return ErrHeld }

// exceedsShare returns a *HeldError if n of the of items of a store are more than may be
// removed.
func (r run) exceedsShare(what string, n, of int64) error {
	floor := int64(minHeldVersions)
	if what == HeldMemories {
		floor = minHeldMemories
	}
	if r.share <= 0 || r.share >= 100 || n <= floor || n*100 <= of*int64(r.share) {
		return nil
	}
	return &HeldError{what, n, of, r.share}
}

// countOverdue counts the versions that are removed by opts, and should have been removed
// more than overdueAfter before the time at.
func countOverdue(ctx context.Context, s *memento.Store, opts memento.PruneOptions, at time.Time) (late int64, err error) {
	p := backend.Pruner{PruneOptions: opts}
	age := at.Sub(opts.Before)
	made := map[memento.MemoryID][]int64{} // when versions were made, in microseconds, newest first
	for v, err := range s.Versions(ctx, memento.VersionListOptions{Memory: opts.Memory}) {
		if err != nil {
			return 0, err
		}
		goes, newer := p.Goes(&v), made[v.Memory]
		if goes {
			due := backend.TimeOf(opts.CorrectedTimes, &v) // of a deletion, which is superseded at once
			if len(newer) > 0 {
				due = time.UnixMicro(newer[len(newer)-1])
			}
			due = due.Add(age)
			// A version among the newest of a living memory was kept whatever its age,
			// until another was made or the memory was deleted.
			if i := len(newer) - opts.Keep; opts.Keep > 0 && i >= 0 || !p.Living(v.Memory) && len(newer) > 0 {
				if !p.Living(v.Memory) {
					i = 0
				}
				if pushed := time.UnixMicro(newer[i]); pushed.After(due) {
					due = pushed
				}
			}
			if at.Sub(due) > overdueAfter {
				late++
			}
		}
		made[v.Memory] = append(newer, backend.TimeOf(opts.CorrectedTimes, &v).UnixMicro())
	}
	return late, nil
}

// A run has the options of one run.
type run struct {
	dryRun bool
	share  int // the most of a store, in percent, that may be removed; 0 for all
}
