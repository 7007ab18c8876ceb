package s3store

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"memento"
	"memento/backend/textindex"
)

// The search index of a store in the bucket is a descriptor, and an object for each segment
// that it names. Segments never change. The descriptor is replaced on condition that it is
// still the one that was read, so that of two processes that change the index one begins
// again, with what the other has written. See docs/s3.md.

// indexFormat is the format of descriptors and of segments of the search index. Segments that
// package textindex would not read have another one.
const indexFormat = textindex.SegmentFormat - 2

// errUnreadableIndex says that it is not known which segments the index in the bucket has.
var errUnreadableIndex = errors.New("the descriptor of the search index cannot be read")

// An indexDescriptor names the segments of a store's search index.
type indexDescriptor struct {
	Format   int            `json:"format"`
	Rev      string         `json:"rev"`   // random, so that no two descriptors have the same bytes
	Store    stamp          `json:"store"` // when the store was created
	Seq      int64          `json:"seq"`   // of the newest version that the index covers
	Segments []indexSegment `json:"segments,omitempty"`

	// Large is how many bytes of contents the store had when its index was too large to be
	// kept; 0 if it is not.
	Large int64 `json:"large,omitempty"`
}

type indexSegment struct {
	ID   textindex.SegmentID `json:"id"`
	Key  string              `json:"key"`            // of its object
	Size int64               `json:"size"`           // of that, in bytes
	Dead string              `json:"dead,omitempty"` // base64 of the numbers of dead memories
}

// An indexVersion is a descriptor as it is in the bucket; zero if there is none.
type indexVersion struct {
	indexDescriptor
	etag       string
	unreadable bool // it is damaged, or has another format: what it says is not known
	newer      bool // it is unreadable because a later version of memento has written it
}

// tag is part of the keys of the segments that the next descriptor, after this one, is to
// name. See also manifest.tag.
func (d *indexVersion) tag() string { return "-" + hashed(d.Rev)[:16] }

// mayReference reports whether this descriptor names the object with this key, or the next
// one may.
func (d *indexVersion) mayReference(key string) bool {
	return strings.Contains(key, d.tag()) || slices.ContainsFunc(d.Segments, func(s indexSegment) bool { return s.Key == key })
}

// isForLarge reports whether the index of a store with so many bytes of contents would be too
// large: it was, and the store has not become a quarter smaller since.
func (d *indexDescriptor) isForLarge(bytes int64) bool {
	return d.Large > 0 && bytes > d.Large-d.Large/4
}

// getIndex reads the descriptor of a store's index. An unreadable one names no segments. It is
// replaced; one of a later version of memento only where words are erased.
func (b *Backend) getIndex(ctx context.Context, id memento.StoreID) (d indexVersion, err error) {
	data, etag, err := b.s3.getBounded(ctx, indexKey(id), maxDescriptorBytes)
	if errors.Is(err, errNotFound) {
		return indexVersion{}, nil
	}
	if err != nil {
		return indexVersion{}, err
	}
	d.etag = etag
	if !hasCheck(data) {
		d.unreadable = true
	} else if err := unmarshalChecked(data, &d.indexDescriptor); err != nil || d.Format != indexFormat {
		d = indexVersion{etag: etag, unreadable: true, newer: err == nil && d.Format > indexFormat}
	}
	return d, nil
}

// stored returns what the descriptor says, without the segments.
func (d *indexVersion) stored() (textindex.StoredIndex, error) {
	index := textindex.StoredIndex{Seq: d.Seq}
	for _, s := range d.Segments {
		dead, err := base64.StdEncoding.DecodeString(s.Dead)
		if err != nil {
			return textindex.StoredIndex{}, textindex.ErrIndex
		}
		index.Segments = append(index.Segments, textindex.StoredSegment{ID: s.ID, Dead: dead})
	}
	return index, nil
}

// encode returns the object of a segment: the lengths of its blocks, of which the head is
// the first, then the blocks. Each block has a checksum of its own.
func (h *heldSegment) encode() []byte {
	numbers := slices.Sorted(maps.Keys(h.blocks)) // HeadBlock is -1
	lengths := binary.AppendUvarint(nil, uint64(len(numbers)))
	for _, n := range numbers {
		lengths = binary.AppendUvarint(lengths, uint64(len(h.blocks[n])))
	}
	data := make([]byte, 0, 4+len(lengths)+int(h.bytes))
	data = binary.LittleEndian.AppendUint32(data, uint32(len(lengths)))
	data = append(data, lengths...)
	for _, n := range numbers {
		data = append(data, h.blocks[n]...)
	}
	return data
}

// decodeSegment is the inverse of heldSegment.encode. Errors: textindex.ErrIndex.
func decodeSegment(data []byte) (*heldSegment, error) {
	if len(data) < 4 {
		return nil, textindex.ErrIndex
	}
	n := uint64(binary.LittleEndian.Uint32(data))
	if n > uint64(len(data)-4) {
		return nil, textindex.ErrIndex
	}
	lengths, rest := data[4:4+n], data[4+n:]
	next := func() (uint64, bool) {
		n, size := binary.Uvarint(lengths)
		if size <= 0 {
			return 0, false
		}
		lengths = lengths[size:]
		return n, true
	}
	count, ok := next()
	if !ok || count > uint64(len(lengths)) || count > textindex.MaxBlocks+1 {
		return nil, textindex.ErrIndex
	}
	h := &heldSegment{blocks: make(map[int][]byte, count), bytes: int64(len(rest))}
	for i := range int(count) {
		size, ok := next()
		if !ok || size > uint64(len(rest)) {
			return nil, textindex.ErrIndex
		}
		h.blocks[textindex.HeadBlock+i] = rest[:size:size]
		rest = rest[size:]
	}
	if len(rest) > 0 || len(lengths) > 0 {
		return nil, textindex.ErrIndex
	}
	return h, nil
}

// A foundIndex is an index as it was read from the bucket.
type foundIndex struct {
	version  indexVersion
	stored   textindex.StoredIndex
	segments map[textindex.SegmentID]*heldSegment
	read     time.Time // when the descriptor had been read
}

// emptied returns the index without segments, which replaces what is there.
func (f *foundIndex) emptied() *foundIndex { return &foundIndex{version: f.version} }

// find reads the index of a store from the bucket. Segments that this process has are not
// read again. If the index is damaged, or lacks a segment, it is returned without segments,
// and is made again.
func (x *searchIndexes) find(ctx context.Context, id memento.StoreID) (*foundIndex, error) {
	for n := 0; ; n++ {
		version, err := x.b.getIndex(ctx, id)
		if err != nil {
			return nil, err
		}
		f := &foundIndex{version: version, read: time.Now()}
		f.stored, err = version.stored()
		if err == nil {
			f.segments, err = x.fetch(ctx, id, version.Segments)
		}
		switch {
		case err == nil:
			return f, nil
		case errors.Is(err, errNotFound) && n < maxRereads:
			if now, err := x.b.getIndex(ctx, id); err != nil {
				return nil, err
			} else if now.etag != version.etag {
				continue // it was replaced meanwhile
			}
			return f.emptied(), nil
		case errors.Is(err, textindex.ErrIndex), errors.Is(err, errNotFound):
			return f.emptied(), nil
		}
		return nil, err
	}
}

// Bounds of what an index has in the bucket. They hold for what is read and for what is written.
const (
	// Contents of hashes have an index of four times their size, and half of it may be dead.
	maxStoredIndex = 8 * maxIndexedTexts // bytes of all segments

	maxIndexSegments   = 1 << 10
	maxDescriptorBytes = 8 << 20
)

// plausible reports whether a descriptor may name these segments.
func (x *searchIndexes) plausible(id memento.StoreID, refs []indexSegment) bool {
	if len(refs) > maxIndexSegments {
		return false
	}
	var size int64
	for _, ref := range refs {
		if ref.Size <= 0 || ref.Size > x.maxStored-size || !strings.HasPrefix(ref.Key, indexSegmentDir(id)) {
			return false
		}
		size += ref.Size
	}
	return true
}

// fetch reads segments. Errors: errNotFound, textindex.ErrIndex.
func (x *searchIndexes) fetch(ctx context.Context, id memento.StoreID, refs []indexSegment) (map[textindex.SegmentID]*heldSegment, error) {
	if !x.plausible(id, refs) {
		return nil, textindex.ErrIndex
	}
	held := x.get(id).segments
	segments := make([]*heldSegment, len(refs))
	err := parallel(ctx, len(refs), func(ctx context.Context, i int) error {
		ref := refs[i]
		if known := held[ref.ID]; known != nil && known.key == ref.Key {
			segments[i] = known
			return nil
		}
		data, _, err := x.b.s3.getPart(ctx, ref.Key, 0, ref.Size)
		if errors.Is(err, memento.ErrFormat) { // the object is empty
			return textindex.ErrIndex
		}
		if err != nil {
			return err
		}
		if int64(len(data)) != ref.Size {
			return textindex.ErrIndex
		}
		if segments[i], err = decodeSegment(data); err != nil {
			return err
		}
		for n, block := range segments[i].blocks {
			if err := textindex.CheckBlock(ref.ID, n, block); err != nil {
				return err
			}
		}
		segments[i].key, segments[i].size = ref.Key, ref.Size
		return nil
	})
	if err != nil {
		return nil, err
	}
	found := map[textindex.SegmentID]*heldSegment{}
	for i, ref := range refs {
		found[ref.ID] = segments[i]
	}
	return found, nil
}

// save writes the segments of an index that the bucket does not have yet, and then the
// descriptor. It returns that, and the segments as they are in the bucket.
//
// Segments that nobody would read, because they are too large, are not written: the descriptor
// says so instead.
//
// Errors: textindex.ErrRevised if another process has replaced the descriptor;
// errUnreadableIndex if a later version of memento keeps the index.
func (x *searchIndexes) save(ctx context.Context, id memento.StoreID, created stamp, on indexVersion, next textindex.StoredIndex, segments map[textindex.SegmentID]*heldSegment) (_ indexVersion, saved map[textindex.SegmentID]*heldSegment, err error) {
	if on.newer {
		return on, nil, errUnreadableIndex
	}
	d := indexVersion{indexDescriptor: indexDescriptor{Format: indexFormat, Rev: random(), Store: created, Seq: next.Seq}}
	saved = map[textindex.SegmentID]*heldSegment{}
	if x.isTooLarge(next, segments) {
		next = textindex.StoredIndex{}
		d.Seq, d.Large = 0, max(1, x.b.bytesOf(id))
	}
	var written []string
	var unsaved []textindex.SegmentID
	for _, ref := range next.Segments {
		segment := segments[ref.ID]
		if segment.key == "" {
			copied := *segment
			copied.key = indexSegmentKey(id, ref.ID, &on)
			segment = &copied
			written, unsaved = append(written, copied.key), append(unsaved, ref.ID)
		}
		saved[ref.ID] = segment
	}
	sent := false
	defer func() {
		if err == nil || sent && !errors.Is(err, textindex.ErrRevised) {
			return
		}
		if sent { // see compactor.discard
			now, err := x.b.getIndex(context.WithoutCancel(ctx), id)
			if err != nil {
				return
			}
			written = slices.DeleteFunc(written, now.mayReference)
		}
		x.b.s3.remove(context.WithoutCancel(ctx), written...)
	}()
	err = parallel(ctx, len(unsaved), func(ctx context.Context, i int) error {
		segment := saved[unsaved[i]]
		data := segment.encode()
		segment.size = int64(len(data))
		return x.b.s3.write(ctx, segment.key, data)
	})
	if err != nil {
		return d, nil, err
	}
	for _, ref := range next.Segments {
		segment := saved[ref.ID]
		d.Segments = append(d.Segments, indexSegment{ref.ID, segment.key, segment.size, base64.StdEncoding.EncodeToString(ref.Dead)})
	}
	data, err := marshalChecked(&d.indexDescriptor)
	if err != nil {
		return d, nil, err
	}
	cond := ifAbsent
	if on.etag != "" {
		cond = ifMatch(on.etag)
	}
	sent = true
	if d.etag, err = x.b.s3.swap(ctx, indexKey(id), data, cond); errors.Is(err, errPrecondition) {
		err = textindex.ErrRevised
	}
	return d, saved, err
}

// isTooLarge reports whether an index exceeds the bounds of what is read.
func (x *searchIndexes) isTooLarge(index textindex.StoredIndex, segments map[textindex.SegmentID]*heldSegment) bool {
	var size, descriptor int64
	for _, ref := range index.Segments {
		size += segments[ref.ID].mostBytes()
		descriptor += 512 + 2*int64(len(ref.Dead)) // more than it takes there
	}
	return size > x.maxStored || descriptor > maxDescriptorBytes || len(index.Segments) > maxIndexSegments
}

// mostBytes returns at least the size of a segment's object.
func (h *heldSegment) mostBytes() int64 {
	if h.key != "" {
		return h.size
	}
	return h.bytes + binary.MaxVarintLen32*int64(len(h.blocks)+2)
}

// deleteUnreferencedSegments deletes the segments that the index does not name, whichever
// process has left them.
//
// Errors: errUnreadableIndex if it is not known which these are.
func (b *Backend) deleteUnreferencedSegments(ctx context.Context, id memento.StoreID) error {
	found, err := b.s3.list(ctx, indexSegmentDir(id), "", 0, true) // before the descriptor is read, see deleteUnreferenced
	if err != nil {
		return err
	}
	d, err := b.getIndex(ctx, id)
	if err != nil {
		return err
	}
	if d.unreadable {
		return errUnreadableIndex
	}
	var unused []string
	for _, o := range found {
		if !d.mayReference(o.key) {
			unused = append(unused, o.key)
		}
	}
	return b.s3.remove(ctx, unused...)
}

// purge removes all words from the index of a store that no version has any more, and deletes
// what crashed processes have left of it. It always replaces the descriptor: what another
// process has begun to write before is in vain. An index that cannot be read is dropped, and so
// is that of a store that is too large to be searched with it.
func (x *searchIndexes) purge(ctx context.Context, id memento.StoreID, small bool) error {
	for n := range maxRereads {
		var err error
		if small && n == 0 {
			err = x.b.index.Purge(ctx, id, false, context.Context.Err)
		}
		large := errors.Is(err, textindex.ErrLarge)
		if err != nil && !large {
			return err
		}
		if !small || n > 0 || large {
			var mark indexDescriptor
			if h := x.get(id); large && h.version.Store == h.created {
				mark = indexDescriptor{Store: h.created, Large: h.version.Large}
			}
			if err := x.b.dropIndex(ctx, id, mark); err != nil {
				return err
			}
			x.remove(id)
		}
		if err := x.b.deleteUnreferencedSegments(ctx, id); !errors.Is(err, errUnreadableIndex) {
			return err
		}
	}
	return errChangesTooFast
}

// dropIndex replaces the index of a store by an empty one, so that no process writes to the
// index that it had. The empty one says that a store is large if it is marked so.
func (b *Backend) dropIndex(ctx context.Context, id memento.StoreID, mark indexDescriptor) error {
	data, err := marshalChecked(&indexDescriptor{Format: indexFormat, Rev: random(), Store: mark.Store, Large: mark.Large})
	if err != nil {
		return err
	}
	if err := b.s3.overwrite(ctx, indexKey(id), data); err != nil {
		return fmt.Errorf("drop the search index: %w", err)
	}
	return nil
}
