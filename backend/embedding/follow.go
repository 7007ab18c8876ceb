package embedding

import (
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"memento"
	"memento/backend/textindex"
)

const (
	// batchTexts is how many texts are embedded at most before the work in the background
	// looks for changes again, whose vectors have to go.
	batchTexts = 64

	// batchMemories is how many memories are read for that at most.
	batchMemories = 64

	// maxFollowed is after how many versions the list of memories is read instead.
	maxFollowed = 4096

	// lookTogether is at how many stores that only the cache has it looks in an interval.
	lookTogether = 500

	// maxStores is how many stores have their vectors in main memory.
	maxStores = 256

	// writeTogether is how many memories are written to the cache at a time.
	writeTogether = 256

	// keptUncached is how long the vectors of a store that no cache has stay in main memory
	// after a search, so that two large stores do not take turns in being embedded.
	keptUncached = time.Hour
)

// run is the work in the background.
func (s *Searcher) run(ctx context.Context) {
	defer close(s.ended)
	tick := time.NewTicker(s.opts.Interval)
	defer tick.Stop()
	s.lookAtSome(math.MaxInt)
	for ctx.Err() == nil {
		for store, thorough := range s.takeDirty() {
			s.note(ctx, store, s.lookAt(ctx, store, thorough))
			s.bound(0)
		}
		var pause <-chan time.Time
		if store, lacking := s.nextLacking(); lacking {
			if d := s.health.wait(); d > 0 {
				pause = time.After(d)
			} else {
				x := s.take(store)
				err := s.embedSome(ctx, store, x)
				x.working.Unlock()
				s.note(ctx, store, err)
				s.bound(0)
				continue
			}
		}
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-pause:
		case <-tick.C:
			s.lookAtSome(lookTogether)
		}
	}
}

// take returns the index of a store, for its holder alone to change, until working is
// unlocked.
func (s *Searcher) take(store memento.StoreID) *index {
	for {
		s.mu.Lock()
		x, known := s.indexes.Peek(store)
		if !known {
			x = newIndex()
			s.indexes.Put(store, x)
		}
		s.mu.Unlock()
		x.working.Lock()
		s.mu.Lock()
		now, _ := s.indexes.Peek(store)
		s.mu.Unlock()
		if now == x {
			return x
		}
		x.working.Unlock() // it was dropped meanwhile
	}
}

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

// note records that the storage, or the cache, has failed. Failures of the Embedder are
// noted by embed.
func (s *Searcher) note(ctx context.Context, store memento.StoreID, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	if _, ours := errors.AsType[*embedError](err); ours {
		return
	}
	s.counts.failures.Add(1)
	s.mu.Lock()
	again := s.failing[store]
	s.failing[store] = true
	s.mu.Unlock()
	if !again {
		s.opts.Logger.Warn("vectors cannot be brought up to date; search goes on by words alone", "store", store, "error", err)
	}
}

// An embedError is an error of the Embedder.
type embedError struct{ err error }

func (e *embedError) Error() string { return e.err.Error() }
func (e *embedError) Unwrap() error { return e.err }

// lookAtSome marks the stores that have vectors in main memory as dirty, and some of those
// that only the cache has, in turn.
func (s *Searcher) lookAtSome(some int) {
	cached, err := s.cache.stores()
	if err != nil {
		s.counts.failures.Add(1)
		s.opts.Logger.Warn("the file of vectors cannot be read", "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.failing)
	for range min(some, len(cached)) {
		s.next %= len(cached)
		s.dirty[cached[s.next]] = true
		s.next++
	}
	for store := range s.indexes.Oldest() {
		s.dirty[store] = true
	}
}

// takeDirty returns the stores to look at, and whether to do so thoroughly. Those that are
// failing stay dirty.
func (s *Searcher) takeDirty() map[memento.StoreID]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	stores := map[memento.StoreID]bool{}
	for store, thorough := range s.dirty {
		if !s.failing[store] {
			stores[store] = thorough
			delete(s.dirty, store)
		}
	}
	return stores
}

// nextLacking returns a store with memories to embed: one that was searched. Others are
// followed only so that their vectors go.
func (s *Searcher) nextLacking() (memento.StoreID, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for store, x := range s.indexes.Oldest() {
		x.mu.RLock()
		lacking := len(x.lacking) > 0 && !x.searched.IsZero() && !s.failing[store]
		x.mu.RUnlock()
		if lacking {
			return store, true
		}
	}
	return "", false
}

// CatchUp brings the vectors of a store up to date before it returns.
//
// Errors: those of the Embedder and of the backend; memento.ErrClosed. What was embedded
// before is kept.
func (s *Searcher) CatchUp(ctx context.Context, store memento.StoreID) error {
	for thorough := true; ; thorough = false {
		if s.isClosed() {
			return memento.ErrClosed
		}
		done, err := func() (bool, error) {
			s.index(store) // from now on, it counts as searched
			x := s.take(store)
			defer x.working.Unlock()
			if err := s.follow(ctx, store, x, thorough); err != nil {
				return false, err
			}
			if len(x.lacking) == 0 {
				return true, nil
			}
			return false, s.embedSome(ctx, store, x)
		}()
		if done || err != nil {
			return err
		}
	}
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

// isTooLarge reports whether a store had more vectors than fit. It is embedded again when a
// quarter of its memories have gone, which only a thorough look notices.
func (s *Searcher) isTooLarge(ctx context.Context, store memento.StoreID, x *index, thorough bool) (bool, error) {
	limit := x.tooLarge
	if !x.loaded && limit == 0 {
		cached, err := s.cache.extent(store)
		if err != nil {
			return false, err
		}
		limit = cached.tooLarge
	}
	if limit > 0 && thorough {
		n, err := s.count(ctx, store)
		if err != nil {
			return false, err
		}
		if 4*n <= 3*limit {
			limit = 0
		}
	}
	x.mu.Lock()
	x.tooLarge = limit
	x.mu.Unlock()
	return limit > 0, nil
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
	if n*memoryBytes > s.room(x) {
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

// head returns the Seq of the newest version.
func (s *Searcher) head(ctx context.Context, store memento.StoreID) (int64, error) {
	for v, err := range s.backend.ListVersions(ctx, store, memento.VersionListOptions{Limit: 1}) {
		return v.Seq, err
	}
	return 0, nil
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

// read returns the sections of a memory, with their texts. version is "" if it does not
// exist, or is damaged.
func (s *Searcher) read(ctx context.Context, store memento.StoreID, id memento.MemoryID) (sections []section, texts []string, version memento.VersionID, err error) {
	m, err := s.backend.Get(ctx, store, memento.ByID(id))
	switch {
	case errors.Is(err, memento.ErrNotExist), errors.Is(err, memento.ErrDamaged):
		return nil, nil, "", nil
	case err != nil:
		return nil, nil, "", err
	}
	secrets := s.secrets(m.Content) // of all of it: a section may have only a part of one
	for _, part := range textindex.Sections(m.Content) {
		var text string
		for _, heading := range part.Headings {
			text += mask(m.Content, heading.Start, heading.End, secrets) + "\n"
		}
		text += mask(m.Content, part.Start, part.End, secrets)
		sections = append(sections, section{Section: textindex.Section{Start: part.Start, End: part.End}, key: sha256.Sum256([]byte(text))})
		texts = append(texts, text)
	}
	return sections, texts, m.Version, nil
}

// embedSome embeds some of what is lacking. What was embedded before an error is kept. The
// caller holds working.
func (s *Searcher) embedSome(ctx context.Context, store memento.StoreID, x *index) error {
	want := x.dimension()
	var texts []string
	keysOf := map[textKey]bool{}
	var order []textKey
	revised := map[memento.MemoryID]*entry{}
	var unread []memento.MemoryID
	for id := range x.lacking {
		if len(revised) == batchMemories || len(texts) >= batchTexts {
			break
		}
		old := x.memories[id]
		sections, all, version, err := s.read(ctx, store, id)
		if err != nil {
			return err
		}
		if version != old.version {
			// It is being changed, and follow finds it next; or it is damaged.
			s.look(store, false)
			revised[id] = &entry{path: old.path, version: old.version, unread: true}
			unread = append(unread, id)
			continue
		}
		for i := range sections {
			key := sections[i].key
			sections[i].refused = slices.ContainsFunc(old.sections, func(o section) bool { return o.key == key && o.refused })
			if x.vectors[key] == nil && !keysOf[key] && !sections[i].refused && len(texts) < batchTexts {
				keysOf[key] = true
				texts, order = append(texts, all[i]), append(order, key)
			}
		}
		revised[id] = &entry{path: old.path, version: version, sections: sections, cut: true}
	}
	if len(revised) == 0 {
		return nil
	}
	made, refused, failed := s.embedTexts(ctx, texts, want)
	x.mu.Lock()
	for i, key := range order {
		if made[i] != nil {
			x.add(key, made[i])
		}
	}
	var rows []cachedMemory
	for id, e := range revised {
		for i := range e.sections {
			for j := range order {
				if refused[j] && order[j] == e.sections[i].key {
					e.sections[i].refused = true
				}
			}
		}
		x.set(id, e)
		if e.cut {
			rows = append(rows, cachedMemory{id, e.version, e.encode()})
		}
	}
	seq, n := x.seq, int64(len(x.memories))
	tell := slices.Contains(refused, true) && !x.told
	x.told = x.told || tell
	x.mu.Unlock()
	if tell {
		s.opts.Logger.Warn("the service of embeddings does not accept all texts of a store; words alone find those", "store", store)
	}
	if x.size() > s.room(x) {
		return s.giveUp(store, x, n)
	}
	if err := s.cache.update(store, rows, unread, seq, n); err != nil {
		return err
	}
	return failed
}

// drop removes the vectors of a store that was deleted.
func (s *Searcher) drop(store memento.StoreID, x *index) error {
	s.forget(x)
	s.mu.Lock()
	s.indexes.Remove(store)
	s.mu.Unlock()
	return s.cache.removeStore(store)
}

// giveUp removes the vectors of a store that has too many, with a number of memories.
func (s *Searcher) giveUp(store memento.StoreID, x *index, memories int64) error {
	s.forget(x)
	x.mu.Lock()
	x.tooLarge = memories
	x.mu.Unlock()
	s.opts.Logger.Warn("a store has more vectors than fit into main memory; it is searched by words alone", "store", store)
	return s.cache.giveUp(store, memories)
}

// forget empties an index.
func (s *Searcher) forget(x *index) {
	x.mu.Lock()
	defer x.mu.Unlock()
	empty := newIndex()
	x.memories, x.vectors, x.lacking, x.bytes, x.loaded, x.seq = empty.memories, empty.vectors, empty.lacking, 0, false, 0
}

// room returns how many bytes an index may take in main memory. Those of other stores make
// room for it if a cache has theirs.
func (s *Searcher) room(x *index) int64 {
	room := s.opts.MaxBytes
	if s.cache != nil {
		return room
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, other := range s.indexes.Oldest() {
		if other != x {
			room -= other.size()
		}
	}
	return room
}

// bound drops the vectors of stores that were not searched for long from main memory, if
// there are too many, or will be with more bytes. The cache keeps theirs.
func (s *Searcher) bound(more int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := more
	sizes := map[memento.StoreID]int64{}
	for store, x := range s.indexes.Oldest() {
		sizes[store] = x.size()
		sum += sizes[store]
	}
	for store, x := range s.indexes.Oldest() {
		if sum <= s.opts.MaxBytes && s.indexes.Len() <= maxStores || s.indexes.Len() == 1 {
			return
		}
		if s.cache == nil && time.Since(x.searched) < keptUncached {
			continue
		}
		if x.working.TryLock() {
			sum -= sizes[store]
			s.indexes.Remove(store)
			x.working.Unlock()
		}
	}
}
