package maintenance

import (
	"context"
	"time"

	"memento"
	"memento/internal/times"
)

// A timeCorrector finds the versions of a store whose times cannot be right, for removal
// by age. add must be called for all versions, oldest first. It errs on the side of
// keeping: a version counts as made no earlier than any version before it, and a version
// with a time in the future as made no earlier than the next one.
type timeCorrector struct {
	now   time.Time // trusted
	high  time.Time // the latest time so far that is not in the future
	found []memento.CorrectedTime
	open  bool // whether the last of found still needs the time of the next version
}

func (d *timeCorrector) add(v *memento.Version) {
	if v.ID.SeqHint() != v.Seq {
		return
	}
	if v.CreatedAt.Sub(d.now) > times.MaxSkew {
		if !d.open {
			d.found = append(d.found, memento.CorrectedTime{From: v.Seq})
			d.open = true
		}
		d.found[len(d.found)-1].To = v.Seq
		return
	}
	counts := v.CreatedAt
	if d.high.Sub(counts) > times.MaxSkew {
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
	d.found = append(d.found, memento.CorrectedTime{From: v.Seq, To: v.Seq, At: counts})
}

// close sets the time of the versions that wait for it.
func (d *timeCorrector) close(at time.Time) {
	if d.open {
		d.found[len(d.found)-1].At = at
		d.open = false
	}
}

// result returns the corrected times after the last version.
func (d *timeCorrector) result() []memento.CorrectedTime {
	d.close(d.now)
	return d.found
}

// correctedTimes returns the versions whose times cannot be right at a time, and how many
// versions there are. It sets the Seqs of those in seqs.
func correctedTimes(ctx context.Context, s *memento.Store, at time.Time, seqs map[memento.VersionID]int64) (wrong []memento.CorrectedTime, total int64, err error) {
	d := timeCorrector{now: at}
	for v, err := range s.Versions(ctx, memento.VersionListOptions{OldestFirst: true}) {
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
