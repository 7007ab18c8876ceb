package s3store

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"

	"memento"
)

// A segment's object is a table of contents, its records, which are gzip of JSON, and the
// contents end to end. Who only reads contents reads only the table, which is small. In format 1
// the records have the table.

// segmentFormat is the format of segments that this package writes, and the newest that it
// reads. Whether a segment has a table is in the manifest: some of format 1 have one, too.
const segmentFormat = 2

// A segmentHeader is the first part of a segment's object.
type segmentHeader struct {
	Format   int       `json:"format"`
	Records  []*record `json:"records,omitempty"`
	Contents []span    `json:"contents,omitempty"` // in format 1

	table    *contentsTable
	versions []*version // of all records, by Seq
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

func (c span) id() contentID { return contentID{c.N, c.I} }

// find returns a version by its Seq, or nil.
func (d *segmentHeader) find(seq int64) *version {
	i, found := slices.BinarySearchFunc(d.versions, seq, func(v *version, seq int64) int { return cmp.Compare(v.Seq, seq) })
	if !found {
		return nil
	}
	return d.versions[i]
}

// A contentsTable says where the contents are in a segment's object.
type contentsTable struct {
	spans []span       // by ID
	reads atomic.Int64 // contents that were read one by one
}

// find returns where contents are; ok is false if the segment does not have them.
func (t *contentsTable) find(id contentID) (c span, ok bool) {
	i, ok := slices.BinarySearchFunc(t.spans, id, func(c span, id contentID) int { return compareContentIDs(c.id(), id) })
	if !ok {
		return span{}, false
	}
	return t.spans[i], true
}

// encode returns the table: the number of contents, and of each how its ID differs from the one
// before, and its size; then a checksum.
func (t *contentsTable) encode() []byte {
	data := binary.AppendUvarint(nil, uint64(len(t.spans)))
	before := contentID{}
	for _, c := range t.spans {
		if c.N != before.n {
			before.i = 0
		}
		data = binary.AppendUvarint(data, uint64(c.N-before.n))
		data = binary.AppendUvarint(data, uint64(c.I-before.i))
		data = binary.AppendUvarint(data, uint64(c.Size))
		before = c.id()
	}
	return sealBlock(data, 0)
}

var errSegment = fmt.Errorf("%w: a part of the history is damaged", memento.ErrFormat)

// decodeTable reads the table of a segment with so many bytes of contents.
func decodeTable(data []byte, bytes int64) (*contentsTable, error) {
	if len(data) <= 4 {
		return nil, errSegment
	}
	data, ok := unsealBlock(data)
	r := entryReader{data: data}
	n := r.number()
	if !ok || n > uint64(len(r.data)/3) {
		return nil, errSegment
	}
	t := &contentsTable{spans: make([]span, n)}
	before, offset := contentID{}, int64(0)
	for k := range t.spans {
		more, index, size := r.number(), r.number(), r.number()
		if more > 0 {
			before = contentID{before.n + int64(more), 0}
		}
		before.i += int(index)
		if r.failed || more > 1<<62 || index > 1<<31 || before.n < 0 || before.i < 0 || size > uint64(bytes-offset) ||
			k > 0 && more == 0 && index == 0 {
			return nil, errSegment
		}
		t.spans[k] = span{before.n, before.i, offset, int64(size)}
		offset += int64(size)
	}
	if r.failed || len(r.data) > 0 {
		return nil, errSegment
	}
	return t, nil
}

// encodeSegment returns a segment's object, and its entry for the manifest. The caller has
// left out the records and contents that are not to be kept; ids are in order.
func encodeSegment(key string, from, to, firstSeq, lastSeq int64, records []*record, ids []contentID, content func(contentID) string) ([]byte, segment, error) {
	d := segmentHeader{Format: segmentFormat}
	for _, r := range records {
		bare := *r
		bare.Sizes, bare.contents = nil, nil
		d.Records = append(d.Records, &bare)
	}
	contents := make([]string, len(ids))
	var t contentsTable
	var size int64
	for i, p := range ids {
		contents[i] = content(p)
		t.spans = append(t.spans, span{p.n, p.i, size, int64(len(contents[i]))})
		size += int64(len(contents[i]))
	}
	table := t.encode()
	packed, err := pack(&d)
	if err != nil {
		return nil, segment{}, err
	}
	meta := int64(len(table) + len(packed))
	g := segment{Key: key, From: from, To: to, FirstSeq: firstSeq, LastSeq: lastSeq, Meta: meta, Table: int64(len(table)), Size: meta + size}
	data := append(slices.Grow(table, len(packed)+int(size)), packed...)
	for _, c := range contents {
		data = append(data, c...)
	}
	return data, g, nil
}

// sound reports whether a manifest may name the segment with these sizes.
func (g *segment) sound() bool {
	return g.Meta > 0 && g.Size >= g.Meta && g.Table >= 0 && g.Table < g.Meta
}

// getSegment reads the first size bytes of a segment's object. Errors: errNotFound.
func (b *Backend) getSegment(ctx context.Context, g segment, size int64) ([]byte, error) {
	if !g.sound() {
		return nil, errSegment
	}
	data, _, err := b.s3.getPart(ctx, g.Key, 0, size)
	if err == nil && int64(len(data)) < size {
		err = fmt.Errorf("%w: a part of the history was cut off", memento.ErrFormat)
	}
	return data, err
}

// segmentHeader reads a segment's header. Errors: errNotFound.
func (b *Backend) segmentHeader(ctx context.Context, g segment) (*segmentHeader, error) {
	if d, ok := b.cache.get(headerKey(g.Key)); ok {
		return d.(*segmentHeader), nil
	}
	data, err := b.getSegment(ctx, g, g.Meta)
	if err != nil {
		return nil, err
	}
	return b.decodeSegmentHeader(g, data)
}

// decodeSegmentHeader reads the header of an object that begins with data, and caches it.
func (b *Backend) decodeSegmentHeader(g segment, data []byte) (*segmentHeader, error) {
	d := &segmentHeader{}
	if err := unpack(data[g.Table:g.Meta], d); err != nil {
		return nil, err
	}
	if d.Format > segmentFormat {
		return nil, fmt.Errorf("%w: a newer memento has written a part of the history", memento.ErrFormat)
	}
	if slices.ContainsFunc(d.Records, func(r *record) bool { return !r.sound() }) {
		return nil, errSegment
	}
	for _, r := range d.Records {
		d.versions = append(d.versions, r.Versions...)
	}
	if g.Table > 0 {
		var err error
		if d.table, err = b.decodeContentsTable(g, data); err != nil {
			return nil, err
		}
	} else {
		if slices.ContainsFunc(d.Contents, func(c span) bool { return c.Offset < 0 || c.Size < 0 || c.Offset > g.Size-g.Meta-c.Size }) {
			return nil, errSegment
		}
		d.table = &contentsTable{spans: slices.SortedFunc(slices.Values(d.Contents), func(a, b span) int { return compareContentIDs(a.id(), b.id()) })}
		d.Contents = nil
	}
	b.cache.put(headerKey(g.Key), d, 5*g.Meta+500*int64(len(d.versions)))
	return d, nil
}

// decodeContentsTable reads the table of an object that begins with data, and caches it.
func (b *Backend) decodeContentsTable(g segment, data []byte) (*contentsTable, error) {
	if t := b.knownTable(g); t != nil {
		return t, nil
	}
	t, err := decodeTable(data[:g.Table], g.Size-g.Meta)
	if err != nil {
		return nil, err
	}
	b.cache.put(tableKey(g.Key), t, int64(40*len(t.spans)))
	return t, nil
}

func headerKey(key string) cacheKey { return cacheKey{kind: cachedHeader, name: key} }
func tableKey(key string) cacheKey  { return cacheKey{kind: cachedTable, name: key} }

// forgetSegment evicts what is kept of a segment, which must not be.
func (b *Backend) forgetSegment(key string) {
	b.cache.remove(headerKey(key))
	b.cache.remove(tableKey(key))
}

// knownTable returns the table of a segment if it is in main memory, or nil.
func (b *Backend) knownTable(g segment) *contentsTable {
	if t, ok := b.cache.get(tableKey(g.Key)); ok {
		return t.(*contentsTable)
	}
	if d, ok := b.cache.get(headerKey(g.Key)); ok {
		return d.(*segmentHeader).table
	}
	return nil
}

// contentsTable reads a segment's table. Errors: errNotFound.
func (b *Backend) contentsTable(ctx context.Context, g segment) (*contentsTable, error) {
	if t := b.knownTable(g); t != nil {
		return t, nil
	}
	if g.Table == 0 {
		d, err := b.segmentHeader(ctx, g)
		if err != nil {
			return nil, err
		}
		return d.table, nil
	}
	data, err := b.getSegment(ctx, g, g.Table)
	if err != nil {
		return nil, err
	}
	return b.decodeContentsTable(g, data)
}

// A segmentObject is the whole object of a segment.
type segmentObject struct {
	segment
	data  []byte
	table *contentsTable
}

// content returns the contents of a span of the table.
func (o *segmentObject) content(c span) string { return string(o.data[o.Meta+c.Offset:][:c.Size]) }

// readSegment reads a whole segment. Errors: errNotFound.
func (b *Backend) readSegment(ctx context.Context, g segment) (*segmentObject, error) {
	data, err := b.getSegment(ctx, g, g.Size)
	if err != nil {
		return nil, err
	}
	o := &segmentObject{segment: g, data: data}
	if g.Table > 0 {
		o.table, err = b.decodeContentsTable(g, data)
	} else if o.table = b.knownTable(g); o.table == nil {
		var d *segmentHeader
		if d, err = b.decodeSegmentHeader(g, data); err == nil {
			o.table = d.table
		}
	}
	return o, err
}
