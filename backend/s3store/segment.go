package s3store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"memento"
)

// A segmentHeader is the first part of a segment's object: its records, and where their
// contents are in the rest of the object.
type segmentHeader struct {
	Format   int       `json:"format"`
	Records  []*record `json:"records,omitempty"`
	Contents []span    `json:"contents,omitempty"`

	spans    map[contentID]span
	versions []*version   // of all records, by Seq
	reads    atomic.Int64 // contents that were read one by one
}

// A contentID names contents by the number of their record and their index in it.
type contentID struct {
	n int64
	i int
}

func (r ref) contentID() contentID { return contentID{r.N, r.I} }

// A span is the offset of contents, from the end of the header on, and their size.
type span struct {
	N      int64 `json:"n"`
	I      int   `json:"i"`
	Offset int64 `json:"o"`
	Size   int64 `json:"s"`
}

// find returns a version by its Seq, or nil.
func (d *segmentHeader) find(seq int64) *version {
	i, found := slices.BinarySearchFunc(d.versions, seq, func(v *version, seq int64) int { return cmp.Compare(v.Seq, seq) })
	if !found {
		return nil
	}
	return d.versions[i]
}

// index fills in the fields that are not stored.
func (d *segmentHeader) index() *segmentHeader {
	d.spans = make(map[contentID]span, len(d.Contents))
	for _, c := range d.Contents {
		d.spans[contentID{c.N, c.I}] = c
	}
	for _, r := range d.Records {
		d.versions = append(d.versions, r.Versions...)
	}
	return d
}

// encodeSegment returns a segment's object, and its entry for the manifest. The caller has
// left out the records and contents that are not to be kept.
func encodeSegment(key string, from, to, firstSeq, lastSeq int64, records []*record, ids []contentID, content func(contentID) string) ([]byte, segment, error) {
	d := segmentHeader{Format: recordFormat}
	for _, r := range records {
		bare := *r
		bare.Sizes, bare.contents = nil, nil
		d.Records = append(d.Records, &bare)
	}
	contents := make([]string, len(ids))
	var size int64
	for i, p := range ids {
		contents[i] = content(p)
		d.Contents = append(d.Contents, span{p.n, p.i, size, int64(len(contents[i]))})
		size += int64(len(contents[i]))
	}
	meta, err := pack(&d)
	if err != nil {
		return nil, segment{}, err
	}
	g := segment{Key: key, From: from, To: to, FirstSeq: firstSeq, LastSeq: lastSeq, Meta: int64(len(meta)), Size: int64(len(meta)) + size}
	data := slices.Grow(meta, int(size))
	for _, c := range contents {
		data = append(data, c...)
	}
	return data, g, nil
}

// segmentHeader reads a segment's header. Errors: errNotFound.
func (b *Backend) segmentHeader(ctx context.Context, g segment) (*segmentHeader, error) {
	key := cacheKey{name: g.Key}
	if d, ok := b.cache.get(key); ok {
		return d.(*segmentHeader), nil
	}
	data, _, err := b.s3.getPart(ctx, g.Key, 0, g.Meta)
	if err != nil {
		return nil, err
	}
	return b.decodeSegmentHeader(g, data)
}

func (b *Backend) decodeSegmentHeader(g segment, data []byte) (*segmentHeader, error) {
	if g.Meta <= 0 || int64(len(data)) < g.Meta {
		return nil, fmt.Errorf("%w: a part of the history was cut off", memento.ErrFormat)
	}
	d := &segmentHeader{}
	if err := unpack(data[:g.Meta], d); err != nil {
		return nil, err
	}
	if d.Format > recordFormat {
		return nil, fmt.Errorf("%w: a newer memento has written a part of the history", memento.ErrFormat)
	}
	if slices.ContainsFunc(d.Records, func(r *record) bool { return !r.sound() }) ||
		slices.ContainsFunc(d.Contents, func(c span) bool { return c.Offset < 0 || c.Size < 0 || c.Offset+c.Size < 0 }) {
		return nil, fmt.Errorf("%w: a part of the history is damaged", memento.ErrFormat)
	}
	d.index()
	b.cache.put(cacheKey{name: g.Key}, d, 5*g.Meta+500*int64(len(d.versions)))
	return d, nil
}

// readSegment reads a whole segment. It returns the header, and a function that returns
// the contents with an ID that is in the header's spans.
func (b *Backend) readSegment(ctx context.Context, g segment) (*segmentHeader, func(contentID) string, error) {
	data, _, err := b.s3.get(ctx, g.Key)
	if err != nil {
		return nil, nil, err
	}
	var d *segmentHeader
	if known, ok := b.cache.get(cacheKey{name: g.Key}); ok {
		d = known.(*segmentHeader)
	} else if d, err = b.decodeSegmentHeader(g, data); err != nil {
		return nil, nil, err
	}
	for _, c := range d.Contents {
		if c.Offset+c.Size > int64(len(data))-g.Meta {
			return nil, nil, fmt.Errorf("%w: a part of the history was cut off", memento.ErrFormat)
		}
	}
	return d, func(p contentID) string {
		c := d.spans[p]
		return string(data[g.Meta+c.Offset:][:c.Size])
	}, nil
}
