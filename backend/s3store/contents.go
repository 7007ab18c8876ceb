package s3store

import (
	"context"
	"errors"
	"slices"

	"memento"
)

// A want is a request for the contents of a version.
type want struct {
	ref ref
	of  memento.Version // with path, hash, size and digest, to check the contents against
	raw bool            // do not check the contents: a compaction copies damaged ones as they are
}

func (h *indexEntry) want() want {
	m := &h.memory
	return want{ref: h.ref, of: memento.Version{Memory: m.ID, ID: m.Version, Path: m.Path, SHA256: m.SHA256, Digest: m.Digest, Size: m.Size}}
}

// want returns the request for the contents of v, which has some.
func (v *version) want() want { return want{ref: *v.Ref, of: v.version()} }

func (s *store) cacheKey(r ref) cacheKey {
	if r.Blob != "" {
		return cacheKey{dir: string(s.id), name: r.Blob}
	}
	return cacheKey{dir: string(s.id), n: r.N, i: r.I}
}

// content returns the contents of one want. Errors: see contents.
func (s *store) content(ctx context.Context, w want) (string, error) {
	texts, err := s.contents(ctx, []want{w})
	if err != nil {
		return "", err
	}
	return texts[0], nil
}

// A segment is read as a whole for wholeSegmentFrom or more wanted contents, if it has at most
// wholeSegmentBytes for each of those, and of those that were read one by one before: that
// takes about as long as as many requests. So is one of at most wholeSegmentBytes of which
// nothing is known yet, since its table would take a request, too.
const (
	wholeSegmentFrom  = 4
	wholeSegmentBytes = 128 << 10
)

// contents returns the contents of wants, in the same order.
//
// Errors: errNotFound if some of them are no longer in the bucket, ErrDamaged.
func (s *store) contents(ctx context.Context, wants []want) ([]string, error) {
	texts := make([]string, len(wants))
	var pending []int
	for i, w := range wants {
		if text, ok := s.b.cache.get(s.cacheKey(w.ref)); ok && (w.raw || w.of.SHA256 == text.(cachedText).sha256) {
			texts[i] = text.(cachedText).text
		} else {
			pending = append(pending, i)
		}
	}
	for reloaded := false; len(pending) > 0; reloaded = true {
		missing, err := s.fetch(ctx, wants, pending, texts)
		if err != nil {
			return nil, err
		}
		if len(missing) > 0 && reloaded {
			return nil, errNotFound
		}
		if len(missing) > 0 { // compacted meanwhile
			if err := s.reloadManifest(ctx); err != nil {
				return nil, err
			}
		}
		pending = missing
	}
	return texts, nil
}

// A part is contents in a segment's object.
type part struct {
	want int // index of the want
	in   segment
	span
}

// fetch reads the wants with the given indexes into texts. It returns the indexes of those
// that are not where the state says.
func (s *store) fetch(ctx context.Context, wants []want, left []int, texts []string) (missing []int, err error) {
	s.mu.RLock()
	var m manifest
	if s.st != nil {
		m = s.st.manifest
	}
	s.mu.RUnlock()
	// A group is the contents that one object holds.
	var order []string
	groups := map[string][]int{}
	segments := map[string]segment{}
	for _, i := range left {
		r := wants[i].ref
		key := logKey(s.id, r.N)
		if r.Blob != "" {
			key = blobKey(s.id, r.Blob)
		} else if g, compacted := m.segmentOf(r.N); compacted {
			key = g.Key
			segments[key] = g
		}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], i)
	}
	lost := make([]bool, len(order))
	parts := make([][]part, len(order))
	err = parallel(ctx, len(order), func(ctx context.Context, at int) (err error) {
		key := order[at]
		if g, compacted := segments[key]; compacted {
			parts[at], err = s.fetchFromSegment(ctx, g, wants, groups[key], texts)
		} else {
			err = s.fetchObject(ctx, key, wants, groups[key], texts)
		}
		if errors.Is(err, errNotFound) {
			lost[at], err = true, nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for at, key := range order {
		if lost[at] {
			missing = append(missing, groups[key]...)
		}
	}
	single := slices.Concat(parts...)
	gone := make([]bool, len(single))
	err = parallel(ctx, len(single), func(ctx context.Context, at int) error {
		err := s.fetchPart(ctx, wants, single[at], texts)
		if errors.Is(err, errNotFound) {
			gone[at], err = true, nil
		}
		return err
	})
	for at, p := range single {
		if gone[at] {
			missing = append(missing, p.want)
		}
	}
	return missing, err
}

// fetchPart reads contents by themselves.
func (s *store) fetchPart(ctx context.Context, wants []want, p part, texts []string) (err error) {
	var data []byte
	if p.Size > 0 {
		if data, _, err = s.b.s3.getPart(ctx, p.in.Key, p.in.Meta+p.Offset, p.Size); err != nil {
			return err
		}
	}
	texts[p.want], err = s.checkAndCache(wants[p.want], string(data))
	return err
}

// fetchObject reads contents from a blob or a record of the log.
func (s *store) fetchObject(ctx context.Context, key string, wants []want, group []int, texts []string) error {
	data, _, err := s.b.s3.get(ctx, key)
	if err != nil {
		return err
	}
	r := wants[group[0]].ref
	if r.Blob != "" {
		for _, i := range group {
			if texts[i], err = s.checkAndCache(wants[i], string(data)); err != nil {
				return err
			}
		}
		return nil
	}
	rec, err := decodeRecord(data, r.N)
	if err != nil {
		return err
	}
	for _, i := range group {
		if wants[i].ref.I >= len(rec.contents) {
			return errNotFound
		}
		if texts[i], err = s.checkAndCache(wants[i], rec.contents[wants[i].ref.I]); err != nil {
			return err
		}
	}
	return nil
}

// fetchFromSegment reads contents from a segment, or returns where in it they are.
func (s *store) fetchFromSegment(ctx context.Context, g segment, wants []want, group []int, texts []string) (parts []part, err error) {
	table := s.b.knownTable(g)
	reads := int64(len(group))
	if table != nil {
		reads += table.reads.Load()
	}
	many := len(group) >= wholeSegmentFrom && g.Size <= wholeSegmentBytes*reads
	if !many && (table != nil || g.Size > wholeSegmentBytes) {
		if table == nil {
			if table, err = s.b.contentsTable(ctx, g); err != nil {
				return nil, err
			}
		}
		table.reads.Add(int64(len(group)))
		for _, i := range group {
			c, there := table.find(wants[i].ref.contentID())
			if !there {
				return nil, errNotFound
			}
			parts = append(parts, part{i, g, c})
		}
		return parts, nil
	}
	o, err := s.b.readSegment(ctx, g)
	if err != nil {
		return nil, err
	}
	if !many {
		o.table.reads.Add(int64(len(group)))
	}
	for _, i := range group {
		c, there := o.table.find(wants[i].ref.contentID())
		if !there {
			return nil, errNotFound
		}
		if texts[i], err = s.checkAndCache(wants[i], o.content(c)); err != nil {
			return nil, err
		}
	}
	if many && g.Size <= s.b.cache.max/4 { // the rest, too: the caller probably reads on
		for _, c := range o.table.spans {
			text := o.content(c)
			s.cacheText(ref{N: c.N, I: c.I}, text, memento.HashContent(text)) // what is damaged has another hash than is wanted
		}
	}
	return nil, nil
}

// A cachedText is a text that was checked against its hash when it was cached.
type cachedText struct{ text, sha256 string }

// checkAndCache checks contents that were read, and caches them.
func (s *store) checkAndCache(w want, text string) (string, error) {
	w.of.Content = text
	switch err := w.of.CheckContent("read"); {
	case err != nil && w.raw:
		return text, nil
	case err != nil:
		return "", err
	}
	s.cacheText(w.ref, text, w.of.SHA256)
	return text, nil
}

// cacheText caches a text that has this hash.
func (s *store) cacheText(r ref, text, sha256 string) {
	s.b.cache.put(s.cacheKey(r), cachedText{text, sha256}, int64(len(text)))
}

// cacheContents caches the contents in a record that belong to its versions. written says
// that this process wrote them, so that they need no check.
func (s *store) cacheContents(r *record, written bool) {
	for _, v := range r.Versions {
		if v.Ref == nil || v.Ref.Blob != "" || v.Ref.N != r.N || v.Ref.I >= len(r.contents) {
			continue
		}
		if written {
			s.cacheText(*v.Ref, r.contents[v.Ref.I], v.SHA256)
		} else {
			_, _ = s.checkAndCache(v.want(), r.contents[v.Ref.I]) // damage is reported to those who read it
		}
	}
	r.contents = nil
}
