package s3store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"memento"
)

// A compaction rewrites the records at the end of the log, which are one object each, as
// one segment of history, without the versions and contents that were redacted or pruned.
// Some compactions also write a checkpoint: all memories as of one record. The manifest
// names the current segments and checkpoint. It is replaced on condition that it has not
// changed since it was read, so that of two concurrent compactions one starts again.

const (
	compactEvery      = 256     // records that are not compacted, after which a writer compacts
	compactBytes      = 4 << 20 // bytes of contents in those, after which a writer compacts earlier
	compactRetryEvery = 32      // records after which another writer tries a compaction that is overdue

	// A checkpoint needs at least so many records or versions since the last: those of
	// checkpointCompactions compactions, and memories/checkpointShare. They are read one by one
	// when a store is loaded, which takes longer than all the rest if they are many.
	checkpointCompactions = 4
	checkpointShare       = 16

	loadCompactShare = 4  // a process that loads a store compacts from CompactEvery/loadCompactShare records on,
	loadCompactMin   = 16 // or from this many if that is more

	listPageSize = 1000 // keys on a page of a listing
	compactTries = 50   // attempts while other processes compact the same store
)

// compactionDue reports whether the writer of the newest record compacts the log. s.mu
// is held.
func (s *store) compactionDue() bool {
	n := s.st.n - s.st.manifest.End
	return n >= s.b.compactEvery && (n-s.b.compactEvery)%compactRetryEvery == 0 || s.st.tailSize >= compactBytes && n%compactRetryEvery == 0
}

// compactIfDue compacts, unless another goroutine did while this one waited for it. The
// few records that were written meanwhile are left to the next compaction.
func (s *store) compactIfDue(ctx context.Context) error {
	s.compacting.Lock()
	defer s.compacting.Unlock()
	s.mu.RLock()
	n := int64(0)
	if s.st != nil {
		n = s.st.n - s.st.manifest.End
	}
	due := n >= s.b.compactEvery || n > 0 && s.st.tailSize >= compactBytes
	s.mu.RUnlock()
	if !due {
		return nil
	}
	return s.compactLocked(ctx, 0, false)
}

// A snapshot is a copy of the state for a compaction.
type snapshot struct {
	state
	entries []*indexEntry
}

func (s *store) snapshot() *snapshot {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.st == nil || s.partial {
		return nil
	}
	c := &snapshot{state: *s.st, entries: slices.Clone(s.st.paths)}
	c.byID, c.paths, c.reads = nil, nil, nil
	c.tail = slices.Clone(c.tail)
	c.seqByID, c.redacted, c.pruned = maps.Clone(c.seqByID), maps.Clone(c.redacted), maps.Clone(c.pruned)
	return c
}

// compact compacts all records of the log.
func (s *store) compact(ctx context.Context) error { return s.compactTo(ctx, 0, false) }

// purgeRemoved deletes from the bucket what the records up to until have redacted and
// pruned.
func (s *store) purgeRemoved(ctx context.Context, until int64) error {
	return s.compactTo(ctx, until, false)
}

// collectGarbage is purgeRemoved, and also deletes what compactors that crashed have left
// behind.
func (s *store) collectGarbage(ctx context.Context, until int64) error {
	return s.compactTo(ctx, max(until, 1), true)
}

// compactTo compacts until record until is compacted, by this or another process, and
// what it redacts and prunes is gone from the bucket. With until 0 it only compacts, once.
// all says that any record of the log may hold what is to be deleted.
func (s *store) compactTo(ctx context.Context, until int64, all bool) error {
	s.compacting.Lock()
	defer s.compacting.Unlock()
	return s.compactLocked(ctx, until, all)
}

// compactLocked is compactTo. s.compacting is held.
func (s *store) compactLocked(ctx context.Context, until int64, all bool) error {
	var earlier *compactor // an attempt that found out what to delete, but lost the race
	for n := range compactTries {
		c := s.snapshot()
		if c == nil || c.n < until {
			if err := s.catchUp(ctx); err != nil {
				return err
			}
			continue
		}
		f := s.newCompactor(c)
		f.allRecords = all
		var err error
		switch {
		case c.deleted:
			return memento.ErrNoStore
		case until > 0 && !all && s.purged.contains(until): // for another caller
			return nil
		case until > c.manifest.End, until == 0 && n == 0 && c.n > c.manifest.End:
			err = f.run(ctx)
		case until == 0:
			return nil
		case earlier != nil:
			err = earlier.deleteUnreferenced(ctx)
		default: // another process compacted it, and may crash before it deletes the old objects
			f.allRecords = true
			if _, err = f.findLive(ctx); err == nil {
				err = f.deleteUnreferenced(ctx)
			}
		}
		if !errors.Is(err, errPrecondition) && !errors.Is(err, errNotFound) {
			return err
		}
		if f.live != nil {
			earlier = f
		}
		if err := s.reloadManifest(ctx); err != nil {
			return err
		}
		if err := sleep(ctx, rand.N(time.Duration(n+1)*10*time.Millisecond)); err != nil { // back off while others compact
			return err
		}
	}
	return fmt.Errorf("%w: too many concurrent compactions", memento.ErrUnavailable)
}

// A compactor is one attempt of a compaction.
type compactor struct {
	*store
	from          *snapshot
	removes       bool               // there are versions to be redacted or removed
	allRecords    bool               // any record of the log may hold what is to be removed
	live          map[contentID]bool // contents that versions refer to; nil if all are
	dirtyRecords  map[int64]bool     // records that hold what is to be removed
	written       []string           // keys of the objects that this attempt has written
	oldCheckpoint string             // key of the checkpoint that the new manifest replaces; "" if none
	next          manifest
	manifestSent  bool // the new manifest was sent, and may be the current one

	liveBlobs map[string]bool
	commits   map[string]bool // names of the commits in the log
}

func (s *store) newCompactor(c *snapshot) *compactor {
	return &compactor{
		store: s, from: c, removes: len(c.redacted)+len(c.pruned) > 0,
		dirtyRecords: map[int64]bool{}, liveBlobs: map[string]bool{}, commits: map[string]bool{},
		next: manifest{Format: manifestFormat, Rev: random(), End: c.n, Checkpoint: c.manifest.Checkpoint, Segments: slices.Clone(c.manifest.Segments)},
	}
}

// run writes the compacted objects and the manifest, and then deletes what they replace.
// If it fails, it deletes what it has written and no manifest names.
//
// Errors: errPrecondition if another process has replaced the manifest, errNotFound if
// that process has deleted objects already.
func (f *compactor) run(ctx context.Context) error {
	etag, err := f.write(ctx)
	if err != nil {
		f.discard(context.WithoutCancel(ctx), err)
		return err
	}
	f.mu.Lock()
	if f.st != nil {
		f.st.adopt(f.next, etag)
	}
	f.mu.Unlock()
	if f.removes {
		return f.deleteUnreferenced(ctx)
	}
	return f.expireLog(ctx)
}

// discard deletes what write has written before it failed, as far as no manifest names it. What
// it cannot delete is left to the next redaction.
func (f *compactor) discard(ctx context.Context, failed error) {
	unused := f.written
	if f.manifestSent {
		if !errors.Is(failed, errPrecondition) {
			return // the manifest may be the current one
		}
		// Or it was, its answer was lost, and a later manifest names the same objects. What the
		// present one does not name, no later one does.
		now, _, err := f.b.getManifest(ctx, f.id)
		if err != nil {
			return
		}
		unused = slices.DeleteFunc(unused, now.mayReference)
	}
	f.b.s3.remove(ctx, unused...)
}

// write writes the new objects, and then the manifest.
func (f *compactor) write(ctx context.Context) (etag string, err error) {
	if f.removes {
		if err := f.rewriteSegments(ctx); err != nil {
			return "", err
		}
	}
	contents, err := f.tailContents(ctx)
	if err != nil {
		return "", err
	}
	from := f.from.manifest.End + 1
	first, last := seqs(f.from.tail)
	records, ids := f.withoutRemoved(f.from.tail), slices.SortedFunc(maps.Keys(contents), compareContentIDs)
	if len(records) > 0 {
		if err := f.writeSegment(ctx, len(f.next.Segments), from, f.from.n, first, last, records, ids, func(p contentID) string { return contents[p] }); err != nil {
			return "", err
		}
	}
	if f.removes || f.sinceCheckpoint() >= max(checkpointCompactions*f.b.compactEvery, int64(len(f.from.entries))/checkpointShare) {
		if err := f.writeCheckpoint(ctx); err != nil {
			return "", err
		}
	}
	data, err := marshalChecked(&f.next)
	if err != nil {
		return "", err
	}
	f.manifestSent = true
	cond := ifAbsent
	if f.from.etag != "" {
		cond = ifMatch(f.from.etag)
	}
	return f.b.s3.swap(ctx, manifestKey(f.id), data, cond)
}

// sinceCheckpoint returns how many records or, if these are more, versions are not in the
// checkpoint.
func (f *compactor) sinceCheckpoint() int64 {
	c := f.from.manifest.Checkpoint
	if c == nil {
		return max(f.from.n, f.from.seq)
	}
	return max(f.from.n-c.N, f.from.seq-f.from.manifest.seqAt(c.N))
}

// seqs returns the first and the last Seq of the records' versions; 0 if there are none.
func seqs(records []*record) (first, last int64) {
	for _, r := range records {
		if n := len(r.Versions); n > 0 {
			if first == 0 {
				first = r.Versions[0].Seq
			}
			last = r.Versions[n-1].Seq
		}
	}
	return first, last
}

func compareContentIDs(a, b contentID) int {
	return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.i, b.i))
}

// findLive finds out which contents and commits are live. It returns the indexes of the
// segments that hold anything else, and so must be rewritten.
func (f *compactor) findLive(ctx context.Context) (touched []int, err error) {
	parts := make([]*segmentHeader, len(f.from.manifest.Segments))
	err = parallel(ctx, len(parts), func(ctx context.Context, i int) (err error) {
		parts[i], err = f.b.segmentHeader(ctx, f.from.manifest.Segments[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	f.live = map[contentID]bool{}
	scan := func(records []*record) (touched bool) {
		for _, r := range records {
			f.commits[r.Commit] = true
			for _, v := range r.Versions {
				if f.toRemove(v) {
					touched = true
					f.dirtyRecords[r.N] = true
					if v.Ref != nil {
						f.dirtyRecords[v.Ref.N] = true
					}
				} else if v.Ref != nil && v.Ref.Blob != "" {
					f.liveBlobs[v.Ref.Blob] = true
				} else if v.Ref != nil {
					f.live[v.Ref.contentID()] = true
				}
			}
		}
		return touched
	}
	holds := make([]bool, len(parts))
	for i, d := range parts {
		holds[i] = scan(d.Records)
	}
	scan(f.from.tail)
	for i, d := range parts {
		if holds[i] || slices.ContainsFunc(d.table.spans, func(c span) bool { return !f.live[c.id()] }) {
			touched = append(touched, i)
		}
	}
	return touched, nil
}

// rewriteSegments writes the segments again that hold anything to be removed.
func (f *compactor) rewriteSegments(ctx context.Context) error {
	touched, err := f.findLive(ctx)
	if err != nil {
		return err
	}
	for _, i := range touched {
		g := f.from.manifest.Segments[i]
		o, err := f.b.readSegment(ctx, g)
		if err != nil {
			return err
		}
		d, err := f.b.segmentHeader(ctx, g) // which findLive has read
		if err != nil {
			return err
		}
		var ids []contentID
		for _, c := range o.table.spans {
			if p := c.id(); f.live[p] {
				ids = append(ids, p)
			}
		}
		content := func(p contentID) string {
			c, _ := o.table.find(p)
			return o.content(c)
		}
		if err := f.writeSegment(ctx, i, g.From, g.To, g.FirstSeq, g.LastSeq, f.withoutRemoved(d.Records), ids, content); err != nil {
			return err
		}
	}
	return nil
}

// toRemove reports whether a version must be redacted or removed, and is not yet.
func (f *compactor) toRemove(v *version) bool {
	_, redacted := f.from.redacted[v.Seq]
	return redacted && v.Redacted == 0 || f.from.pruned[v.Seq]
}

// withoutRemoved returns the records without what was redacted and pruned.
func (f *compactor) withoutRemoved(records []*record) []*record {
	if !f.removes {
		return records
	}
	remaining := make([]*record, len(records))
	for i, r := range records {
		left := *r
		left.Versions = nil
		for _, v := range r.Versions {
			if c, redacted := f.from.redacted[v.Seq]; redacted && v.Redacted == 0 {
				v = v.redacted(c)
			}
			if !f.from.pruned[v.Seq] {
				left.Versions = append(left.Versions, v)
			}
		}
		remaining[i] = &left
	}
	return remaining
}

// tailContents returns the live contents of the records that are being compacted.
func (f *compactor) tailContents(ctx context.Context) (map[contentID]string, error) {
	var wants []want
	for _, r := range f.from.tail {
		for _, v := range r.Versions {
			if v.Ref != nil && v.Ref.Blob == "" && v.Ref.N > f.from.manifest.End && (f.live == nil || f.live[v.Ref.contentID()]) {
				w := v.want()
				w.raw = true // damaged contents are copied as they are, and can still be redacted
				wants = append(wants, w)
			}
		}
	}
	texts, err := f.contents(ctx, wants)
	if err != nil {
		return nil, err
	}
	found := make(map[contentID]string, len(wants))
	for i, w := range wants {
		found[w.ref.contentID()] = texts[i]
	}
	return found, nil
}

// writeSegment writes a segment, and enters it in the new manifest at index at.
func (f *compactor) writeSegment(ctx context.Context, at int, from, to, first, last int64, records []*record, ids []contentID, content func(contentID) string) error {
	key := segmentKey(f.id, from, &f.from.manifest)
	data, g, err := encodeSegment(key, from, to, first, last, records, ids, content)
	if err != nil {
		return err
	}
	f.written = append(f.written, key)
	if err := f.b.s3.write(ctx, key, data); err != nil {
		return err
	}
	if at == len(f.next.Segments) {
		f.next.Segments = append(f.next.Segments, g)
	} else {
		f.next.Segments[at] = g
	}
	return nil
}

// writeCheckpoint writes a checkpoint, and enters it in the new manifest.
func (f *compactor) writeCheckpoint(ctx context.Context) error {
	c := f.from
	data, err := c.checkpoint()
	if err != nil {
		return err
	}
	key := checkpointKey(f.id, c.n, &c.manifest)
	f.written = append(f.written, key)
	if err := f.b.s3.write(ctx, key, data); err != nil {
		return err
	}
	if c.manifest.Checkpoint != nil {
		f.oldCheckpoint = c.manifest.Checkpoint.Key
	}
	f.next.Checkpoint = &checkpointRef{key, c.n}
	return nil
}
