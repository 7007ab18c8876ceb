package textindex

import (
	"context"
	"errors"
	"slices"

	"memento"
)

// errEnough ends the reading of texts for a segment.
var errEnough = errors.New("the segment has enough")

// flush makes a segment of what was written after the index, if that is enough.
func (e *edition) flush(ctx context.Context) (flushed bool, err error) {
	var from, upto int64
	var changes []Change
	err = e.view(ctx, func(ctx context.Context, now Snapshot, index *StoredIndex) (err error) {
		from = index.Seq
		m := e.live.limits
		if now.Seq()-from > m.far {
			m.maxFlush, m.flushTexts = m.farFlush, m.farTexts
		}
		changes, upto, err = m.due(ctx, now, from)
		e.pacer = e.live.indexer.newPacer(now.Seq() - from)
		return err
	})
	if err != nil || upto == from {
		return false, err
	}
	id, err := e.announce(ctx)
	if err != nil {
		return false, err
	}
	published := false
	defer func() {
		if !published {
			e.discard(ctx, id)
		}
	}()
	built := newBuilder()
	defer built.close()
	// Each batch has a view of its own, so that nothing waits for indexing. A text may be one
	// that was written after the versions up to which the segment goes, or be another one by
	// now. A later change says then that it is dead here.
	read := func(batch []Change) (texts map[memento.MemoryID]Text, err error) {
		err = e.live.storage.View(ctx, e.store, func(ctx context.Context, now Snapshot) (err error) {
			texts, err = e.live.store(e.store).writtenTexts(ctx, now, batch)
			return err
		})
		return texts, err
	}
	var next memento.MemoryID // the first one that has no room
	err = inBatches(ctx, changes, read, func(c Change, text Text, exists bool) error {
		if built.bytes > e.live.limits.maxBuilt {
			next = c.Memory
			return errEnough
		}
		if exists {
			built.add(string(c.Memory), text)
		}
		e.pacer.pause(ctx)
		return nil
	})
	if err == errEnough { // the words of these texts repeat less than those of others
		n := slices.IndexFunc(changes, func(c Change) bool { return c.Memory == next })
		changes, upto, err = changes[:n], changes[n-1].Seq, nil
	}
	if err != nil {
		return false, err
	}
	built.close()
	some := false
	if len(built.docs) > 0 {
		if some, err = e.write(ctx, id, built.source()); err != nil {
			return false, err
		}
	}
	err = e.publish(ctx, false, func(ctx context.Context, now Snapshot, index *StoredIndex) error {
		if index.Seq != from {
			return ErrRevised // another process has done the same
		}
		if err := e.kill(ctx, now, index, changes); err != nil {
			return err
		}
		if index.Seq = upto; some {
			index.Segments = append(index.Segments, StoredSegment{ID: id})
		}
		return nil
	})
	published = err == nil && some
	return err == nil, err
}

// due returns what becomes a segment: the changes after from, up to upto. If that is not
// enough yet, upto is from.
func (m limits) due(ctx context.Context, now Snapshot, from int64) (changes []Change, upto int64, err error) {
	changes, err = now.Changed(ctx, from, m.maxFlush)
	if err != nil {
		return nil, from, err
	}
	var texts int64
	enough := slices.IndexFunc(changes, func(c Change) bool {
		texts += c.Size
		return texts >= m.flushTexts
	})
	switch {
	case enough >= 0 && enough+1 < len(changes):
		return changes[:enough+1], changes[enough].Seq, nil
	case enough < 0 && len(changes) < m.flushVersions && now.Seq()-from < int64(m.maxFlush):
		return nil, from, nil
	}
	return changes, after(changes, m.maxFlush, now), nil
}

// after returns up to which version the changes of a snapshot are, at most limit of which
// were wanted.
func after(changes []Change, limit int, now Snapshot) int64 {
	if len(changes) < limit {
		return now.Seq()
	}
	return changes[len(changes)-1].Seq
}

// Limits of what is read at a time, so that little is in main memory, and nothing waits long.
const (
	readTogether      = 256     // memories
	readTogetherBytes = 4 << 20 // of their contents
)

// newestOf returns for each memory of changes the newest one of them, in order of the first
// ones.
func newestOf(changes []Change) []Change {
	var all []Change
	at := map[memento.MemoryID]int{}
	for _, c := range changes {
		i, again := at[c.Memory]
		if !again {
			at[c.Memory] = len(all)
			all = append(all, c)
			continue
		}
		c.First = all[i].First // nothing older has the memory
		c.again = true
		all[i] = c
	}
	return all
}

// batch returns how many of the changes are read at a time.
func batch(changes []Change) int {
	var size int64
	for n, c := range changes {
		if size += c.Size; n == readTogether || n > 0 && size > readTogetherBytes {
			return n
		}
	}
	return len(changes)
}

// textsOf returns the texts of memories that have changed, at one instant.
func textsOf(ctx context.Context, now Snapshot, changes []Change) (map[memento.MemoryID]Text, error) {
	ids := make([]memento.MemoryID, len(changes))
	for i, c := range changes {
		ids[i] = c.Memory
	}
	return now.Texts(ctx, ids)
}

// writtenTexts is textsOf, but memories whose only change was their first one have the text
// of that, though there may be a newer version by now.
func (s *liveStore) writtenTexts(ctx context.Context, now Snapshot, changes []Change) (map[memento.MemoryID]Text, error) {
	versions, ok := now.(VersionReader)
	if !ok || s.doubted.Load() {
		return textsOf(ctx, now, changes)
	}
	var others []Change
	var seqs []int64
	for _, c := range changes {
		if c.First && !c.again {
			seqs = append(seqs, c.Seq)
		} else {
			others = append(others, c) // an imported version need not be what the memory has become
		}
	}
	texts, err := textsOf(ctx, now, others)
	if err != nil {
		return nil, err
	}
	written, err := versions.VersionTexts(ctx, seqs)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		if text, ok := written[c.Seq]; ok {
			texts[c.Memory] = text
		}
	}
	return texts, nil
}

// inBatches calls do for each memory that has changed, with its newest change of those, and
// its text if it exists, which read reads for some changes at a time.
func inBatches(ctx context.Context, changes []Change, read func([]Change) (map[memento.MemoryID]Text, error), do func(c Change, text Text, exists bool) error) error {
	for rest := newestOf(changes); len(rest) > 0; {
		n := batch(rest)
		texts, err := read(rest[:n])
		if err != nil {
			return err
		}
		for _, c := range rest[:n] {
			text, exists := texts[c.Memory]
			if err := do(c, text, exists); err != nil {
				return err
			}
		}
		if rest = rest[n:]; ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}
