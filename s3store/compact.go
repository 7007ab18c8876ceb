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

// Folding writes the records at the end of the log, which are one object each, as one
// object of history, and takes away what was redacted and pruned. The manifest, which
// names what is in force, is replaced on condition that it is still the one that was
// read: of two that fold at once, one starts again.

const (
	compactEvery          = 256     // records
	compactBytes          = 4 << 20 // of contents in them
	compactRetryEvery     = 32      // records after which another one tries what nobody has done
	checkpointCompactions = 4       // foldings, at least, between two bases
	checkpointShare       = 8       // of how many memories a record between two bases is worth one
	loadCompactShare      = 4       // of a folding's records make one worth it for who has just read them
	loadCompactMin        = 16      // and no fewer than these
	listPageSize          = 1000    // keys of a page
	compactTries          = 50      // against others who fold
)

// foldDue reports whether who wrote the newest record folds. The lock is held.
func (s *store) compactionDue() bool {
	n := s.st.n - s.st.manifest.End
	return n >= s.b.compactEvery && (n-s.b.compactEvery)%compactRetryEvery == 0 || s.st.tailSize >= compactBytes && n%compactRetryEvery == 0
}

// foldLong folds, unless others of this process did while it waited for them: what little
// was written meanwhile is for the next turn.
func (s *store) compactIfDue(ctx context.Context) error {
	s.compacting.Lock()
	defer s.compacting.Unlock()
	s.mu.RLock()
	n := int64(0)
	if s.st != nil {
		n = s.st.n - s.st.manifest.End
	}
	long := n >= s.b.compactEvery || n > 0 && s.st.tailSize >= compactBytes
	s.mu.RUnlock()
	if !long {
		return nil
	}
	return s.compactLocked(ctx, 0, false)
}

// A snapshot is a state that folding works on.
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
	c.byID, c.byPath, c.paths, c.reads = nil, nil, nil, nil
	c.tail = slices.Clone(c.tail)
	c.seqByID, c.redacted, c.pruned = maps.Clone(c.seqByID), maps.Clone(c.redacted), maps.Clone(c.pruned)
	return c
}

// fold folds what there is.
func (s *store) compact(ctx context.Context) error { return s.compactTo(ctx, 0, false) }

// scrub removes from the bucket what the record until, and those before it, redacted
// and pruned.
func (s *store) purgeRemoved(ctx context.Context, until int64) error {
	return s.compactTo(ctx, until, false)
}

// sweep also removes what folders that died have left of it.
func (s *store) collectGarbage(ctx context.Context, until int64) error {
	return s.compactTo(ctx, max(until, 1), true)
}

// foldAs folds until the record scrub, unless that is 0, is folded, be it by others,
// and what it took away is gone from the bucket.
func (s *store) compactTo(ctx context.Context, until int64, all bool) error {
	s.compacting.Lock()
	defer s.compacting.Unlock()
	return s.compactLocked(ctx, until, all)
}

// foldLocked is foldAs for who has the lock folding.
func (s *store) compactLocked(ctx context.Context, until int64, all bool) error {
	var before *compactor // one that knows what is to go, and was not the first
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
		case until > 0 && !all && s.collected.contains(until): // for another caller
			return nil
		case until > c.manifest.End, until == 0 && n == 0 && c.n > c.manifest.End:
			err = f.run(ctx)
		case until == 0:
			return nil
		case before != nil:
			err = before.deleteUnreferenced(ctx)
		default: // others folded it, and may not live to remove what is old
			f.allRecords = true
			if _, err = f.findLive(ctx); err == nil {
				err = f.deleteUnreferenced(ctx)
			}
		}
		if !errors.Is(err, errPrecondition) && !errors.Is(err, errNotFound) {
			return err
		}
		if f.live != nil {
			before = f
		}
		if err := s.reloadManifest(ctx); err != nil {
			return err
		}
		if err := sleep(ctx, rand.N(time.Duration(n+1)*10*time.Millisecond)); err != nil { // others fold: let them
			return err
		}
	}
	return fmt.Errorf("%w: others are at it", memento.ErrUnavailable)
}

// A folder is one attempt to fold.
type compactor struct {
	*store
	c             *snapshot
	removes       bool
	allRecords    bool               // whether any record of the log may hold what is to be removed
	live          map[contentID]bool // contents that versions refer to; nil if all are
	dirtyRecords  map[int64]bool     // records that hold what is to be removed
	written       []string           // objects written
	oldCheckpoint string             // the base that the new manifest does not name
	next          manifest
	manifestSent  bool // whether the manifest may be in force

	liveBlobs map[string]bool
	commits   map[string]bool // that came about
}

func (s *store) newCompactor(c *snapshot) *compactor {
	return &compactor{
		store: s, c: c, removes: len(c.redacted)+len(c.pruned) > 0,
		dirtyRecords: map[int64]bool{}, liveBlobs: map[string]bool{}, commits: map[string]bool{},
		next: manifest{Format: recordFormat, Rev: random(), End: c.n, Checkpoint: c.manifest.Checkpoint, Segments: slices.Clone(c.manifest.Segments)},
	}
}

func (f *compactor) run(ctx context.Context) error {
	etag, err := f.write(ctx)
	if err != nil {
		if !f.manifestSent || errors.Is(err, errPrecondition) {
			f.b.s3.remove(context.WithoutCancel(ctx), f.written...)
		}
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
	from := f.c.manifest.End + 1
	first, last := seqs(f.c.tail)
	records, kept := f.withoutRemoved(f.c.tail), slices.SortedFunc(maps.Keys(contents), compareContentIDs)
	if len(records) > 0 {
		if err := f.writeSegment(ctx, len(f.next.Segments), from, f.c.n, first, last, records, kept, func(p contentID) string { return contents[p] }); err != nil {
			return "", err
		}
	}
	since := f.c.n
	if f.c.manifest.Checkpoint != nil {
		since -= f.c.manifest.Checkpoint.N
	}
	if f.removes || since >= max(checkpointCompactions*f.b.compactEvery, int64(len(f.c.entries))/checkpointShare) {
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
	if f.c.etag != "" {
		cond = ifMatch(f.c.etag)
	}
	return f.b.s3.swap(ctx, manifestKey(f.id), data, cond)
}

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

// survey finds out which contents stay, and returns the segments that hold others.
func (f *compactor) findLive(ctx context.Context) (touched []int, err error) {
	parts := make([]*segmentHeader, len(f.c.manifest.Segments))
	err = parallel(ctx, len(parts), func(ctx context.Context, i int) (err error) {
		parts[i], err = f.b.segmentHeader(ctx, f.c.manifest.Segments[i])
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
	scan(f.c.tail)
	for i, d := range parts {
		if holds[i] || slices.ContainsFunc(d.Contents, func(c span) bool { return !f.live[contentID{c.N, c.I}] }) {
			touched = append(touched, i)
		}
	}
	return touched, nil
}

// rewrite writes the segments anew that hold what is to be removed.
func (f *compactor) rewriteSegments(ctx context.Context) error {
	touched, err := f.findLive(ctx)
	if err != nil {
		return err
	}
	for _, i := range touched {
		g := f.c.manifest.Segments[i]
		d, content, err := f.b.readSegment(ctx, g)
		if err != nil {
			return err
		}
		var kept []contentID
		for _, c := range d.Contents {
			if p := (contentID{c.N, c.I}); f.live[p] {
				kept = append(kept, p)
			}
		}
		if err := f.writeSegment(ctx, i, g.From, g.To, g.FirstSeq, g.LastSeq, f.withoutRemoved(d.Records), kept, content); err != nil {
			return err
		}
	}
	return nil
}

// removed reports whether a version is to be emptied or taken away, and is not yet.
func (f *compactor) toRemove(v *version) bool {
	_, redacted := f.c.redacted[v.Seq]
	return redacted && v.Redacted == 0 || f.c.pruned[v.Seq]
}

// remain returns records as they are without what was redacted and pruned.
func (f *compactor) withoutRemoved(records []*record) []*record {
	if !f.removes {
		return records
	}
	remaining := make([]*record, len(records))
	for i, r := range records {
		left := *r
		left.Versions = nil
		for _, v := range r.Versions {
			if c, redacted := f.c.redacted[v.Seq]; redacted && v.Redacted == 0 {
				v = v.redacted(c)
			}
			if !f.c.pruned[v.Seq] {
				left.Versions = append(left.Versions, v)
			}
		}
		remaining[i] = &left
	}
	return remaining
}

// tailContents returns the contents of the records that are folded, as far as they
// stay.
func (f *compactor) tailContents(ctx context.Context) (map[contentID]string, error) {
	var wants []want
	for _, r := range f.c.tail {
		for _, v := range r.Versions {
			if v.Ref != nil && v.Ref.Blob == "" && v.Ref.N > f.c.manifest.End && (f.live == nil || f.live[v.Ref.contentID()]) {
				w := v.want()
				w.raw = true // what is damaged stays so, and can still be redacted
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

// writeSegment writes a segment and puts it at a place in the new manifest.
func (f *compactor) writeSegment(ctx context.Context, at int, from, to, first, last int64, records []*record, kept []contentID, content func(contentID) string) error {
	key := segmentKey(f.id, from, &f.c.manifest)
	data, g, err := encodeSegment(key, from, to, first, last, records, kept, content)
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

func (f *compactor) writeCheckpoint(ctx context.Context) error {
	c := f.c
	form := checkpoint{
		Format: recordFormat, N: c.n, Info: formOf(c.info), Usage: usageForm{c.info.Usage.Memories, c.info.Usage.Bytes},
		Seq: c.seq, Latest: stampOf(c.latest), SeqByID: c.seqByID,
	}
	for _, h := range c.entries {
		form.Memories = append(form.Memories, h.record())
	}
	data, err := pack(&form)
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
