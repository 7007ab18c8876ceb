package storetest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"memento"
	"memento/backend"
)

// vectors tests what a [backend.VectorKeeper] keeps, and when it goes.
func vectors(t *testing.T, h Harness) {
	if !h.VectorKeeper {
		return // "powers" checks that it is none
	}
	h.run(t, "kept", keptVectors)
	h.run(t, "of contents that have gone", goneVectors)
	h.run(t, "no trace after a redaction", func(e *env) {
		e.tracesGo(func(v memento.Version) {
			e.put("/a", "harmless")
			e.redact(v.ID)
		})
	})
	h.run(t, "no trace after pruning", func(e *env) {
		e.tracesGo(func(memento.Version) {
			e.apply(memento.Remove{Path: "/a"})
			if _, err := e.b.Prune(e.Context(), e.store, memento.PruneOptions{Before: memento.EndOfTime}); err != nil {
				e.Fatal(err)
			}
		})
	})
	h.run(t, "no trace of a store that was deleted", func(e *env) {
		e.tracesGo(func(memento.Version) {
			if err := e.b.DeleteStore(e.Context(), workspace, e.store); err != nil {
				e.Fatal(err)
			}
			e.store = e.newStore(memento.StoreSpec{Name: "another"})
		})
	})
	h.run(t, "racing an edit", racingVectors)
}

const vectorModel = "a model"

// vectorOf returns the vectors of a version: one, whose values are numbers from n on.
func vectorOf(v memento.Version, n int) backend.MemoryVectors {
	values := make([]int8, 100)
	for i := range values {
		values[i] = int8(n + i)
	}
	return backend.MemoryVectors{Memory: v.Memory, Version: v.ID, Vectors: []backend.Vector{
		{Text: [32]byte{byte(n)}, End: 1, Step: 0.25, Values: values}, {Text: [32]byte{1, byte(n)}, Start: 1, End: 2},
	}}
}

// keep puts vectors, and checks which are kept.
func (e *env) keep(b memento.Backend, model string, want []bool, all ...backend.MemoryVectors) {
	e.Helper()
	kept, err := b.(backend.VectorKeeper).PutVectors(e.Context(), e.store, model, all)
	if err != nil || !slices.Equal(kept, want) {
		e.Fatalf("kept %v, %v; want %v", kept, err, want)
	}
}

// vectorsOf returns the vectors that are kept, by their memories.
func (e *env) vectorsOf(b memento.Backend, model string, ids []memento.MemoryID) map[memento.MemoryID]backend.MemoryVectors {
	e.Helper()
	found := map[memento.MemoryID]backend.MemoryVectors{}
	for m, err := range b.(backend.VectorKeeper).Vectors(e.Context(), e.store, model, ids) {
		if err != nil {
			e.Fatal(err)
		}
		if _, twice := found[m.Memory]; twice {
			e.Errorf("memory %s is there twice", m.Memory)
		}
		found[m.Memory] = m
	}
	return found
}

func keptVectors(e *env) {
	a, b, c := e.put("/a", "one"), e.put("/b", "two"), e.put("/c", "three")
	if all := e.vectorsOf(e.b, vectorModel, nil); len(all) != 3 || all[a.Memory].Vectors != nil || all[b.Memory].Path != "/b" || all[c.Memory].Version != c.ID {
		e.Errorf("at first: %v", all)
	}
	of := map[memento.MemoryID]backend.MemoryVectors{}
	for i, v := range []memento.Version{a, b} {
		m := vectorOf(v, i)
		m.Path = v.Path
		of[v.Memory] = m
	}
	empty := backend.MemoryVectors{Memory: c.Memory, Path: "/c", Version: c.ID, Vectors: []backend.Vector{}}
	of[c.Memory] = empty
	stranger := vectorOf(memento.Version{Memory: "mem_unknown", ID: "memver_unknown"}, 9)
	e.keep(e.b, vectorModel, []bool{true, true, false, true}, of[a.Memory], of[b.Memory], stranger, empty)
	other := e.another()
	if diff := cmp.Diff(of, e.vectorsOf(other, vectorModel, nil)); diff != "" {
		e.Errorf("another handle has (-want +got)\n%s", diff)
	}
	if found := e.vectorsOf(other, vectorModel, []memento.MemoryID{b.Memory, "mem_unknown"}); len(found) != 1 || found[b.Memory].Vectors == nil {
		e.Errorf("by IDs: %v", found)
	}
	if found := e.vectorsOf(other, "other", []memento.MemoryID{a.Memory}); len(found) > 0 {
		e.Errorf("of another model: %v", found)
	}
	e.keep(other, "other", []bool{true}, vectorOf(a, 7))
	if found := e.vectorsOf(e.b, vectorModel, []memento.MemoryID{a.Memory}); len(found) > 0 {
		e.Errorf("replaced by another model, and still there: %v", found)
	}
	keeper := e.b.(backend.VectorKeeper)
	for what, m := range map[string]backend.MemoryVectors{
		"no step":            {Memory: a.Memory, Version: a.ID, Vectors: []backend.Vector{{Values: []int8{1}}}},
		"a negative section": {Memory: a.Memory, Version: a.ID, Vectors: []backend.Vector{{Start: 2, End: 1}}},
	} {
		if _, err := keeper.PutVectors(e.Context(), e.store, vectorModel, []backend.MemoryVectors{m}); !errors.Is(err, memento.ErrInvalid) {
			e.Errorf("%s: %v", what, err)
		}
	}
	if _, err := keeper.PutVectors(e.Context(), e.store, vectorModel, []backend.MemoryVectors{vectorOf(a, 1), vectorOf(a, 2)}); !errors.Is(err, memento.ErrInvalid) {
		e.Errorf("a memory twice: %v", err)
	}
	if _, err := keeper.PutVectors(e.Context(), e.store, vectorModel, make([]backend.MemoryVectors, backend.MaxPutVectors+1)); !errors.Is(err, memento.ErrInvalid) {
		e.Errorf("too many: %v", err)
	}
	if _, err := keeper.PutVectors(e.Context(), "memstore_unknown", vectorModel, nil); !errors.Is(err, memento.ErrNoStore) {
		e.Errorf("of no store: %v", err)
	}
	for _, err := range keeper.Vectors(e.Context(), "memstore_unknown", vectorModel, nil) {
		if !errors.Is(err, memento.ErrNoStore) {
			e.Errorf("of no store: %v", err)
		}
	}
}

func goneVectors(e *env) {
	old := e.put("/a", "one")
	now := e.put("/a", "two")
	e.keep(e.b, vectorModel, []bool{false}, vectorOf(old, 1)) // not the newest version
	e.keep(e.b, vectorModel, []bool{true}, vectorOf(now, 2))
	has := func(what string, id memento.MemoryID, want bool) {
		e.Helper()
		found := e.vectorsOf(e.another(), vectorModel, []memento.MemoryID{id})
		if _, ok := found[id]; ok != want {
			e.Errorf("%s: there are vectors: %t, want %t", what, ok, want)
		}
		if all := e.vectorsOf(e.b, vectorModel, nil); (all[id].Vectors != nil) != want {
			e.Errorf("%s: among all, there are vectors: %t, want %t", what, !want, want)
		}
	}
	has("at first", now.Memory, true)
	e.apply(memento.Move{From: "/a", To: "/b"})
	has("moved", now.Memory, true)
	moved := e.vectorsOf(e.b, vectorModel, nil)[now.Memory]
	if moved.Path != "/b" || moved.Version != e.get("/b").Version {
		e.Errorf("moved to %v", moved)
	}
	e.put("/b", "three")
	has("changed", now.Memory, false)
	e.keep(e.b, vectorModel, []bool{false}, vectorOf(now, 2))
	has("put late", now.Memory, false)

	changed := e.versions(memento.VersionListOptions{Limit: 1})[0]
	e.keep(e.b, vectorModel, []bool{true}, vectorOf(changed, 3))
	other := e.put("/other", "four")
	e.keep(e.b, vectorModel, []bool{true}, vectorOf(other, 4))
	// Several changes at a time, the other way to write; one changes nothing.
	e.apply(memento.Put{Path: "/b", Content: "five"}, memento.Put{Path: "/new", Content: "six"}, memento.Put{Path: "/other", Content: "four"})
	has("changed with others", changed.Memory, false)
	has("not changed", other.Memory, true)
	e.apply(memento.Remove{Path: "/other"})
	for id := range e.vectorsOf(e.b, vectorModel, nil) {
		if id == other.Memory {
			e.Error("a memory that was deleted is listed")
		}
	}
	e.keep(e.b, vectorModel, []bool{false}, vectorOf(other, 4))
	has("deleted", other.Memory, false)
	if h := e.h; h.Persistent {
		e.reopen()
		has("opened again", other.Memory, false)
	}
}

// tracesGo keeps the vectors of a memory, /a, removes its contents for good, and looks for
// the vector in the stored data before and after.
func (e *env) tracesGo(remove func(memento.Version)) {
	v := e.put("/a", "a text that will be removed")
	e.put("/b", "another one")
	m := vectorOf(v, 20)
	e.keep(e.b, vectorModel, []bool{true}, m)
	if e.h.Blobs == nil {
		return
	}
	if !e.stored(backend.EncodeVectors(m.Vectors)[46:146]) {
		e.Fatal("the vector is nowhere in the stored data, so nothing is tested")
	}
	remove(v)
	if e.stored(backend.EncodeVectors(m.Vectors)[46:146]) {
		e.Error("the vector is still in the stored data")
	}
}

// stored reports whether bytes are in the stored data, which is closed meanwhile.
func (e *env) stored(data []byte) (found bool) {
	e.Helper()
	if err := e.b.Close(); err != nil {
		e.Fatal(err)
	}
	blobs, err := e.h.Blobs(e.Context(), e.dir)
	if err != nil {
		e.Fatal(err)
	}
	e.b = e.open()
	return slices.ContainsFunc(blobs, func(b Blob) bool { return bytes.Contains(b.Data, data) })
}

// racingVectors puts vectors of versions while these are replaced: none is left of an older
// one.
func racingVectors(e *env) {
	v := e.put("/a", "0")
	other := e.another().(backend.VectorKeeper)
	done := make(chan error)
	go func() {
		defer close(done)
		for i := range 40 {
			all := e.versions(memento.VersionListOptions{Limit: 1})
			m := vectorOf(all[0], i)
			m.Vectors[0].Text = sha256.Sum256([]byte(m.Version))
			if _, err := other.PutVectors(e.Context(), e.store, vectorModel, []backend.MemoryVectors{m}); err != nil {
				done <- err
				return
			}
		}
	}()
	ended := false
	for i := 1; !ended; i++ {
		v = e.put("/a", fmt.Sprint("text ", i))
		if m, ok := e.vectorsOf(e.b, vectorModel, []memento.MemoryID{v.Memory})[v.Memory]; ok && m.Vectors[0].Text != sha256.Sum256([]byte(v.ID)) {
			e.Errorf("the newest version, %s, has vectors of another one", v.ID)
		}
		select {
		case err := <-done:
			if err != nil {
				e.Fatal(err)
			}
			ended = true
		default:
		}
	}
	e.put("/a", "the last")
	if found := e.vectorsOf(e.b, vectorModel, []memento.MemoryID{v.Memory}); len(found) > 0 {
		e.Errorf("at the end there are vectors of an older version")
	}
}
