// Package storagetest tests implementations of [textindex.Storage].
package storagetest

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"memento"
	"memento/backend/textindex"
)

// Run tests a storage with a store that has no index.
func Run(t *testing.T, m textindex.Storage, store memento.StoreID) {
	r := &run{t, m, store}
	r.is(0)
	before := r.revision()

	// A segment that was announced can be written although others publish.
	mine, others, late := textindex.SegmentID(1), textindex.SegmentID(1<<42-1), textindex.SegmentID(77)
	r.revised("a segment of another revision was announced", r.put(before+1, mine))
	r.ok(r.put(before, mine))
	r.ok(r.put(before, others, textindex.Block{N: 0, Data: []byte("theirs")}, textindex.Block{N: textindex.HeadBlock, Data: []byte("head")}))
	r.ok(m.Publish(t.Context(), store, before, textindex.StoredIndex{Seq: 5, Segments: []textindex.StoredSegment{{ID: others}}}, false))
	r.is(5, textindex.StoredSegment{ID: others})
	now := r.revision()
	if now == before {
		t.Error("the revision is the same after a publication")
	}
	r.revised("an index was published in place of another one", m.Publish(t.Context(), store, before, textindex.StoredIndex{}, false))
	r.revised("a segment of an older revision was announced", r.put(before, late))
	r.ok(r.put(before, mine, textindex.Block{N: 0, Data: []byte("mine")}))
	r.has(mine, 0, "mine")
	dead := []byte{0, 255, 7}
	both := []textindex.StoredSegment{{ID: mine}, {ID: others, Dead: dead}}
	r.ok(m.Publish(t.Context(), store, now, textindex.StoredIndex{Seq: 6, Segments: both}, false))
	r.is(6, both...)
	r.revised("a segment of the index was written again", r.put(r.revision(), mine, textindex.Block{N: 1, Data: []byte("more")}))

	// What is unknown, abandoned, discarded or retired cannot be published, and nothing else
	// changes then.
	r.ok(r.put(r.revision(), late, textindex.Block{N: 0, Data: []byte("late")}))
	r.revised("an unknown segment was published", r.publish(false, 9, textindex.StoredSegment{ID: 4711}))
	r.is(6, both...)
	r.ok(r.publish(true, 6, both...))
	r.revised("an abandoned segment was written", r.put(r.revision(), late, textindex.Block{N: 1, Data: []byte("late")}))
	r.revised("an abandoned segment was published", r.publish(false, 9, textindex.StoredSegment{ID: late}))
	r.is(6, both...)
	discarded := textindex.SegmentID(78)
	r.ok(r.put(r.revision(), discarded))
	r.ok(m.Discard(t.Context(), store, discarded))
	r.ok(m.Discard(t.Context(), store, mine)) // which is in the index, and stays
	r.revised("a discarded segment was published", r.publish(false, 9, textindex.StoredSegment{ID: discarded}))
	r.ok(r.publish(false, 7, textindex.StoredSegment{ID: mine}))
	r.revised("a retired segment was published", r.publish(false, 9, textindex.StoredSegment{ID: others}))
	r.is(7, textindex.StoredSegment{ID: mine})

	for n := 0; ; n++ {
		more, err := m.Sweep(t.Context(), store)
		r.ok(err)
		if !more {
			break
		}
		if n == 20 {
			t.Fatal("there is always more to sweep")
		}
	}
	r.has(mine, 0, "mine")
	r.has(others, 0, "")
	r.has(late, 0, "")
	r.ok(r.publish(true, 0))
	r.is(0)
}

type run struct {
	*testing.T
	m     textindex.Storage
	store memento.StoreID
}

func (r *run) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *run) revised(what string, err error) {
	r.Helper()
	if !errors.Is(err, textindex.ErrRevised) {
		r.Fatalf("%s: %v", what, err)
	}
}

func (r *run) put(revision int64, id textindex.SegmentID, blocks ...textindex.Block) error {
	return r.m.PutBlocks(r.Context(), r.store, revision, id, blocks)
}

// publish replaces the index that there is.
func (r *run) publish(abandon bool, seq int64, segments ...textindex.StoredSegment) error {
	return r.m.Publish(r.Context(), r.store, r.revision(), textindex.StoredIndex{Seq: seq, Segments: segments}, abandon)
}

func (r *run) revision() (revision int64) {
	r.Helper()
	r.ok(r.m.View(r.Context(), r.store, func(_ context.Context, now textindex.Snapshot) error {
		revision = now.Revision()
		return nil
	}))
	return revision
}

// is checks the stored index.
func (r *run) is(seq int64, segments ...textindex.StoredSegment) {
	r.Helper()
	r.ok(r.m.View(r.Context(), r.store, func(ctx context.Context, now textindex.Snapshot) error {
		stored, err := now.Stored(ctx)
		if err != nil {
			return err
		}
		same := stored.Seq == seq && len(stored.Segments) == len(segments)
		for i := range segments {
			same = same && stored.Segments[i].ID == segments[i].ID && bytes.Equal(stored.Segments[i].Dead, segments[i].Dead)
		}
		if !same {
			r.Errorf("the index is %+v, want %d, %+v", stored, seq, segments)
		}
		return nil
	}))
}

// has checks a block; "" if there is none.
func (r *run) has(id textindex.SegmentID, n int, want string) {
	r.Helper()
	got, err := r.m.Block(r.Context(), r.store, id, n)
	if string(got) != want || want == "" && !errors.Is(err, textindex.ErrIndex) {
		r.Errorf("block %d of %d: %q, %v; want %q", n, id, got, err, want)
	}
}
