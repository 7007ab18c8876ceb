package backend

import (
	"time"

	"memento"
)

// A Pruner decides for [memento.History.Prune] which versions are removed. Backends share it.
// Goes must be called in descending order of Seq, for all versions of a store or for all
// versions of some memories.
type Pruner struct {
	memento.PruneOptions
	seen map[memento.MemoryID]*memoryVersions
}

// memoryVersions is what a Pruner knows of one memory from the versions seen so far.
type memoryVersions struct {
	living       bool
	seen         int       // number of versions seen
	supersededAt time.Time // when the next older version was superseded
	removeRest   bool      // whether a version is removed: then all older ones are, whatever their times in an imported history
}

// Goes reports whether v is removed.
func (p *Pruner) Goes(v *memento.Version) bool {
	s := p.seen[v.Memory]
	present := false
	made := TimeOf(p.CorrectedTimes, v)
	if s == nil {
		if p.seen == nil {
			p.seen = map[memento.MemoryID]*memoryVersions{}
		}
		s = &memoryVersions{living: v.Operation != memento.Deleted, supersededAt: made}
		p.seen[v.Memory] = s
		present = s.living
	}
	s.removeRest = s.removeRest || !present && s.supersededAt.Before(p.Before) && !(s.living && s.seen < p.Keep)
	s.seen++
	s.supersededAt = made
	return s.removeRest
}

// Living reports whether a memory, of which versions were seen, exists.
func (p *Pruner) Living(id memento.MemoryID) bool {
	s := p.seen[id]
	return s != nil && s.living
}
