package embedding

import (
	"context"
	"errors"
	"maps"
	"slices"

	"memento"
)

// maxFollowed is after how many versions the list of memories is read instead.
const maxFollowed = 4096

// lookAt follows a store that has vectors in main memory.
func (s *Searcher) lookAt(ctx context.Context, store memento.StoreID, thorough bool) error {
	x := s.take(store)
	if x == nil {
		return nil
	}
	defer x.working.Unlock()
	return s.follow(ctx, store, x, thorough)
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
		s.drop(store, x)
		return nil
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
	if !loaded && s.keeper != nil {
		fits, err := s.load(ctx, store, x)
		switch {
		case errors.Is(err, memento.ErrNoStore):
			s.drop(store, x)
			return nil
		case err != nil:
			return err
		case !fits:
			n, err := s.count(ctx, store)
			if err == nil {
				s.giveUp(store, x, n)
			}
			return err
		}
		loaded, seq = true, head
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
	if n*memoryBytes > s.room(x) {
		s.giveUp(store, x, n)
		return nil
	}
	x.mu.Lock()
	for _, id := range gone {
		x.set(id, nil)
	}
	x.mu.Unlock()
	for _, m := range now {
		e, err := s.revise(ctx, store, x, m)
		if err != nil {
			return err
		}
		x.mu.Lock()
		x.set(m.ID, e)
		x.mu.Unlock()
	}
	x.mu.Lock()
	x.prune()
	x.loaded, x.seq = true, head
	x.mu.Unlock()
	return nil
}

// changed returns the memories that are not as the index has them, and those that it has and
// that do not exist any more: incremental if it has those of the version seq.
func (s *Searcher) changed(ctx context.Context, store memento.StoreID, x *index, incremental bool, seq, head int64) (now []memento.Memory, gone []memento.MemoryID, err error) {
	if incremental && seq == head {
		return nil, nil, nil
	}
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
