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
	foldEvery = 256     // records
	foldBytes = 4 << 20 // of contents in them
	foldTurn  = 32      // records after which another one tries what nobody has done
	baseFolds = 4       // foldings, at least, between two bases
	baseShare = 8       // of how many memories a record between two bases is worth one
	coldShare = 4       // of a folding's records make one worth it for who has just read them
	coldFold  = 16      // and no fewer than these
	listed1   = 1000    // keys of a page
	foldTries = 50      // against others who fold
)

// foldDue reports whether who wrote the newest record folds. The lock is held.
func (s *store) foldDue() bool {
	n := s.st.n - s.st.manifest.End
	return n >= s.b.foldEvery && (n-s.b.foldEvery)%foldTurn == 0 || s.st.tailSize >= foldBytes && n%foldTurn == 0
}

// foldLong folds, unless others of this process did while it waited for them: what little
// was written meanwhile is for the next turn.
func (s *store) foldLong(ctx context.Context) error {
	s.folding.Lock()
	defer s.folding.Unlock()
	s.mu.RLock()
	n := int64(0)
	if s.st != nil {
		n = s.st.n - s.st.manifest.End
	}
	long := n >= s.b.foldEvery || n > 0 && s.st.tailSize >= foldBytes
	s.mu.RUnlock()
	if !long {
		return nil
	}
	return s.foldLocked(ctx, 0, false)
}

// A snapshot is a state that folding works on.
type snapshot struct {
	state
	heads []*head
}

func (s *store) snapshot() *snapshot {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.st == nil || s.partial {
		return nil
	}
	c := &snapshot{state: *s.st, heads: slices.Clone(s.st.paths)}
	c.byID, c.byPath, c.paths, c.reads = nil, nil, nil, nil
	c.tail = slices.Clone(c.tail)
	c.foreign, c.redacted, c.gone = maps.Clone(c.foreign), maps.Clone(c.redacted), maps.Clone(c.gone)
	return c
}

// fold folds what there is.
func (s *store) fold(ctx context.Context) error { return s.foldAs(ctx, 0, false) }

// scrub removes from the bucket what the record until, and those before it, redacted
// and pruned.
func (s *store) scrub(ctx context.Context, until int64) error { return s.foldAs(ctx, until, false) }

// sweep also removes what folders that died have left of it.
func (s *store) sweep(ctx context.Context, until int64) error {
	return s.foldAs(ctx, max(until, 1), true)
}

// foldAs folds until the record scrub, unless that is 0, is folded, be it by others,
// and what it took away is gone from the bucket.
func (s *store) foldAs(ctx context.Context, scrub int64, sweep bool) error {
	s.folding.Lock()
	defer s.folding.Unlock()
	return s.foldLocked(ctx, scrub, sweep)
}

// foldLocked is foldAs for who has the lock folding.
func (s *store) foldLocked(ctx context.Context, scrub int64, sweep bool) error {
	var before *folder // one that knows what is to go, and was not the first
	for n := range foldTries {
		c := s.snapshot()
		if c == nil || c.n < scrub {
			if err := s.catchUp(ctx); err != nil {
				return err
			}
			continue
		}
		f := s.folder(c)
		f.all = sweep
		var err error
		switch {
		case c.deleted:
			return memento.ErrNoStore
		case scrub > 0 && !sweep && s.reaped.holds(scrub): // for another caller
			return nil
		case scrub > c.manifest.End, scrub == 0 && n == 0 && c.n > c.manifest.End:
			err = f.fold(ctx)
		case scrub == 0:
			return nil
		case before != nil:
			err = before.reap(ctx)
		default: // others folded it, and may not live to remove what is old
			f.all = true
			if _, err = f.survey(ctx); err == nil {
				err = f.reap(ctx)
			}
		}
		if !errors.Is(err, errRefused) && !errors.Is(err, errMissing) {
			return err
		}
		if f.live != nil {
			before = f
		}
		if err := s.reread(ctx); err != nil {
			return err
		}
		if err := sleep(ctx, rand.N(time.Duration(n+1)*10*time.Millisecond)); err != nil { // others fold: let them
			return err
		}
	}
	return fmt.Errorf("%w: others are at it", memento.ErrUnavailable)
}

// A folder is one attempt to fold.
type folder struct {
	*store
	c     *snapshot
	scrub bool
	all   bool           // whether any record of the log may hold what is to be removed
	live  map[place]bool // contents that versions refer to; nil if all are
	dirty map[int64]bool // records that hold what is to be removed
	made  []string       // objects written
	old   string         // the base that the new manifest does not name
	next  manifest
	final bool // whether the manifest may be in force

	liveBlobs map[string]bool
	commits   map[string]bool // that came about
}

func (s *store) folder(c *snapshot) *folder {
	return &folder{
		store: s, c: c, scrub: len(c.redacted)+len(c.gone) > 0,
		dirty: map[int64]bool{}, liveBlobs: map[string]bool{}, commits: map[string]bool{},
		next: manifest{Format: recordFormat, Rev: random(), End: c.n, Base: c.manifest.Base, Segments: slices.Clone(c.manifest.Segments)},
	}
}

func (f *folder) fold(ctx context.Context) error {
	etag, err := f.write(ctx)
	if err != nil {
		if !f.final || errors.Is(err, errRefused) {
			f.b.s3.remove(context.WithoutCancel(ctx), f.made...)
		}
		return err
	}
	f.mu.Lock()
	if f.st != nil {
		f.st.adopt(f.next, etag)
	}
	f.mu.Unlock()
	if f.scrub {
		return f.reap(ctx)
	}
	return f.clean(ctx)
}

// write writes the new objects, and then the manifest.
func (f *folder) write(ctx context.Context) (etag string, err error) {
	if f.scrub {
		if err := f.rewrite(ctx); err != nil {
			return "", err
		}
	}
	contents, err := f.tailContents(ctx)
	if err != nil {
		return "", err
	}
	from := f.c.manifest.End + 1
	first, last := seqs(f.c.tail)
	records, kept := f.remain(f.c.tail), slices.SortedFunc(maps.Keys(contents), comparePlaces)
	if len(records) > 0 {
		if err := f.writeSegment(ctx, len(f.next.Segments), from, f.c.n, first, last, records, kept, func(p place) string { return contents[p] }); err != nil {
			return "", err
		}
	}
	since := f.c.n
	if f.c.manifest.Base != nil {
		since -= f.c.manifest.Base.N
	}
	if f.scrub || since >= max(baseFolds*f.b.foldEvery, int64(len(f.c.heads))/baseShare) {
		if err := f.writeBase(ctx); err != nil {
			return "", err
		}
	}
	data, err := marshalChecked(&f.next)
	if err != nil {
		return "", err
	}
	f.final = true
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

func comparePlaces(a, b place) int { return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.i, b.i)) }

// survey finds out which contents stay, and returns the segments that hold others.
func (f *folder) survey(ctx context.Context) (touched []int, err error) {
	parts := make([]*description, len(f.c.manifest.Segments))
	err = parallel(ctx, len(parts), func(ctx context.Context, i int) (err error) {
		parts[i], err = f.b.describe(ctx, f.c.manifest.Segments[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	f.live = map[place]bool{}
	look := func(records []*record) (touched bool) {
		for _, r := range records {
			f.commits[r.Commit] = true
			for _, v := range r.Versions {
				if f.removed(v) {
					touched = true
					f.dirty[r.N] = true
					if v.Ref != nil {
						f.dirty[v.Ref.N] = true
					}
				} else if v.Ref != nil && v.Ref.Blob != "" {
					f.liveBlobs[v.Ref.Blob] = true
				} else if v.Ref != nil {
					f.live[v.Ref.place()] = true
				}
			}
		}
		return touched
	}
	holds := make([]bool, len(parts))
	for i, d := range parts {
		holds[i] = look(d.Records)
	}
	look(f.c.tail)
	for i, d := range parts {
		if holds[i] || slices.ContainsFunc(d.Contents, func(c span) bool { return !f.live[place{c.N, c.I}] }) {
			touched = append(touched, i)
		}
	}
	return touched, nil
}

// rewrite writes the segments anew that hold what is to be removed.
func (f *folder) rewrite(ctx context.Context) error {
	touched, err := f.survey(ctx)
	if err != nil {
		return err
	}
	for _, i := range touched {
		g := f.c.manifest.Segments[i]
		d, content, err := f.b.whole(ctx, g)
		if err != nil {
			return err
		}
		var kept []place
		for _, c := range d.Contents {
			if p := (place{c.N, c.I}); f.live[p] {
				kept = append(kept, p)
			}
		}
		if err := f.writeSegment(ctx, i, g.From, g.To, g.FirstSeq, g.LastSeq, f.remain(d.Records), kept, content); err != nil {
			return err
		}
	}
	return nil
}

// removed reports whether a version is to be emptied or taken away, and is not yet.
func (f *folder) removed(v *version) bool {
	_, redacted := f.c.redacted[v.Seq]
	return redacted && v.Redacted == 0 || f.c.gone[v.Seq]
}

// remain returns records as they are without what was redacted and pruned.
func (f *folder) remain(records []*record) []*record {
	if !f.scrub {
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
			if !f.c.gone[v.Seq] {
				left.Versions = append(left.Versions, v)
			}
		}
		remaining[i] = &left
	}
	return remaining
}

// tailContents returns the contents of the records that are folded, as far as they
// stay.
func (f *folder) tailContents(ctx context.Context) (map[place]string, error) {
	var wants []want
	for _, r := range f.c.tail {
		for _, v := range r.Versions {
			if v.Ref != nil && v.Ref.Blob == "" && v.Ref.N > f.c.manifest.End && (f.live == nil || f.live[v.Ref.place()]) {
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
	found := make(map[place]string, len(wants))
	for i, w := range wants {
		found[w.ref.place()] = texts[i]
	}
	return found, nil
}

// writeSegment writes a segment and puts it at a place in the new manifest.
func (f *folder) writeSegment(ctx context.Context, at int, from, to, first, last int64, records []*record, kept []place, content func(place) string) error {
	key := segmentKey(f.id, from, &f.c.manifest)
	data, g, err := encodeSegment(key, from, to, first, last, records, kept, content)
	if err != nil {
		return err
	}
	f.made = append(f.made, key)
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

func (f *folder) writeBase(ctx context.Context) error {
	c := f.c
	form := base{
		Format: recordFormat, N: c.n, Info: formOf(c.info), Usage: usageForm{c.info.Usage.Memories, c.info.Usage.Bytes},
		Seq: c.seq, Latest: stampOf(c.latest), Foreign: c.foreign,
	}
	for _, h := range c.heads {
		form.Heads = append(form.Heads, h.form())
	}
	data, err := pack(&form)
	if err != nil {
		return err
	}
	key := baseKey(f.id, c.n, &c.manifest)
	f.made = append(f.made, key)
	if err := f.b.s3.write(ctx, key, data); err != nil {
		return err
	}
	if c.manifest.Base != nil {
		f.old = c.manifest.Base.Key
	}
	f.next.Base = &baseRef{key, c.n}
	return nil
}
