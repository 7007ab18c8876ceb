package s3store

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"memento"
	"memento/backend/textindex"
)

// isAttached reports whether the state of a store writes to the log of the store's index.
func (x *searchIndexes) isAttached(s *store) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.st != nil && s.st.log != nil && s.st.log == x.get(s.id).log
}

// attach gives a store the index that the bucket has, and makes its state write to the log of
// that. After a nil error it may not have: then the caller comes again.
func (x *searchIndexes) attach(ctx context.Context, s *store) error {
	unlock, err := x.exchanging.Lock(ctx, s.id)
	if err != nil {
		return err
	}
	defer unlock()
	if x.isAttached(s) { // by another caller meanwhile
		return nil
	}
	found, err := x.find(ctx, s.id)
	if err != nil {
		return err
	}
	return x.attachLocked(ctx, s, found)
}

// attachLocked is attach with an index that was read before. x.exchanging is held.
func (x *searchIndexes) attachLocked(ctx context.Context, s *store, found *foundIndex) error {
	// The state must have all that was written before the index was read, so that what the index
	// has, and the state has not, was changed or deleted.
	if err := s.viewSince(ctx, found.read, func(*state) error { return nil }); err != nil {
		return err
	}
	c := s.compareIndex(found)
	if c == nil {
		return nil
	}
	// The index is checked without the lock of the store. What is written meanwhile is in the log.
	held := x.get(s.id)
	if held.distrust && held.version.etag == found.version.etag || found.stored.Seq > c.seq || found.version.Store != c.created || !c.reconcile(ctx) {
		c.found = found.emptied()
	}
	return x.attachCompared(ctx, c)
}

// attachCompared attaches an index that was compared, unless the state was loaded again
// meanwhile.
func (x *searchIndexes) attachCompared(ctx context.Context, c *indexComparison) error {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.interrupted.Load() || s.changes != c.log || s.st == nil || s.st.log != c.log || ctx.Err() != nil {
		if s.changes == c.log {
			s.changes = nil
		}
		if s.st != nil && s.st.log == c.log {
			s.st.log = nil
		}
		return ctx.Err()
	}
	c.log.fill(c.memories, c.found.stored.Seq)
	x.begin(s.id, c.found, c.created, c.log)
	return nil
}

// An indexComparison compares an index with the state of its store.
type indexComparison struct {
	s     *store
	found *foundIndex

	// The state as it was when the log began.
	log      *changeLog
	memories []*indexEntry
	seq      int64
	created  stamp

	interrupted atomic.Bool // the state was loaded again: the result says nothing about the index

	mu     sync.Mutex                       // guards what follows
	before map[memento.MemoryID]*indexEntry // what memories were that have changed since
	seen   int                              // changes of the log that are in before
}

// compareIndex begins a log of a store to which an index is compared; nil if the state is just
// being loaded.
func (s *store) compareIndex(found *foundIndex) *indexComparison {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.st
	if st == nil || s.partial || st.deleted {
		return nil
	}
	c := &indexComparison{
		s: s, found: found, memories: slices.Clone(st.paths), seq: st.seq, created: stampOf(st.info.CreatedAt),
		log: newChangeLog(st), before: map[memento.MemoryID]*indexEntry{},
	}
	s.changes = c.log
	return c
}

// reconcile marks as dead what the index has and the store had not when the log began. It
// reports whether the index has all memories with the versions that it covers.
func (c *indexComparison) reconcile(ctx context.Context) bool {
	block := (&heldIndex{segments: c.found.segments}).block
	stored, living, err := textindex.Reconcile(ctx, c.found.stored, block, c.newest)
	if err != nil {
		return false
	}
	for _, h := range c.memories {
		if h.seq <= stored.Seq {
			living--
		}
	}
	c.found.stored = stored
	return living == 0
}

// newest returns the seq that a memory had when the log began.
func (c *indexComparison) newest(id memento.MemoryID) (seq int64, exists bool) {
	c.s.mu.RLock()
	defer c.s.mu.RUnlock()
	if c.s.st == nil || c.s.st.log != c.log {
		c.interrupted.Store(true)
		return 0, false
	}
	h := c.s.st.byID[id]
	if len(c.log.entries) > 0 { // some memories are not what they were
		c.mu.Lock()
		for ; c.seen < len(c.log.entries); c.seen++ {
			e := c.log.entries[c.seen]
			if _, again := c.before[e.Memory]; !again {
				c.before[e.Memory] = e.before
			}
		}
		if was, changed := c.before[id]; changed {
			h = was
		}
		c.mu.Unlock()
	}
	if h == nil {
		return 0, false
	}
	return h.seq, true
}
