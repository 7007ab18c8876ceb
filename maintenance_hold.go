package memento

import (
	"context"
	"fmt"
	"time"
)

// Upkeep that removes more than usual is held until somebody says that it is meant. The
// numbers are such that the passage of time is never held: the longest pause of upkeep
// whose length is believed without a witness is 8 days, see [Maintainer], in which 8 of
// the 38 days go that a history of 30 has by then, which is 21 %.
const (
	// DefaultShare is how much of a store's memories, or of its versions, in percent,
	// upkeep removes in a run without a word.
	DefaultShare = 25

	// As many go in any case: a store of few would be held all the time otherwise.
	minHeldMemories = 2
	minHeldVersions = 10

	// usualDelay is how late versions may be removed without counting towards the
	// share. A history of an hour goes almost whole with each run, and that of a memory
	// that was deleted at once: runs are an hour apart, or a day.
	overdueAfter = 25 * time.Hour
)

// What upkeep removes.
const (
	HeldMemories = "memories"
	HeldVersions = "versions"
)

// A HeldError says that upkeep would remove more of a store than usual, and has removed
// nothing. It is [ErrHeld].
type HeldError struct {
	What  string // HeldMemories or HeldVersions
	Count int64  // how many would go; of versions, those that should have gone more than a day before
	Of    int64  // how many there are
	Share int    // how many may go, in percent
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("maintenance is held: it would remove %d of %d %s, more than %d %%", e.Count, e.Of, e.What, e.Share)
}

func (e *HeldError) Unwrap() error { return ErrHeld }

// holds returns a *HeldError if removing n of what a store has is out of the usual.
func (r maintenanceRun) exceedsShare(what string, n, of int64) error {
	floor := int64(minHeldVersions)
	if what == HeldMemories {
		floor = minHeldMemories
	}
	if r.share <= 0 || r.share >= 100 || n <= floor || n*100 <= of*int64(r.share) {
		return nil
	}
	return &HeldError{what, n, of, r.share}
}

// overdue counts the versions that go by opts, and should have gone more than
// usualDelay before a time.
func (s *Store) countOverdue(ctx context.Context, opts PruneOptions, at time.Time) (late int64, err error) {
	p := Pruner{PruneOptions: opts}
	age := at.Sub(opts.Before)
	made := map[MemoryID][]int64{} // when versions were, in microseconds, newest first
	for v, err := range s.Versions(ctx, VersionListOptions{Memory: opts.Memory}) {
		if err != nil {
			return 0, err
		}
		goes, newer := p.Goes(&v), made[v.Memory]
		if goes {
			due := correctedTime(opts.CorrectedTimes, &v) // of a deletion
			if len(newer) > 0 {
				due = time.UnixMicro(newer[len(newer)-1])
			}
			due = due.Add(age)
			// What was among the newest of a living memory was kept whatever its age,
			// until one more was made, or the memory deleted.
			if i := len(newer) - opts.Keep; opts.Keep > 0 && i >= 0 || !p.living(v.Memory) && len(newer) > 0 {
				if !p.living(v.Memory) {
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
		made[v.Memory] = append(newer, correctedTime(opts.CorrectedTimes, &v).UnixMicro())
	}
	return late, nil
}

// A run is how upkeep is done.
type maintenanceRun struct {
	dryRun bool
	share  int // the most of what a store has, in percent, that goes without a word; 0 for all
}
