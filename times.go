package memento

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// smallSkew is how far the clocks of processes that share a backend may differ in
// everyday use. Within it the times of versions never go back.
const maxSkew = time.Minute

// NextTime returns the time of a change that is made now and follows one that was
// made at last, in UTC and whole microseconds. Backends use it for versions and for
// descriptions of stores.
//
// A change does not precede the one before it as long as last lies at most a minute
// ahead. If it lies further ahead, it was told by a clock that was wrong, or this one
// is: then the change carries now, so that times recover when a clock is set right.
func NextTime(now, last time.Time) time.Time {
	now = storedTime(now)
	if last.After(now) && last.Sub(now) <= maxSkew {
		return last
	}
	return now
}

// LastTime returns what the next [NextTime] of a store takes as last, after v was
// appended: the time of v if it was made here, and the later one if it was imported.
func LastTime(last time.Time, v *Version) time.Time {
	if v.CreatedAt.After(last) || v.isLocal() {
		return v.CreatedAt
	}
	return last
}

// isMadeHere reports whether a version was made in its store. One that was imported
// has the time of another store's clock, and says nothing about its neighbours.
func (v *Version) isLocal() bool { return v.ID.SeqHint() == v.Seq }

// CorrectedTime says that the versions made in a store, from one Seq to another, both
// included, count as made at a time that is not their own.
type CorrectedTime struct {
	From, To int64
	At       time.Time
}

// correctedTime returns the time that counts for v.
func correctedTime(all []CorrectedTime, v *Version) time.Time {
	if len(all) == 0 || !v.isLocal() {
		return v.CreatedAt
	}
	i, _ := slices.BinarySearchFunc(all, v.Seq, func(r CorrectedTime, seq int64) int { return cmp.Compare(r.To, seq) })
	if i < len(all) && all[i].From <= v.Seq {
		return all[i].At
	}
	return v.CreatedAt
}

// A dating finds the versions of a store whose times cannot be right, for what removes
// by age. It is told of all versions, oldest first, and errs on the side of keeping: a
// version counts as made no earlier than any that was made before it, and one of the
// future as made no earlier than the next.
type timeCorrector struct {
	now   time.Time // which is believed
	high  time.Time // the latest time so far that is not of the future
	found []CorrectedTime
	open  bool // whether the last of found waits for the next version's time
}

func (d *timeCorrector) add(v *Version) {
	if !v.isLocal() {
		return
	}
	if v.CreatedAt.Sub(d.now) > maxSkew {
		if !d.open {
			d.found = append(d.found, CorrectedTime{From: v.Seq})
			d.open = true
		}
		d.found[len(d.found)-1].To = v.Seq
		return
	}
	counts := v.CreatedAt
	if d.high.Sub(counts) > maxSkew {
		counts = d.high
	}
	d.close(counts)
	if counts.After(d.high) {
		d.high = counts
	}
	if counts.Equal(v.CreatedAt) {
		return
	}
	if n := len(d.found); n > 0 && d.found[n-1].At.Equal(counts) {
		d.found[n-1].To = v.Seq
		return
	}
	d.found = append(d.found, CorrectedTime{v.Seq, v.Seq, counts})
}

// close gives the versions that wait for it their time.
func (d *timeCorrector) close(at time.Time) {
	if d.open {
		d.found[len(d.found)-1].At = at
		d.open = false
	}
}

// result ends the dating.
func (d *timeCorrector) result() []CorrectedTime {
	d.close(d.now)
	return d.found
}

// An asOf tells which versions of a store there were at a time. It is asked of all
// versions, newest first. The time that counts is the smallest among a version's own
// and those of all later ones that were made in the store: a later change cannot be
// earlier, so what says so was told by a clock that was ahead.
//
// Source: docs/reliability.md, "A later change is not earlier".
type pastState struct {
	at       time.Time
	fromHere bool // whether all that come from now on were there, unless they were imported
}

// includes reports whether there was v.
func (a *pastState) includes(v *Version) bool {
	early := !v.CreatedAt.After(a.at)
	if v.isLocal() {
		a.fromHere = a.fromHere || early
	}
	return early || a.fromHere
}

// correctedTimes returns the versions whose times cannot be right at a time, and how many
// versions there are. It sets the Seqs of those in seqs.
func (s *Store) correctedTimes(ctx context.Context, at time.Time, seqs map[VersionID]int64) (wrong []CorrectedTime, total int64, err error) {
	d := timeCorrector{now: at}
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

// keptTime is t as keys keep it: in UTC and whole microseconds.
func storedTime(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// isWritable reports whether t can be written as RFC 3339, and so as JSON. A time in
// another zone can be read from it and lie beyond.
func isWritable(t time.Time) bool { return t.UTC().Year() >= 1 && t.UTC().Year() <= 9999 }
