package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"memento"
)

func pruning(t *testing.T, h Harness) {
	h.run(t, "age", pruneAge)
	h.run(t, "number", pruneNumber)
	h.run(t, "deleted memories", pruneDeleted)
	h.run(t, "shared contents", pruneShared)
	h.run(t, "one memory", pruneOne)
	h.run(t, "nothing there", pruneNothing)
	h.run(t, "search afterwards", pruneSearch)
	h.run(t, "during writes", pruneDuringWrites)
	h.run(t, "concurrently", pruneConcurrently)
	h.run(t, "history goes on", pruneThenImport)
}

// prune removes versions, and checks that a dry run counts the same.
func (e *env) prune(opts memento.PruneOptions) memento.Pruned {
	e.Helper()
	before := e.everything()
	opts.DryRun = true
	count, err := e.b.Prune(e.Context(), e.store, opts)
	if err != nil {
		e.Fatalf("Prune: %v", err)
	}
	e.same("after a dry run", before, e.everything())
	opts.DryRun = false
	sum, err := e.b.Prune(e.Context(), e.store, opts)
	if err != nil || sum != count {
		e.Fatalf("Prune: %+v, %v; the dry run counted %+v", sum, err, count)
	}
	after := e.everything()
	if diff := cmp.Diff(before.Entries, after.Entries); diff != "" || before.Info.Usage != after.Info.Usage {
		e.Errorf("Prune changed memories:\n%s", diff)
	}
	if gone := len(before.Versions) - len(after.Versions); int64(gone) != sum.Versions {
		e.Errorf("%d versions are gone, Prune returned %d", gone, sum.Versions)
	}
	return sum
}

// kept checks which versions there are, newest first.
func (e *env) kept(want ...memento.Version) {
	e.Helper()
	e.reopen()
	var wantIDs, ids []memento.VersionID
	for _, v := range want {
		wantIDs = append(wantIDs, v.ID)
	}
	for _, v := range e.versions(memento.VersionListOptions{}) {
		ids = append(ids, v.ID)
	}
	if diff := cmp.Diff(wantIDs, ids); diff != "" {
		e.Errorf("versions (-want +got):\n%s", diff)
	}
}

const tick = 3 * time.Millisecond // long enough for times to differ

func pruneAge(e *env) {
	v1 := e.put("/a", "1")
	time.Sleep(tick)
	v2 := e.put("/a", "22")
	time.Sleep(tick)
	v3 := e.put("/a", "333")
	// v1 was superseded when v2 was written, and v2 when v3 was.
	if sum := e.prune(memento.PruneOptions{Before: v2.CreatedAt}); sum != (memento.Pruned{}) {
		e.Errorf("pruned %+v: nothing was superseded before", sum)
	}
	if sum := e.prune(memento.PruneOptions{Before: v3.CreatedAt}); sum != (memento.Pruned{Versions: 1, Bytes: 1}) {
		e.Errorf("pruned %+v, want the first version", sum)
	}
	e.kept(v3, v2)
	if _, err := e.b.GetVersion(e.Context(), e.store, v1.ID); err == nil {
		e.Error("the version that was pruned is still there")
	}
	e.prune(memento.PruneOptions{Before: memento.EndOfTime})
	e.kept(v3)
	if got := e.versions(memento.VersionListOptions{Memory: v3.Memory, Contents: true}); len(got) != 1 || got[0].Content != "333" {
		e.Errorf("versions of the memory: %+v", got)
	}
	v4 := e.put("/a", "4444")
	e.kept(v4, v3)
}

func pruneNumber(e *env) {
	var a, b []memento.Version
	for i := range 5 {
		a = append(a, e.put("/a", fmt.Sprint("a", i)))
	}
	for i := range 2 {
		b = append(b, e.put("/b", fmt.Sprint("b", i)))
	}
	future := memento.EndOfTime
	e.prune(memento.PruneOptions{Before: future, Keep: 3})
	e.kept(b[1], b[0], a[4], a[3], a[2])
	e.prune(memento.PruneOptions{Before: future, Keep: 1})
	e.kept(b[1], a[4])
	e.prune(memento.PruneOptions{Before: future})
	e.kept(b[1], a[4])
}

// pruneDeleted checks that the age of a deleted memory's last contents counts from the
// deletion, so that it can be restored until then.
func pruneDeleted(e *env) {
	made := e.put("/a", "1")
	time.Sleep(tick)
	gone := e.apply(memento.Remove{Path: "/a"})[0]
	time.Sleep(tick)
	again := e.put("/a", "2")
	e.prune(memento.PruneOptions{Before: gone.CreatedAt, Keep: 10})
	e.kept(again, gone, made)
	e.prune(memento.PruneOptions{Before: again.CreatedAt, Keep: 10}) // of a living memory
	e.kept(again)
}

func pruneShared(e *env) {
	made := e.put("/a", "shared")
	moved := e.apply(memento.Move{From: "/a", To: "/b"})[0]
	e.prune(memento.PruneOptions{Before: memento.EndOfTime})
	e.kept(moved)
	e.reopen()
	if got := e.version(moved.ID).Content; got != "shared" || e.get("/b").Content != "shared" {
		e.Errorf("the contents that %s shared are %q", made.ID, got)
	}
	// And with a redacted version in between.
	second := e.put("/b", "other")
	third := e.apply(memento.Move{From: "/b", To: "/c"})[0]
	fourth := e.apply(memento.Move{From: "/c", To: "/d"})[0]
	e.redact(third.ID)
	e.prune(memento.PruneOptions{Before: memento.EndOfTime, Keep: 2})
	e.kept(fourth, third)
	if got := e.get("/d").Content; got != "other" {
		e.Errorf("the contents that %s shared are %q", second.ID, got)
	}
}

func pruneOne(e *env) {
	a, b := e.put("/a", "1"), e.put("/b", "1")
	a2, b2 := e.put("/a", "2"), e.put("/b", "2")
	opts := memento.PruneOptions{Before: memento.EndOfTime, Memory: a.Memory}
	e.prune(opts)
	e.kept(b2, a2, b)
	e.apply(memento.Remove{Path: "/a"})
	e.prune(opts)
	e.kept(b2, b)
	opts.Memory = "mem_unknown"
	if sum := e.prune(opts); sum != (memento.Pruned{}) {
		e.Errorf("of an unknown memory: %+v", sum)
	}
}

func pruneNothing(e *env) {
	opts := memento.PruneOptions{Before: time.Now()}
	if sum := e.prune(opts); sum != (memento.Pruned{}) {
		e.Errorf("of an empty store: %+v", sum)
	}
	_, err := e.b.Prune(e.Context(), "memstore_unknown", opts)
	wantError(e, "an unknown store", err, memento.ErrNoStore)
	ctx, cancel := context.WithCancel(e.Context())
	cancel()
	e.fill("/a")
	_, err = e.b.Prune(ctx, e.store, opts)
	wantError(e, "cancelled", err, context.Canceled)
}

func pruneSearch(e *env) {
	searcher, ok := e.b.(memento.Searcher)
	if !ok {
		return // "as promised" has checked that it need not be one
	}
	e.put("/a", "apple")
	e.put("/a", "banana")
	e.put("/b", "cherry")
	e.apply(memento.Remove{Path: "/b"})
	e.prune(memento.PruneOptions{Before: memento.EndOfTime})
	for query, want := range map[string]int{"apple": 0, "banana": 1, "cherry": 0} {
		matches, err := searcher.Search(e.Context(), e.store, memento.SearchOptions{Query: query})
		if err != nil || len(matches) != want {
			e.Errorf("search for %s: %d matches, %v; want %d", query, len(matches), err, want)
		}
	}
}

// pruneDuringWrites prunes while others write: the memories must keep matching the history.
func pruneDuringWrites(e *env) {
	s := e.docs(e.another())
	var wg sync.WaitGroup
	const writers, edits = 4, 30
	for w := range writers {
		p := memento.Path(fmt.Sprint("/", w%2))
		wg.Go(func() {
			for i := range edits {
				if _, err := s.Apply(e.Context(), e.by, memento.Put{Path: p, Content: fmt.Sprint(w, " ", i)}); err != nil {
					e.Error(err)
				}
				if i%10 == 9 {
					s.Apply(e.Context(), e.by, memento.Remove{Path: p}) // another writer may have been first
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	var pruners sync.WaitGroup
	for _, b := range []memento.Backend{e.b, e.another()} { // two handles that compete
		pruners.Go(func() {
			for pruned := false; !pruned; {
				select {
				case <-done:
					pruned = true
				default:
				}
				if _, err := b.Prune(e.Context(), e.store, memento.PruneOptions{Before: memento.EndOfTime, Keep: 2}); err != nil {
					e.Error(err)
					return
				}
			}
		})
	}
	pruners.Wait()
	perMemory := map[memento.MemoryID]int{}
	for _, v := range e.versions(memento.VersionListOptions{}) {
		perMemory[v.Memory]++
	}
	for id, n := range perMemory {
		if n > 2 {
			e.Errorf("%d versions of memory %s were kept", n, id)
		}
	}
}

// pruneThenImport copies a pruned history.
func pruneThenImport(e *env) {
	e.put("/a", "1")
	e.put("/a", "2")
	e.apply(memento.Move{From: "/a", To: "/b"})
	e.prune(memento.PruneOptions{Before: memento.EndOfTime})
	left := e.versions(memento.VersionListOptions{OldestFirst: true, Contents: true})
	want := e.list(memento.ListOptions{Contents: true})
	e.store = e.newStore(memento.StoreSpec{Name: "copy"})
	if err := e.b.Import(e.Context(), e.store, slices.Clone(left)); err != nil {
		e.Fatal(err)
	}
	got := e.list(memento.ListOptions{Contents: true})
	for i := range got {
		got[i].Memory.CreatedAt = want[i].Memory.CreatedAt // of the first version, which is gone
	}
	// To be imported may count as being read.
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(memento.Memory{}, "ReadAt")); diff != "" {
		e.Errorf("memories (-want +got):\n%s", diff)
	}
}

// pruneConcurrently has several callers remove the same versions, while new memories may take
// the storage of the removed contents.
func pruneConcurrently(e *env) {
	const rounds, pruners = 60, 3
	want := map[memento.Path]string{}
	for i := range rounds {
		e.put("/gone", fmt.Sprint("gone ", i))
		e.apply(memento.Remove{Path: "/gone"})
		p := memento.Path(fmt.Sprint("/kept", i))
		want[p] = string(p)
		var wg sync.WaitGroup
		for range pruners {
			wg.Go(func() {
				if _, err := e.b.Prune(e.Context(), e.store, memento.PruneOptions{Before: memento.EndOfTime}); err != nil {
					e.Error(err)
				}
			})
		}
		wg.Go(func() {
			if err := e.try(memento.Put{Path: p, Content: string(p)}); err != nil {
				e.Error(err)
			}
		})
		wg.Wait()
	}
	e.reopen()
	e.holds(want)
}
