package s3store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"memento"
	"memento/backend/textindex"
)

// writeMore writes enough memories for another segment of the index.
func writeMore(t *testing.T, b *Backend, id memento.StoreID, name string) {
	t.Helper()
	var changes []memento.Change
	for i := range textindex.FlushVersions + 50 {
		changes = append(changes, memento.Put{Path: memento.Path(fmt.Sprintf("/%s%d", name, i)), Content: "more " + name})
	}
	if _, err := b.Apply(t.Context(), id, memento.Actor{}, changes); err != nil {
		t.Fatal(err)
	}
}

// onlyNamed fails if there are segments that the index does not name.
func onlyNamed(t *testing.T, b *Backend, id memento.StoreID) {
	t.Helper()
	if named, all := segmentsInBucket(t, b, id); named == 0 || all != named {
		t.Errorf("%d segments are named, and there are %d", named, all)
	}
}

// An index of which one segment is damaged is made again; the other segments do not stay.
func TestIndexMadeAgainLeavesNothing(t *testing.T) {
	prefix := "index/" + random()
	b := patient(t, prefix, nil)
	b.index.Close()
	id, _ := indexed(t, b)
	for i := range 3 {
		writeMore(t, b, id, fmt.Sprint("x", i))
		keepIndex(t, b, id)
	}
	d, err := b.getIndex(t.Context(), id)
	if err != nil || len(d.Segments) < 3 {
		t.Fatalf("%+v, %v", d, err)
	}
	if err := b.s3.write(t.Context(), d.Segments[0].Key, []byte("x")); err != nil {
		t.Fatal(err)
	}
	fresh := patient(t, prefix, nil)
	fresh.index.Close()
	keepIndex(t, fresh, id)
	onlyNamed(t, b, id)
	searchesRight(t, fresh, id)
}

// A segment that a process has written and, killed, neither named nor deleted, is deleted when
// the index changes the next time.
func TestIndexLeftByKilled(t *testing.T) {
	b := patient(t, "index/"+random(), nil)
	b.index.Close()
	id, _ := indexed(t, b)
	d, err := b.getIndex(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	left := indexSegmentKey(id, 12345, &d)
	if err := b.s3.write(t.Context(), left, []byte("a zebrafinch")); err != nil {
		t.Fatal(err)
	}
	writeMore(t, b, id, "x")
	keepIndex(t, b, id)
	onlyNamed(t, b, id)
}

// A prune that removes no version deletes segments that nothing names.
func TestIndexGarbagePruned(t *testing.T) {
	b := patient(t, "index/"+random(), nil)
	b.index.Close()
	id, _ := indexed(t, b)
	left := indexSegmentKey(id, 12345, &indexVersion{indexDescriptor: indexDescriptor{Rev: "an old one"}})
	if err := b.s3.write(t.Context(), left, []byte("a zebrafinch")); err != nil {
		t.Fatal(err)
	}
	if sum, err := b.Prune(t.Context(), id, memento.PruneOptions{Keep: 100}); err != nil || sum.Versions > 0 {
		t.Fatalf("%+v, %v", sum, err)
	}
	onlyNamed(t, b, id)
}

// An evictingStorage calls evict before each read of a block.
type evictingStorage struct {
	*searchIndexes
	evict func()
}

func (m evictingStorage) Block(ctx context.Context, store memento.StoreID, id textindex.SegmentID, n int) ([]byte, error) {
	m.evict()
	return m.searchIndexes.Block(ctx, store, id, n)
}

// An index that is dropped from main memory while its segments are merged stays in the bucket.
func TestIndexEvictedInMerge(t *testing.T) {
	var b *Backend
	var id memento.StoreID
	var watched, dropped atomic.Bool
	b = patient(t, "index/"+random(), Via(t, func(req *http.Request, send RoundTripper) (*http.Response, error) {
		resp, err := send(req)
		if watched.Load() && IsOn(req, http.MethodPut, "/index") {
			if d, err := b.getIndex(context.WithoutCancel(t.Context()), id); err != nil || len(d.Segments) == 0 {
				dropped.Store(true)
			}
		}
		return resp, err
	}))
	b.index.Close()
	id, _ = indexed(t, b)
	var changes []memento.Change
	for i := range 700 { // so that the segment is mostly dead
		changes = append(changes, memento.Remove{Path: memento.Path(fmt.Sprintf("/note%d", i))})
	}
	if _, err := b.Apply(t.Context(), id, memento.Actor{}, changes); err != nil {
		t.Fatal(err)
	}
	writeMore(t, b, id, "x")
	watched.Store(true)
	var evicted atomic.Bool
	live := textindex.NewLive(evictingStorage{b.indexes, func() {
		if evicted.CompareAndSwap(false, true) {
			b.mu.Lock()
			b.removeLocked(id) // as evictStates does
			b.mu.Unlock()
		}
	}})
	live.Close()
	for range 10 {
		_, _ = live.Keep(t.Context(), id) // which may be ErrRevised
	}
	if !evicted.Load() || dropped.Load() {
		t.Errorf("evicted: %v; the index was dropped from the bucket: %v", evicted.Load(), dropped.Load())
	}
	onlyNamed(t, b, id)
	searchesRight(t, b, id)
}

// A later version of memento keeps the index in another format. This version neither replaces
// nor deletes any of it, and searches with an index of its own, until words are erased.
func TestIndexOfLaterVersion(t *testing.T) {
	prefix := "index/" + random()
	b := patient(t, prefix, nil)
	b.index.Close()
	id, secret := indexed(t, b)
	d, err := b.getIndex(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	_, before := segmentsInBucket(t, b, id)
	d.Format = indexFormat + 1
	d.Rev = "of a later version"
	later := descriptor(t, d.indexDescriptor)
	if err := b.s3.write(t.Context(), indexKey(id), later); err != nil {
		t.Fatal(err)
	}
	fresh := patient(t, prefix, nil)
	fresh.index.Close()
	writeMore(t, fresh, id, "x")
	keepIndex(t, fresh, id)
	if h := fresh.indexes.get(id); len(h.stored.Segments) == 0 {
		t.Error("it has no index of its own")
	}
	searchesRight(t, fresh, id)
	if _, err := fresh.Prune(t.Context(), id, memento.PruneOptions{Keep: 100}); err != nil {
		t.Error(err)
	}
	now, _, err := b.s3.get(t.Context(), indexKey(id))
	if _, after := segmentsInBucket(t, b, id); err != nil || string(now) != string(later) || after != before {
		t.Errorf("the descriptor is %s, %v; %d segments of %d are left", now, err, after, before)
	}
	if _, err := fresh.Redact(t.Context(), id, secret, memento.Actor{}); err != nil {
		t.Fatal(err)
	}
	if n := countObjects(t, b, id, "zebrafinch"); n > 0 {
		t.Errorf("the word is still in %d objects", n)
	}
	searchesRight(t, fresh, id)
}

// While a version is redacted, a later version of memento replaces the index by one that has
// its words. They are gone when the redaction returns.
func TestIndexOfLaterVersionErased(t *testing.T) {
	prefix := "index/" + random()
	other := patient(t, prefix, nil)
	other.index.Close()
	id, secret := indexed(t, other)
	old, err := other.getIndex(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	old.Format = indexFormat + 1
	var armed, put atomic.Bool
	b := patient(t, prefix, Via(t, func(req *http.Request, send RoundTripper) (*http.Response, error) {
		if IsOn(req, http.MethodPut, "/index") {
			put.Store(true)
		} else if put.Load() && IsOn(req, http.MethodGet, "/index") && armed.CompareAndSwap(true, false) {
			if err := other.s3.write(t.Context(), indexKey(id), descriptor(t, old.indexDescriptor)); err != nil {
				t.Error(err)
			}
			if err := other.s3.write(t.Context(), old.Segments[0].Key, []byte("zebrafinch")); err != nil {
				t.Error(err)
			}
		}
		return send(req)
	}))
	b.index.Close()
	armed.Store(true)
	if _, err := b.Redact(t.Context(), id, secret, memento.Actor{}); err != nil || armed.Load() {
		t.Fatal(err)
	}
	if n := countObjects(t, other, id, "zebrafinch"); n > 0 {
		t.Errorf("the word is still in %d objects", n)
	}
	searchesRight(t, b, id)
}

// A process that is late with purging a deleted store leaves the index of the store that was
// created again, with the same ID, meanwhile.
func TestIndexOfCreatedAgain(t *testing.T) {
	prefix := "index/" + random()
	other := patient(t, prefix, nil)
	other.index.Close()
	var id memento.StoreID
	var armed, deleted atomic.Bool
	b := patient(t, prefix, Via(t, func(req *http.Request, send RoundTripper) (*http.Response, error) {
		if deleted.CompareAndSwap(true, false) {
			if _, err := other.CreateStore(t.Context(), "tests", memento.StoreSpec{Name: "again", ID: id, Limits: memento.Limits{Memories: 10_000}}); err != nil {
				t.Error(err)
			}
			writeMore(t, other, id, "x")
			keepIndex(t, other, id)
		}
		resp, err := send(req)
		if IsOn(req, http.MethodPut, "/log/") && armed.CompareAndSwap(true, false) {
			deleted.Store(true)
		}
		return resp, err
	}))
	b.index.Close()
	id, _ = indexed(t, b)
	armed.Store(true)
	if err := b.DeleteStore(t.Context(), "tests", id); err != nil || armed.Load() || deleted.Load() {
		t.Fatalf("%v; nothing happened meanwhile: %v, %v", err, armed.Load(), deleted.Load())
	}
	onlyNamed(t, other, id)
	searchesRight(t, patient(t, prefix, nil), id)
}

// What a descriptor may name and a segment may have is bounded, but not below what is written.
func TestIndexBounds(t *testing.T) {
	const id = "memstore_a"
	key := indexSegmentDir(id) + "x"
	x := &searchIndexes{maxStored: maxStoredIndex}
	if !x.plausible(id, []indexSegment{{Key: key, Size: 2 * maxIndexedTexts}, {Key: key, Size: 2 * maxIndexedTexts}}) {
		t.Error("the index of hashes is refused")
	}
	for _, ref := range []indexSegment{
		{Key: key}, {Key: key, Size: -1}, {Key: key, Size: maxStoredIndex}, {Key: key, Size: 1<<63 - 1}, {Key: manifestKey(id), Size: 1}, {Key: indexSegmentDir("memstore_b") + "x", Size: 1},
	} {
		if x.plausible(id, []indexSegment{{Key: key, Size: 1}, ref}) {
			t.Errorf("%+v is read", ref)
		}
	}
	many := slices.Repeat([]indexSegment{{Key: key, Size: 1}}, maxIndexSegments+1)
	if !x.plausible(id, many[1:]) || x.plausible(id, many) {
		t.Errorf("%d segments are refused, or one more is read", maxIndexSegments)
	}
	lengths := append(binary.AppendUvarint(nil, 1<<21), make([]byte, 1<<21)...)
	data := append(binary.LittleEndian.AppendUint32(nil, uint32(len(lengths))), lengths...)
	if _, err := decodeSegment(data); !errors.Is(err, textindex.ErrIndex) {
		t.Errorf("a segment of 2 million blocks: %v", err)
	}
}
