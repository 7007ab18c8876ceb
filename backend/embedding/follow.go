package embedding

import (
	"context"
	"errors"
	"maps"
	"slices"

	"memento"
)

const (
	// maxFollowed is after how many versions the list of memories is read instead.
	maxFollowed = 4096

	// writeTogether is how many memories are written to the cache at a time.
	writeTogether = 256
)

// lookAt follows a store. If only the cache has its vectors, they are not loaded as long as
// nothing has changed, and do not stay in main memory.
func (s *Searcher) lookAt(ctx context.Context, store memento.StoreID, thorough bool) error {
	s.mu.Lock()
	_, known := s.indexes.Peek(store)
	s.mu.Unlock()
	if !known {
		cached, err := s.cache.extent(store)
		if err != nil || !cached.known {
			return err
		}
		if same, err := s.unchanged(ctx, store, cached); err == nil && same {
			return nil
		}
	}
	x := s.take(store)
	defer x.working.Unlock()
	err := s.follow(ctx, store, x, thorough)
	s.mu.Lock()
	defer s.mu.Unlock()
	if now, _ := s.indexes.Peek(store); now == x && x.searched.IsZero() {
		s.indexes.Remove(store)
	}
	return err
}

// unchanged reports whether a store is as it was. Its newest version does not say so: that
// of a deletion may have been pruned. But then there are fewer memories.
func (s *Searcher) unchanged(ctx context.Context, store memento.StoreID, cached extent) (bool, error) {
	head, err := s.head(ctx, store)
	if err != nil || head != cached.seq {
		return false, err
	}
	n, err := s.count(ctx, store)
	return n == cached.memories, err
}

// count returns the number of memories in a store.
func (s *Searcher) count(ctx context.Context, store memento.StoreID) (n int64, err error) {
	for e, err := range s.backend.List(ctx, store, memento.ListOptions{Depth: 1, Brief: true}) {
		switch {
		case err != nil:
			return 0, err
		case e.Foreign:
		case e.Dir:
			n += e.Usage.Memories
		default:
			n++
		}
	}
	return n, nil
}

// head returns the Seq of the newest version.
func (s *Searcher) head(ctx context.Context, store memento.StoreID) (int64, error) {
	for v, err := range s.backend.ListVersions(ctx, store, memento.VersionListOptions{Limit: 1}) {
		return v.Seq, err
	}
	return 0, nil
}

// follow notes what has changed in a store, and drops the vectors of texts that are not
// there any more. It does not need the Embedder. With thorough, it also notices memories
// whose deletion was pruned, and tries those again that could not be read. The caller holds
// working.
func (s *Searcher) follow(ctx context.Context, store memento.StoreID, x *index, thorough bool) error {
	head, err := s.head(ctx, store)
	if errors.Is(err, memento.ErrNoStore) {
		return s.drop(store, x)
	}
	if err != nil {
		return err
	}
	if tooLarge, err := s.isTooLarge(ctx, store, x, thorough); err != nil || tooLarge {
		return err
	}
	if !x.loaded || x.seq != head {
		if err := s.update(ctx, store, x, head, false); err != nil {
			return err
		}
	}
	if !thorough || x.tooLarge > 0 {
		return nil
	}
	x.retry()
	n, err := s.count(ctx, store)
	if err != nil || n == int64(len(x.memories)) {
		return err
	}
	return s.update(ctx, store, x, head, true)
}

// update brings an index up to date with a version, or a later one; with all, from the list
// of memories.
func (s *Searcher) update(ctx context.Context, store memento.StoreID, x *index, head int64, all bool) (err error) {
	x.mu.Lock()
	loaded, seq := x.loaded, x.seq
	x.loaded = false // unless all of the following succeeds
	x.mu.Unlock()
	if !loaded {
		if seq, err = s.load(store, x); err != nil {
			return err
		}
	}
	now, gone, err := s.changed(ctx, store, x, loaded && !all, seq, head)
	if err != nil {
		return err
	}
	n := int64(len(x.memories) - len(gone))
	for _, m := range now {
		if x.memories[m.ID] == nil {
			n++
		}
	}
	// What was loaded may be of a process with a larger bound.
	if room := s.room(x); n*memoryBytes > room || !loaded && x.size() > room {
		return s.giveUp(store, x, n)
	}
	if err := s.cache.update(store, nil, gone, seq, -1); err != nil {
		return err
	}
	x.mu.Lock()
	for _, id := range gone {
		x.set(id, nil)
	}
	x.mu.Unlock()
	for part := range slices.Chunk(now, writeTogether) {
		var rows []cachedMemory
		for _, m := range part {
			e, err := s.revise(ctx, store, x, m)
			if err != nil {
				return err
			}
			x.mu.Lock()
			x.set(m.ID, e)
			x.mu.Unlock()
			if e != nil && e.cut {
				rows = append(rows, cachedMemory{m.ID, e.version, e.encode()})
			}
		}
		if err := s.cache.update(store, rows, nil, seq, -1); err != nil {
			return err
		}
	}
	x.mu.Lock()
	x.prune()
	x.loaded, x.seq = true, head
	n = int64(len(x.memories))
	x.mu.Unlock()
	return s.cache.update(store, nil, nil, head, n)
}

// load reads what the cache has of a store, and returns the version that it is of.
func (s *Searcher) load(store memento.StoreID, x *index) (seq int64, err error) {
	cached, err := s.cache.extent(store)
	if err != nil {
		return 0, err
	}
	size, err := s.cache.size(store)
	if err != nil {
		return 0, err
	}
	s.bound(4 * size) // 32 bits for each dimension
	x.mu.Lock()
	defer x.mu.Unlock()
	err = s.cache.load(store, func(m cachedMemory) {
		if x.memories[m.id] != nil {
			return // it has it from before, and newer
		}
		if sections, ok := x.decode(m.sections); ok {
			x.set(m.id, &entry{version: m.version, sections: sections, cut: true})
		} else {
			x.set(m.id, &entry{})
		}
	})
	return cached.seq, err
}

// changed returns the memories that are not as the index has them, and those that it has and
// that do not exist any more: incremental if it has those of the version seq.
func (s *Searcher) changed(ctx context.Context, store memento.StoreID, x *index, incremental bool, seq, head int64) (now []memento.Memory, gone []memento.MemoryID, err error) {
	if incremental && seq < head {
		written := map[memento.MemoryID]bool{}
		n := 0
		for v, err := range s.backend.ListVersions(ctx, store, memento.VersionListOptions{OldestFirst: true, After: seq, Limit: maxFollowed}) {
			if err != nil {
				return nil, nil, err
			}
			written[v.Memory] = true
			n++
		}
		if n < maxFollowed {
			for id := range written {
				m, err := s.backend.Get(ctx, store, memento.ByID(id))
				switch {
				case errors.Is(err, memento.ErrNotExist):
					gone = append(gone, id)
				case errors.Is(err, memento.ErrDamaged):
					gone = append(gone, id) // words do not find it either
				case err != nil:
					return nil, nil, err
				default:
					m.Content = ""
					now = append(now, m)
				}
			}
			return now, gone, nil
		}
	}
	missing := maps.Clone(x.memories)
	for e, err := range s.backend.List(ctx, store, memento.ListOptions{}) {
		if err != nil {
			return nil, nil, err
		}
		if e.Foreign {
			continue
		}
		old := missing[e.Memory.ID]
		delete(missing, e.Memory.ID)
		if old == nil || old.version != e.Memory.Version || old.path != e.Memory.Path {
			e.Memory.Content = ""
			now = append(now, e.Memory)
		}
	}
	return now, slices.Collect(maps.Keys(missing)), nil
}

// revise returns the entry of a memory as it is now: with the sections of its contents if
// there were vectors of earlier ones, so that those which are not in it any more go.
func (s *Searcher) revise(ctx context.Context, store memento.StoreID, x *index, m memento.Memory) (*entry, error) {
	old := x.memories[m.ID]
	switch {
	case old == nil || !old.cut:
		return &entry{path: m.Path, version: m.Version}, nil
	case old.version == m.Version:
		e := *old
		e.path = m.Path
		e.sections = slices.Clone(old.sections)
		return &e, nil
	}
	sections, _, version, err := s.read(ctx, store, m.ID)
	if err != nil || version == "" {
		return nil, err
	}
	return &entry{path: m.Path, version: version, sections: sections, cut: true}, nil
}
