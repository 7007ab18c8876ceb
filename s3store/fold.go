package s3store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"memento"
)

// Folding writes the records at the end of the log, which are one object each, as one
// object of history, and takes away what was redacted and pruned. The manifest, which
// names what is in force, is replaced on condition that it is still the one that was
// read: of two that fold at once, one starts again.

const (
	foldEvery = 256      // records
	foldBytes = 4 << 20  // of contents in them
	foldTurn  = 32       // records after which another one tries what nobody has done
	baseFolds = 4        // foldings, at least, between two bases
	baseShare = 8        // of how many memories a record between two bases is worth one
	coldShare = 4        // of a folding's records make one worth it for who has just read them
	coldFold  = 16       // and no fewer than these
	listed1   = 1000     // keys of a page
)

// foldDue reports whether who wrote the newest record folds. The lock is held.
func (s *store) foldDue() bool {
	n := s.st.n - s.st.manifest.End
	return n >= s.b.foldEvery && (n-s.b.foldEvery)%foldTurn == 0 || s.st.tailSize >= foldBytes && n%foldTurn == 0
}

// A snapshot is a state that folding works on.
type snapshot struct {
	state
	heads []*head
}

func (s *store) snapshot() *snapshot {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.st == nil {
		return nil
	}
	c := &snapshot{state: *s.st, heads: slices.Clone(s.st.paths)}
	c.byID, c.byPath, c.paths, c.reads = nil, nil, nil, nil
	c.tail = slices.Clone(c.tail)
	c.foreign, c.redacted, c.gone = maps.Clone(c.foreign), maps.Clone(c.redacted), maps.Clone(c.gone)
	return c
}

// fold folds what there is. With scrub it does so until nothing that was redacted or
// pruned before the call is left.
func (s *store) fold(ctx context.Context, scrub bool) error { return s.foldAs(ctx, scrub, false) }

// sweep removes what folders that died have left of what was redacted or pruned.
func (s *store) sweep(ctx context.Context) error { return s.foldAs(ctx, true, true) }

func (s *store) foldAs(ctx context.Context, scrub, sweep bool) error {
	s.folding.Lock()
	defer s.folding.Unlock()
	for range 20 {
		s.mu.RLock()
		loaded := s.st != nil
		s.mu.RUnlock()
		if !loaded {
			if err := s.catchUp(ctx); err != nil {
				return err
			}
		}
		c := s.snapshot()
		switch {
		case c == nil:
			continue
		case c.deleted:
			return memento.ErrNoStore
		case !sweep && (c.n <= c.manifest.End || scrub && c.scrubbed <= c.manifest.End):
			return nil
		}
		err := s.foldOnce(ctx, c, sweep)
		if !errors.Is(err, errRefused) && !errors.Is(err, errMissing) {
			return err
		}
		if err := s.reread(ctx); err != nil {
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
	sweep bool
	live  map[place]bool // contents that versions refer to; nil if all are
	dirty map[int64]bool // records that hold what is to be removed
	made  []string       // objects written

	// What there was before the manifest was replaced, of which what it does not name,
	// and no version refers to, is nobody's: who was about to name it can no more.
	listed    []listed
	liveBlobs map[string]bool
	commits   map[string]bool // that came about
	old       []string        // objects that the new manifest does not name
	next      manifest
	final     bool // whether the manifest may be in force
}

func (s *store) foldOnce(ctx context.Context, c *snapshot, sweep bool) error {
	f := &folder{
		store: s, c: c, scrub: sweep || len(c.redacted)+len(c.gone) > 0, sweep: sweep,
		dirty: map[int64]bool{}, liveBlobs: map[string]bool{}, commits: map[string]bool{},
	}
	f.next = manifest{Format: recordFormat, Rev: random(), End: c.n, Base: c.manifest.Base, Segments: slices.Clone(c.manifest.Segments)}
	etag, err := f.write(ctx)
	if err != nil {
		if !f.final || errors.Is(err, errRefused) {
			s.b.s3.remove(context.WithoutCancel(ctx), f.made...)
		}
		return err
	}
	s.mu.Lock()
	if s.st != nil {
		s.st.adopt(f.next, etag)
	}
	s.mu.Unlock()
	return f.clean(ctx)
}

// write writes the new objects, and then the manifest.
func (f *folder) write(ctx context.Context) (etag string, err error) {
	if f.scrub {
		if err := f.mark(ctx); err != nil {
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
	data, err := json.Marshal(&f.next)
	if err != nil {
		return "", err
	}
	for _, dir := range []string{baseDir(f.id), segmentDir(f.id), blobDir(f.id)} {
		if !f.scrub {
			break
		}
		found, err := f.b.s3.list(ctx, dir, "", 0, true)
		if err != nil {
			return "", err
		}
		f.listed = append(f.listed, found...)
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

// mark finds out which contents stay, and rewrites the segments that hold others.
func (f *folder) mark(ctx context.Context) error {
	parts := make([]*description, len(f.c.manifest.Segments))
	err := parallel(ctx, len(parts), func(ctx context.Context, i int) (err error) {
		parts[i], err = f.b.describe(ctx, f.c.manifest.Segments[i])
		return err
	})
	if err != nil {
		return err
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
	touched := make([]bool, len(parts))
	for i, d := range parts {
		touched[i] = look(d.Records)
	}
	look(f.c.tail)
	for i, d := range parts {
		g := f.c.manifest.Segments[i]
		stale := slices.ContainsFunc(d.Contents, func(c span) bool { return !f.live[place{c.N, c.I}] })
		if !touched[i] && !stale {
			continue
		}
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
		f.old = append(f.old, g.Key)
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
				wants = append(wants, want{*v.Ref, v.SHA256})
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
	key := segmentKey(f.id, from)
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
	key := baseKey(f.id, c.n)
	f.made = append(f.made, key)
	if err := f.b.s3.write(ctx, key, data); err != nil {
		return err
	}
	if c.manifest.Base != nil {
		f.old = append(f.old, c.manifest.Base.Key)
	}
	f.next.Base = &baseRef{key, c.n}
	return nil
}

// clean removes what the manifest in force does not name any more: at once, what was
// redacted and pruned; the rest when nobody can look for it.
func (f *folder) clean(ctx context.Context) error {
	for _, key := range f.old {
		f.b.cache.remove(cacheKey{name: key})
	}
	if err := f.b.s3.remove(ctx, append(f.strays(), f.old...)...); err != nil {
		return err
	}
	all := 0 // also what lies behind the first page
	if !f.scrub {
		all = listed1
	}
	log, err := f.b.s3.list(ctx, logDir(f.id), "", all, true)
	if err != nil {
		return err
	}
	var expired []string
	var emptied []int64
	for _, o := range log {
		n, ok := parseLogKey(o.key)
		switch {
		case !ok || n > f.next.End:
		case time.Since(o.at) > f.b.keepLog:
			expired = append(expired, o.key)
		case f.dirty[n] || f.sweep && o.size > int64(len(stub(n))):
			emptied = append(emptied, n)
		}
	}
	if err := f.b.s3.remove(ctx, expired...); err != nil {
		return err
	}
	return parallel(ctx, len(emptied), func(ctx context.Context, i int) error {
		return f.b.s3.overwrite(ctx, logKey(f.id, emptied[i]), stub(emptied[i]))
	})
}

// strays returns what was there before, and is nobody's.
func (f *folder) strays() (keys []string) {
	named := map[string]bool{}
	if f.next.Base != nil {
		named[f.next.Base.Key] = true
	}
	for _, g := range f.next.Segments {
		named[g.Key] = true
	}
	for _, key := range f.old {
		named[key] = true // removed anyway
	}
	for _, o := range f.listed {
		if name, ok := strings.CutPrefix(o.key, blobDir(f.id)); ok {
			commit, _, _ := strings.Cut(name, "-")
			if f.liveBlobs[name] || !f.commits[commit] { // what is under way is of no commit yet
				continue
			}
			f.b.cache.remove(cacheKey{dir: string(f.id), name: name})
		} else if named[o.key] {
			continue
		}
		keys = append(keys, o.key)
	}
	return keys
}

func parseLogKey(key string) (n int64, ok bool) {
	if len(key) < 20 {
		return 0, false
	}
	_, err := fmt.Sscanf(key[len(key)-20:], "%d", &n)
	return n, err == nil
}
