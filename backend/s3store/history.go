package s3store

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"

	"memento"
)

// A historyView is a store's history as of one state.
type historyView struct {
	manifest    manifest
	tail        []*record
	redacted    map[int64]redaction
	pruned      map[int64]bool
	seqByID     map[memento.VersionID]int64 // shared with the state: read it only with the lock held
	seq         int64
	lastRemoval int64
}

// history returns the history as of this state. The lock is held.
func (s *state) history() historyView {
	return historyView{s.manifest, slices.Clone(s.tail), maps.Clone(s.redacted), maps.Clone(s.pruned), s.seqByID, s.seq, s.lastRemoval}
}

// current returns a version as it is after redaction and pruning; nil if it was pruned.
func (h *historyView) current(v *version) *version {
	if h.pruned[v.Seq] {
		return nil
	}
	if c, ok := h.redacted[v.Seq]; ok && v.Redacted == 0 {
		return v.redacted(c)
	}
	return v
}

// segmentHeader returns the header of a segment, or of the one that has replaced it, which
// may hold less.
func (s *store) segmentHeader(ctx context.Context, g segment) (*segmentHeader, error) {
	for range maxRereads {
		d, err := s.b.segmentHeader(ctx, g)
		if !errors.Is(err, errNotFound) {
			return d, err
		}
		m, _, err := s.b.getManifest(ctx, s.id)
		if err != nil {
			return nil, err
		}
		if m.Deleted {
			return nil, memento.ErrNoStore
		}
		if now, ok := m.segmentOf(g.From); ok {
			g = now
		}
	}
	return nil, memento.ErrUnavailable
}

// bySeq returns the version with this Seq, or nil.
func (s *store) bySeq(ctx context.Context, h historyView, seq int64) (*version, error) {
	for _, r := range h.tail {
		if n := len(r.Versions); n > 0 && r.Versions[0].Seq <= seq && seq <= r.Versions[n-1].Seq {
			i, found := slices.BinarySearchFunc(r.Versions, seq, func(v *version, seq int64) int { return cmp.Compare(v.Seq, seq) })
			if !found {
				return nil, nil
			}
			return h.current(r.Versions[i]), nil
		}
	}
	for _, g := range h.manifest.Segments {
		if g.FirstSeq > 0 && g.FirstSeq <= seq && seq <= g.LastSeq {
			d, err := s.segmentHeader(ctx, g)
			if err != nil {
				return nil, err
			}
			if v := d.find(seq); v != nil {
				return h.current(v), nil
			}
		}
	}
	return nil, nil
}

// bySeqs returns the versions with these seqs, in order, that there are. Each segment is read
// once.
func (s *store) bySeqs(ctx context.Context, h historyView, seqs []int64) (map[int64]*version, error) {
	found := map[int64]*version{}
	for _, r := range h.tail {
		for _, v := range r.Versions {
			if _, wanted := slices.BinarySearch(seqs, v.Seq); wanted {
				found[v.Seq] = h.current(v)
			}
		}
	}
	type read struct {
		segment
		seqs     []int64
		versions []*version
	}
	var reads []read
	for _, g := range h.manifest.Segments {
		from, _ := slices.BinarySearch(seqs, g.FirstSeq)
		to, _ := slices.BinarySearch(seqs, g.LastSeq+1)
		if g.FirstSeq > 0 && from < to {
			reads = append(reads, read{segment: g, seqs: seqs[from:to]})
		}
	}
	err := parallel(ctx, len(reads), func(ctx context.Context, i int) error {
		r := &reads[i]
		d, err := s.segmentHeader(ctx, r.segment)
		if err != nil {
			return err
		}
		for _, seq := range r.seqs {
			if v := d.find(seq); v != nil {
				r.versions = append(r.versions, v)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, r := range reads {
		for _, v := range r.versions {
			if found[v.Seq] == nil {
				found[v.Seq] = h.current(v)
			}
		}
	}
	return found, ctx.Err()
}

// version returns the version with this ID, or nil.
func (s *store) version(ctx context.Context, h historyView, id memento.VersionID) (*version, error) {
	s.mu.RLock()
	seq, foreign := h.seqByID[id]
	s.mu.RUnlock()
	if !foreign {
		seq = id.SeqHint()
	}
	if seq <= 0 || seq > h.seq {
		return nil, nil
	}
	v, err := s.bySeq(ctx, h, seq)
	if err != nil || v == nil || v.ID != id {
		return nil, err
	}
	return v, nil
}

// GetVersion returns a version with its contents.
func (b *Backend) GetVersion(ctx context.Context, id memento.StoreID, version memento.VersionID) (found memento.Version, err error) {
	const op = "get version"
	s, done, err := b.use(ctx, id)
	if err != nil {
		return found, b.failed(op, err)
	}
	defer done()
	err = retryNotFound(func() error {
		var h historyView
		if err := s.view(ctx, func(st *state) error { h = st.history(); return nil }); err != nil {
			return err
		}
		v, err := s.version(ctx, h, version)
		if err != nil {
			return err
		}
		if v == nil {
			return memento.ErrNotExist
		}
		found = v.version()
		if v.Ref == nil {
			return found.CheckContent(op)
		}
		found.Content, err = s.content(ctx, v.want())
		return err
	})
	if err != nil {
		return memento.Version{}, b.failed(op, err)
	}
	return found, nil
}

// ListVersions yields versions, newest first by default. It reads the history part by part
// while it yields.
func (b *Backend) ListVersions(ctx context.Context, id memento.StoreID, opts memento.VersionListOptions) iter.Seq2[memento.Version, error] {
	return func(yield func(memento.Version, error) bool) {
		if err := b.listVersions(ctx, id, opts, yield); err != nil {
			yield(memento.Version{}, b.failed("list versions", err))
		}
	}
}

// errStopWalk ends a walk early.
var errStopWalk = errors.New("stop")

func (b *Backend) listVersions(ctx context.Context, id memento.StoreID, opts memento.VersionListOptions, yield func(memento.Version, error) bool) error {
	s, done, err := b.use(ctx, id)
	if err != nil {
		return err
	}
	defer done()
	var h historyView
	if err := s.view(ctx, func(st *state) error { h = st.history(); return nil }); err != nil {
		return err
	}
	yielded := 0
	err = s.walk(ctx, h, opts.OldestFirst, opts.After, func(part []*version) error {
		var found []memento.Version
		var wants []want
		for _, v := range part { // with opts.Contents, wants has an element for each version found
			full := v.version()
			if !opts.Matches(&full) {
				continue
			}
			found = append(found, full)
			if opts.Contents {
				w := want{of: full}
				if v.Ref != nil {
					w = v.want()
				}
				wants = append(wants, w)
			}
			if yielded+len(found) == opts.Limit {
				break
			}
		}
		found, damaged := s.withContents(ctx, found, wants)
		for _, v := range found {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !yield(v, nil) {
				return errStopWalk
			}
			if yielded++; yielded == opts.Limit {
				return errStopWalk
			}
		}
		return damaged
	})
	if errors.Is(err, errStopWalk) {
		return nil
	}
	return err
}

// withContents fills in the contents of versions. wants is nil, or has an element for each
// version. Versions that were redacted since the walk began are returned redacted, and
// those that were pruned are left out. With an error it returns the versions before the
// one that cannot be read.
func (s *store) withContents(ctx context.Context, found []memento.Version, wants []want) ([]memento.Version, error) {
	if wants == nil {
		return found, nil
	}
	var kept []want
	var at []int
	for i, w := range wants {
		if w.ref != (ref{}) {
			kept, at = append(kept, w), append(at, i)
		} else if err := found[i].CheckContent("list versions"); err != nil {
			return found[:i], err
		}
	}
	texts, err := s.contents(ctx, kept)
	if err == nil {
		for i, text := range texts {
			found[at[i]].Content = text
		}
		return found, nil
	}
	if !errors.Is(err, errNotFound) && !errors.Is(err, memento.ErrDamaged) {
		return nil, err
	}
	var now []memento.Version
	for _, v := range found {
		full, err := s.b.GetVersion(ctx, s.id, v.ID)
		if errors.Is(err, memento.ErrNotExist) {
			continue
		}
		if err != nil {
			return now, err
		}
		now = append(now, full)
	}
	return now, nil
}

// walkPart is the maximum number of versions of a part.
const walkPart = 256

// walk calls f with the versions after the one with the Seq after, part by part. After
// means older unless oldestFirst is set; after 0 means from the beginning of that order.
func (s *store) walk(ctx context.Context, h historyView, oldestFirst bool, after int64, f func([]*version) error) error {
	within := func(v *version) bool {
		return v.Seq <= h.seq && (after <= 0 && !oldestFirst || oldestFirst && v.Seq > after || !oldestFirst && v.Seq < after)
	}
	send := func(versions []*version) error {
		var part []*version
		for i := range versions {
			v := versions[i]
			if !oldestFirst {
				v = versions[len(versions)-1-i]
			}
			if v = h.current(v); v != nil && within(v) {
				part = append(part, v)
			}
			if len(part) == walkPart {
				if err := f(part); err != nil {
					return err
				}
				part = nil
			}
		}
		if len(part) == 0 {
			return nil
		}
		return f(part)
	}
	tail := func() error {
		var versions []*version
		for _, r := range h.tail {
			versions = append(versions, r.Versions...)
		}
		return send(versions)
	}
	segments := func(g segment) error {
		if g.FirstSeq == 0 || oldestFirst && g.LastSeq <= after || !oldestFirst && after > 0 && g.FirstSeq >= after {
			return nil
		}
		d, err := s.segmentHeader(ctx, g)
		if err != nil {
			return err
		}
		return send(d.versions)
	}
	if !oldestFirst {
		if err := tail(); err != nil {
			return err
		}
		for _, g := range slices.Backward(h.manifest.Segments) {
			if err := segments(g); err != nil {
				return err
			}
		}
		return nil
	}
	for _, g := range h.manifest.Segments {
		if err := segments(g); err != nil {
			return err
		}
	}
	return tail()
}
