package s3store

import (
	"context"
	"errors"
	"slices"
	"time"

	"memento"
	"memento/backend/textindex"
)

// A searchSnapshot is a store at one instant, for its search index.
type searchSnapshot struct {
	s       *store
	usage   memento.Usage
	seq     int64
	history historyView
	st      *state
	log     *changeLog
	from    int64         // the log has all changes after this version
	end     int           // of the log
	changes []changeEntry // of the log
	index   *heldIndex    // nil if the store is searched without one
	since   []int64       // see madeSince; nil if it has not been asked for
}

var _ textindex.Snapshot = (*searchSnapshot)(nil)

// errOutdated says that a snapshot was kept for so long that it cannot be read any more.
var errOutdated = errors.New("the snapshot is too old")

// View implements textindex.Storage.
func (x *searchIndexes) View(ctx context.Context, id memento.StoreID, do func(context.Context, textindex.Snapshot) error) error {
	return x.view(ctx, id, x.snapshot, func(ctx context.Context, now *searchSnapshot) error { return do(ctx, now) })
}

// view calls do with a snapshot. If that is kept for too long, it calls it again with another.
func (x *searchIndexes) view(ctx context.Context, id memento.StoreID, snapshot func(context.Context, *store) (*searchSnapshot, error), do func(context.Context, *searchSnapshot) error) error {
	s, done, err := x.b.use(ctx, id)
	if err != nil {
		return err
	}
	defer done()
	err = errNotFound
	for n := 0; n < maxRereads && (errors.Is(err, errNotFound) || errors.Is(err, errOutdated)); n++ {
		var now *searchSnapshot
		if now, err = snapshot(ctx, s); err == nil {
			err = do(ctx, now)
			now.release()
		}
		ctx = context.WithValue(ctx, searchBegan{}, time.Now()) // the next snapshot is newer
	}
	if errors.Is(err, errNotFound) || errors.Is(err, errOutdated) {
		return errChangesTooFast
	}
	return err
}

// release ends what a snapshot keeps of its store.
func (n *searchSnapshot) release() {
	if n.index != nil {
		return
	}
	s := n.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scans--; s.scans > 0 {
		return
	}
	if l := s.changes; l != nil && l.forScans {
		s.changes = nil
		if s.st != nil && s.st.log == l {
			s.st.log = nil
		}
	}
}

// unindexed returns a store as it is now, without its index, which is not read.
func (x *searchIndexes) unindexed(ctx context.Context, s *store) (*searchSnapshot, error) {
	began, _ := ctx.Value(searchBegan{}).(time.Time)
	for {
		if err := s.viewSince(ctx, began, func(*state) error { return nil }); err != nil {
			return nil, err
		}
		s.mu.Lock()
		if st := s.st; st != nil && !s.partial && !st.deleted {
			if st.log == nil {
				s.changes = newChangeLog(st)
				s.changes.forScans = true
			}
			s.scans++
			now := snapshotOf(s, nil)
			s.mu.Unlock()
			return now, nil
		}
		s.mu.Unlock()
	}
}

// snapshotOf returns a store with a log as it is now. s.mu is held.
func snapshotOf(s *store, index *heldIndex) *searchSnapshot {
	st, log := s.st, s.st.log
	return &searchSnapshot{
		s: s, usage: st.info.Usage, seq: st.seq, history: st.history(),
		st: st, log: log, from: log.from, end: log.end(), changes: log.entries[:len(log.entries):len(log.entries)], index: index,
	}
}

// snapshot returns a store as it is now, with its index. Errors: textindex.ErrLarge.
func (x *searchIndexes) snapshot(ctx context.Context, s *store) (now *searchSnapshot, err error) {
	began, _ := ctx.Value(searchBegan{}).(time.Time)
	for now == nil && err == nil {
		err = s.viewSince(ctx, began, func(st *state) error {
			index := x.get(s.id)
			switch attached := st.log != nil && st.log == index.log; {
			case !isIndexable(st.info.Usage), attached && index.isForLarge(st.info.Usage):
				return textindex.ErrLarge
			case attached:
				now = snapshotOf(s, index)
			}
			return nil
		})
		if now == nil && err == nil {
			err = x.attach(ctx, s)
		}
	}
	return now, err
}

// Seq implements textindex.Snapshot.
func (n *searchSnapshot) Seq() int64 { return n.seq }

// Memories implements textindex.Snapshot.
func (n *searchSnapshot) Memories() int64 { return n.usage.Memories }

// Revision implements textindex.Snapshot.
func (n *searchSnapshot) Revision() int64 { return n.index.revision }

// Long implements textindex.Snapshot. Nothing waits for a snapshot.
func (n *searchSnapshot) Long() {}

// Version implements textindex.Snapshot. Another history has another index.
func (n *searchSnapshot) Version(context.Context, int64) (memento.VersionID, error) { return "", nil }

// Kept implements textindex.Snapshot.
func (n *searchSnapshot) Kept(ctx context.Context, seqs []int64) (map[int64]bool, error) {
	kept := map[int64]bool{}
	for _, seq := range seqs {
		v, err := n.s.bySeq(ctx, n.history, seq)
		if err != nil {
			return nil, err
		}
		if v != nil && v.Redacted == 0 {
			kept[seq] = true
		}
	}
	return kept, nil
}

// Stored implements textindex.Snapshot.
func (n *searchSnapshot) Stored(context.Context) (textindex.StoredIndex, error) {
	return textindex.StoredIndex{Seq: n.index.stored.Seq, Segments: slices.Clone(n.index.stored.Segments)}, nil
}

// Block implements textindex.Snapshot.
func (n *searchSnapshot) Block(_ context.Context, id textindex.SegmentID, number int) ([]byte, error) {
	return n.index.block(id, number)
}

// Changed implements textindex.Snapshot.
func (n *searchSnapshot) Changed(_ context.Context, seq int64, limit int) ([]textindex.Change, error) {
	if seq < n.from { // the index is not trusted: the log has to begin with all memories
		n.s.b.indexes.distrust(n.s.id, n.index)
		return nil, errOutdated
	}
	var changes []textindex.Change
	rest := n.changes[after(n.changes, seq):]
	for _, e := range rest[:min(limit, len(rest))] {
		changes = append(changes, e.Change)
	}
	return changes, nil
}

// entries returns memories of the snapshot that exist, and the seqs of their versions.
func (n *searchSnapshot) entries(ids []memento.MemoryID) (found []snapshotEntry, err error) {
	n.s.mu.RLock()
	defer n.s.mu.RUnlock()
	before, known := n.log.since(n.end)
	if !known || n.st.log != n.log {
		return nil, errOutdated
	}
	for _, id := range ids {
		h, changed := before[id]
		if !changed {
			h = n.st.byID[id]
		}
		if h != nil {
			found = append(found, snapshotEntry{h, n.s.b.shown(n.st, n.s.id, h), h.seq})
		}
	}
	return found, nil
}

type snapshotEntry struct {
	*indexEntry
	shown memento.Memory
	seq   int64
}

// all returns the IDs of all memories of the snapshot.
func (n *searchSnapshot) all() (ids []memento.MemoryID, err error) {
	n.s.mu.RLock()
	defer n.s.mu.RUnlock()
	before, known := n.log.since(n.end)
	if !known || n.st.log != n.log {
		return nil, errOutdated
	}
	for id := range n.st.byID {
		if _, changed := before[id]; !changed {
			ids = append(ids, id)
		}
	}
	for id, h := range before {
		if h != nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Texts implements textindex.Snapshot.
func (n *searchSnapshot) Texts(ctx context.Context, ids []memento.MemoryID) (map[memento.MemoryID]textindex.Text, error) {
	found, err := n.entries(ids)
	if err != nil {
		return nil, err
	}
	var wants []want
	for _, e := range found {
		if e.memory.Digest == "" {
			w := e.want()
			w.raw = true
			wants = append(wants, w)
		}
	}
	contents, err := n.s.contents(ctx, wants)
	if err != nil {
		return nil, err
	}
	texts := map[memento.MemoryID]textindex.Text{}
	for _, e := range found {
		t := textindex.Text{Seq: e.seq, Path: e.memory.Path}
		if e.memory.Digest == "" {
			t.Contents, contents = contents[0], contents[1:]
		}
		texts[e.memory.ID] = t
	}
	return texts, nil
}

// Lookup implements textindex.Snapshot.
func (n *searchSnapshot) Lookup(ctx context.Context, ids []memento.MemoryID, actors bool) (map[memento.MemoryID]textindex.Found, error) {
	entries, err := n.entries(ids)
	if err != nil {
		return nil, err
	}
	var wants []want
	for _, e := range entries {
		if e.memory.Digest == "" {
			wants = append(wants, e.want())
		}
	}
	texts, damaged, err := n.s.contentsOrDamage(ctx, wants)
	if err != nil {
		return nil, err
	}
	var made map[int64]*version
	if actors {
		var seqs []int64
		for _, e := range entries {
			seqs = append(seqs, e.seq)
		}
		slices.Sort(seqs)
		if made, err = n.made(ctx, seqs); err != nil {
			return nil, err
		}
	}
	found := map[memento.MemoryID]textindex.Found{}
	for _, e := range entries {
		f := textindex.Found{Memory: e.shown}
		if e.memory.Digest == "" {
			f.Memory.Content, texts = texts[0], texts[1:]
			f.Damaged, damaged = damaged[0], damaged[1:]
		}
		if v := made[e.seq]; v != nil { // if actors are wanted
			f.Actor = v.By
		}
		found[e.memory.ID] = f
	}
	return found, nil
}

// contentsOrDamage returns contents, and which of them are damaged.
func (s *store) contentsOrDamage(ctx context.Context, wants []want) (texts []string, damaged []bool, err error) {
	damaged = make([]bool, len(wants))
	texts, err = s.contents(ctx, wants)
	if !errors.Is(err, memento.ErrDamaged) {
		return texts, damaged, err
	}
	texts = make([]string, len(wants))
	for i := range wants {
		text, err := s.contents(ctx, wants[i:i+1])
		switch {
		case errors.Is(err, memento.ErrDamaged):
			damaged[i] = true
		case err != nil:
			return nil, nil, err
		default:
			texts[i] = text[0]
		}
	}
	return texts, damaged, nil
}
