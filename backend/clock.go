package backend

import (
	"cmp"
	"slices"
	"time"

	"memento"
	"memento/internal/times"
)

// StoredTime returns t as backends store it: in UTC and whole microseconds.
func StoredTime(t time.Time) time.Time { return times.Stored(t) }

// NextTime returns the time of a change that is made now and follows one that was
// made at last, in UTC and whole microseconds. Backends use it for versions and for
// descriptions of stores.
//
// A change has no earlier time than the one before it if last is at most a minute ahead
// of now. If it is further ahead, one of the two clocks is wrong: then the change has the
// time now, so that times recover when a clock is corrected.
func NextTime(now, last time.Time) time.Time {
	now = times.Stored(now)
	if last.After(now) && last.Sub(now) <= times.MaxSkew {
		return last
	}
	return now
}

// LastTime returns the argument last for the next [NextTime] of a store after v was
// appended: the time of v if it was made in this store, and the later of both times if it
// was imported.
func LastTime(last time.Time, v *memento.Version) time.Time {
	if v.CreatedAt.After(last) || v.IsLocal() {
		return v.CreatedAt
	}
	return last
}

// TimeOf returns the time that counts for a version, given PruneOptions.CorrectedTimes.
func TimeOf(all []memento.CorrectedTime, v *memento.Version) time.Time {
	if len(all) == 0 || !v.IsLocal() {
		return v.CreatedAt
	}
	i, _ := slices.BinarySearchFunc(all, v.Seq, func(r memento.CorrectedTime, seq int64) int { return cmp.Compare(r.To, seq) })
	if i < len(all) && all[i].From <= v.Seq {
		return all[i].At
	}
	return v.CreatedAt
}
