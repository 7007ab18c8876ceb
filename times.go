package memento

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// maxSkew is the most by which the clocks of processes that share a backend usually
// differ. Within it the times of versions never go back.
const maxSkew = time.Minute

// NextTime returns the time of a change that is made now and follows one that was
// made at last, in UTC and whole microseconds. Backends use it for versions and for
// descriptions of stores.
//
// A change has no earlier time than the one before it if last is at most a minute ahead
// of now. If it is further ahead, one of the two clocks is wrong: then the change has the
// time now, so that times recover when a clock is corrected.
func NextTime(now, last time.Time) time.Time {
	now = storedTime(now)
	if last.After(now) && last.Sub(now) <= maxSkew {
		return last
	}
	return now
}

// LastTime returns the argument last for the next [NextTime] of a store after v was
// appended: the time of v if it was made in this store, and the later of both times if it
// was imported.
func LastTime(last time.Time, v *Version) time.Time {
	if v.CreatedAt.After(last) || v.isLocal() {
		return v.CreatedAt
	}
	return last
}

// isLocal reports whether a version was made in its store. The time of an imported version
// is that of another clock, and says nothing about the versions before and after it.
func (v *Version) isLocal() bool { return v.ID.SeqHint() == v.Seq }

// CorrectedTime is the time that counts for the versions with Seq from From to To, both
// included, that were made in the store, because their own times cannot be right.
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

// A timeCorrector finds the versions of a store whose times cannot be right, for removal
// by age. add must be called for all versions, oldest first. It errs on the side of
// keeping: a version counts as made no earlier than any version before it, and a version
// with a time in the future as made no earlier than the next one.
type timeCorrector struct {
	now   time.Time // trusted
	high  time.Time // the latest time so far that is not in the future
	found []CorrectedTime
	open  bool // whether the last of found still needs the time of the next version
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

// close sets the time of the versions that wait for it.
func (d *timeCorrector) close(at time.Time) {
	if d.open {
		d.found[len(d.found)-1].At = at
		d.open = false
	}
}

// result returns the corrected times after the last version.
func (d *timeCorrector) result() []CorrectedTime {
	d.close(d.now)
	return d.found
}

// A pastState decides which versions of a store existed at a time. includes must be
// called for all versions, newest first. The time that counts is the earliest among a
// version's own and those of all later versions that were made in the store: a later
// change cannot have an earlier time unless a clock was ahead.
//
// Source: docs/reliability.md, "A later change is not earlier".
type pastState struct {
	at       time.Time
	fromHere bool // whether all older versions existed; imported ones are decided by their own times
}

// includes reports whether v existed.
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

// storedTime returns t as it is stored: in UTC and whole microseconds.
func storedTime(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// isWritable reports whether t can be written as RFC 3339, and so as JSON: its year in UTC
// must have four digits. A time that was read in another zone may not.
func isWritable(t time.Time) bool { return t.UTC().Year() >= 1 && t.UTC().Year() <= 9999 }
