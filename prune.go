package memento

import "time"

// PruneOptions choose what [History.Prune] removes.
type PruneOptions struct {
	Before time.Time
	Keep   int
	Memory MemoryID // only versions of this one, if set
	DryRun bool     // only counts

	// CorrectedTimes has the versions whose times cannot be right, in order of Seq, as
	// [Store.PruneHistory] has found them.
	CorrectedTimes []CorrectedTime
}

// EndOfTime is later than any version: with it as PruneOptions.Before, age keeps nothing.
var EndOfTime = time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)

// Pruned is what a Prune removed, or would remove.
type Pruned struct {
	Versions int64
	Bytes    int64 // of their contents, whether or not other versions have the same
}

// A Pruner decides for [History.Prune], of one version after the other, which go.
// It is shared by backends, and asked in falling order of Seq, of all versions of
// a store or of all of some memories.
type Pruner struct {
	PruneOptions
	seen map[MemoryID]*succession
}

// A succession is what a Pruner has seen of one memory's versions.
type succession struct {
	living bool
	newer  int       // versions seen
	ceased time.Time // when the version before those ceased to be the present
	cut    bool      // whether one of those goes: then what is older goes too, whatever an imported history says of its time
}

// Goes reports whether v is removed.
func (p *Pruner) Goes(v *Version) bool {
	s := p.seen[v.Memory]
	present := false
	made := correctedTime(p.CorrectedTimes, v)
	if s == nil {
		if p.seen == nil {
			p.seen = map[MemoryID]*succession{}
		}
		s = &succession{living: v.Operation != Deleted, ceased: made}
		p.seen[v.Memory] = s
		present = s.living
	}
	s.cut = s.cut || !present && s.ceased.Before(p.Before) && !(s.living && s.newer < p.Keep)
	s.newer++
	s.ceased = made
	return s.cut
}

// living reports whether a memory that it was asked of lives.
func (p *Pruner) living(id MemoryID) bool {
	s := p.seen[id]
	return s != nil && s.living
}
