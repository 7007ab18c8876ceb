package textindex

import (
	"context"
	"maps"
	"slices"

	"memento"
)

// A view is the index of a store at one instant. Nothing in it changes, so that searches
// need no lock; an update makes another view.
type view struct {
	revision int64 // of the stored index
	base     int64 // newest version that the segments cover
	segments []*liveSegment

	// The recent part has the memories with versions after base, up to seq; those are dead
	// in the segments.
	seq     int64
	version memento.VersionID // that has seq
	recent  *recentView
	changed int   // how many memories these are
	texts   int64 // bytes of their texts

	excess int64 // how many memories more it has than the store says
}

// A liveSegment is a segment of which more memories are dead than the storage says.
type liveSegment struct {
	id SegmentID
	*Segment
	dead string // as the storage had them when the segment was read
}

// memories returns how many memories the view has.
func (v *view) memories() int64 {
	n := int64(v.recent.stats.Memories)
	for _, segment := range v.segments {
		n += int64(segment.Living())
	}
	return n
}

// size returns about how many bytes the view takes.
func (v *view) size() (bytes int64) {
	if v == nil {
		return 0
	}
	for _, s := range v.segments {
		bytes += 6*int64(s.Size()) + 64*int64(s.Blocks())
	}
	return bytes + 4*v.texts // postings and maps take more than the texts
}

// isFull reports whether nothing is added to the recent part.
func (v *view) isFull(m limits) bool {
	return v.changed >= m.recent || v.texts >= m.recentTexts
}

// isBehind reports whether the recent part may not have all that the index lacks, so that
// nothing is added to it. If it could have only a small part, filling it would take longer
// than to read that part in a search.
func (v *view) isBehind(now Snapshot, m limits) bool {
	return v.isFull(m) || now.Seq()-v.seq > int64(fartherBehind*m.recent)
}

// fartherBehind is how many times what the recent part may have is not worth filling it.
const fartherBehind = 2

// A fit says how a view compares with a store.
type fit int

const (
	outdated    fit = iota
	mismatching     // it has all changes, but not as many memories
	fitting         // it is up to date, or as far as the recent part may grow
)

func (v *view) fits(ctx context.Context, now Snapshot, m limits) (fit, error) {
	if v == nil || v.revision != now.Revision() || v.seq < now.Seq() && !v.isBehind(now, m) {
		return outdated, nil
	}
	if same, err := v.isOf(ctx, now); err != nil || !same {
		return outdated, err
	}
	if v.seq == now.Seq() && v.memories()-v.excess != now.Memories() {
		return mismatching, nil
	}
	return fitting, nil
}

// isOf reports whether the history of a store goes on where that of the view ends. It does
// not if the store was deleted and created again with the same ID, or after a failover to a
// server that lacks versions.
func (v *view) isOf(ctx context.Context, now Snapshot) (bool, error) {
	if v.seq > now.Seq() {
		return false, nil
	}
	version, err := now.Version(ctx, v.seq)
	return version == v.version || version == "" && err == nil, err // it may have been pruned
}

// An update is what a view lacks of a store, or the beginning of that.
type update struct {
	view    *view
	changes []Change // one for each memory
	texts   map[memento.MemoryID]Text
	dead    []map[uint32]bool // in each segment
	seq     int64             // up to which version it goes
	version memento.VersionID // that has seq
	last    bool              // whether that is the newest one
}

// next returns what the view lacks; nil if nothing can be added to it. If necessary, it
// loads the stored index first. The caller has the turn to change the view.
func (l *Live) next(ctx context.Context, s *liveStore, now Snapshot) (*update, error) {
	v := s.view.Load()
	if v != nil {
		if same, err := v.isOf(ctx, now); err != nil {
			return nil, err
		} else if !same {
			v = nil
		}
	}
	if v == nil || v.revision != now.Revision() {
		var err error
		if v, err = l.load(ctx, s, now, v); err != nil {
			return nil, err
		}
		s.view.Store(v)
	}
	if v.seq == now.Seq() || v.isBehind(now, l.limits) {
		return nil, nil
	}
	changes, err := now.Changed(ctx, v.seq, readTogether)
	if err != nil {
		return nil, err
	}
	u := &update{view: v, seq: after(changes, readTogether, now)}
	if n := batch(changes); n < len(changes) {
		changes, u.seq = changes[:n], changes[n-1].Seq
	}
	u.last, u.changes = u.seq == now.Seq(), newestOf(changes)
	if u.version, err = now.Version(ctx, u.seq); err != nil {
		return nil, err
	}
	if u.texts, err = textsOf(ctx, now, u.changes); err != nil {
		return nil, err
	}
	for _, segment := range v.segments {
		dead := map[uint32]bool{}
		for _, c := range u.changes {
			if c.First {
				continue
			}
			doc, known, err := segment.Number(ctx, l.reader(now, segment.id), string(c.Memory))
			if err != nil {
				return nil, err
			}
			if known {
				dead[doc] = true
			}
		}
		u.dead = append(u.dead, dead)
	}
	return u, nil
}

// apply makes the updated view, and returns it.
func (u *update) apply(s *liveStore) *view {
	v := *u.view
	v.seq, v.version = u.seq, u.version
	v.segments = slices.Clone(v.segments)
	for i, dead := range u.dead {
		if len(dead) > 0 {
			segment := *v.segments[i]
			segment.Segment = segment.Clone()
			for doc := range dead {
				segment.Kill(doc)
			}
			v.segments[i] = &segment
		}
	}
	recent := v.recent.clone()
	for _, c := range u.changes {
		text, exists := u.texts[c.Memory]
		v.texts += int64(len(text.Contents)) - s.changed[c.Memory].bytes
		s.changed[c.Memory] = changedMemory{c.Seq, int64(len(text.Contents))}
		recent.hide(string(c.Memory))
		if exists {
			recent.add(string(c.Memory), text)
		}
	}
	v.recent, v.changed = recent.finish(), len(s.changed)
	s.view.Store(&v)
	return &v
}

// load returns a view of the stored index. It keeps what the recent part of an old one has
// and the segments lack; old may be nil.
func (l *Live) load(ctx context.Context, s *liveStore, now Snapshot, old *view) (*view, error) {
	var stored StoredIndex
	if s.distrust.Load() != now.Revision() {
		var err error
		if stored, err = now.Stored(ctx); err != nil {
			return nil, err
		}
	}
	v := &view{revision: now.Revision(), base: stored.Seq, seq: stored.Seq}
	known := map[SegmentID]*liveSegment{}
	changed := map[memento.MemoryID]changedMemory{}
	if old != nil && old.seq >= stored.Seq && old.base <= stored.Seq {
		v.seq, v.version, v.recent, v.excess = old.seq, old.version, old.recent.clone(), old.excess
		for _, segment := range old.segments {
			known[segment.id] = segment
		}
		changed = maps.Clone(s.changed)
	} else {
		var err error
		if v.version, err = now.Version(ctx, v.seq); err != nil {
			return nil, err
		}
	}
	for _, ref := range stored.Segments {
		segment := known[ref.ID]
		if segment == nil || segment.dead != string(ref.Dead) {
			var err error
			if segment, err = l.head(ctx, now, ref); err != nil {
				return nil, err
			}
		}
		v.segments = append(v.segments, segment)
	}
	for id, c := range changed {
		if c.seq <= v.base {
			v.recent.hide(string(id))
			delete(changed, id)
			continue
		}
		v.texts += c.bytes
		for _, segment := range v.segments {
			if known[segment.id] == segment {
				continue
			}
			if err := l.kill(ctx, now, segment, id); err != nil {
				return nil, err
			}
		}
	}
	if len(changed) == 0 {
		v.recent = newRecentView()
	}
	v.recent, v.changed, s.changed = v.recent.finish(), len(changed), changed
	return v, nil
}

// head reads the head of a segment.
func (l *Live) head(ctx context.Context, now Snapshot, ref StoredSegment) (*liveSegment, error) {
	head, err := now.Block(ctx, ref.ID, HeadBlock)
	if err != nil {
		return nil, err
	}
	parsed, err := ref.parse(head)
	if err != nil {
		return nil, err
	}
	return &liveSegment{ref.ID, parsed, string(ref.Dead)}, nil
}

// reader returns how to read the blocks of a segment of a snapshot.
func (l *Live) reader(now Snapshot, id SegmentID) ReadBlock {
	return func(ctx context.Context, n int) ([]byte, error) {
		if block, ok := l.blocks.Get(blockKey{id, n}); ok {
			return block, nil
		}
		clears := l.blocks.Clears()
		sealed, err := now.Block(ctx, id, n)
		if err != nil {
			return nil, err
		}
		block, err := unseal(id, n, sealed)
		if err == nil {
			l.blocks.PutUnlessCleared(blockKey{id, n}, block, clears)
		}
		return block, err
	}
}

// kill notes that a memory is dead in a segment, if that has it. Nobody else uses the
// segment yet.
func (l *Live) kill(ctx context.Context, now Snapshot, s *liveSegment, id memento.MemoryID) error {
	doc, known, err := s.Number(ctx, l.reader(now, s.id), string(id))
	if err == nil && known {
		s.Kill(doc)
	}
	return err
}
