package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"memento"
)

func limits(t *testing.T, h Harness) {
	h.run(t, "exactly the limit", exactLimits)
	h.run(t, "long and deep paths", pathLimits)
	h.run(t, "lowered limits", loweredLimits)
	h.run(t, "history is free", historyIsFree)
	h.run(t, "racing for memories", racingForMemories)
	h.run(t, "racing for bytes", racingForBytes)
	h.run(t, "racing to grow", racingToGrow)
}

// exceeds applies changes, which must fail with this LimitError.
func (e *env) exceeds(want memento.LimitError, at memento.Path, changes ...memento.Change) {
	e.Helper()
	e.refused(memento.ErrTooLarge, at, changes...)
	err := e.try(changes...)
	got, ok := errors.AsType[*memento.LimitError](err)
	if !ok {
		e.Errorf("%v is no LimitError", err)
		return
	}
	if diff := cmp.Diff(want, *got); diff != "" {
		e.Errorf("LimitError (-want +got):\n%s", diff)
	}
}

func exactLimits(e *env) {
	e.setLimits(memento.Limits{MemoryBytes: 10, Memories: 3, Bytes: 25})
	put := func(p memento.Path, n int) memento.Put {
		return memento.Put{Path: p, Content: strings.Repeat("x", n)}
	}
	e.exceeds(memento.LimitError{Limit: memento.LimitMemoryBytes, Max: 10, Want: 11}, "/a", put("/a", 11))
	e.apply(put("/a", 10))
	e.exceeds(memento.LimitError{Limit: memento.LimitMemoryBytes, Max: 10, Want: 12}, "/a", put("/a", 12))
	e.apply(put("/b", 10))
	e.exceeds(memento.LimitError{Limit: memento.LimitBytes, Max: 25, Used: 20, Want: 26}, "/c", put("/c", 6))
	e.apply(put("/c", 5))
	e.exceeds(memento.LimitError{Limit: memento.LimitBytes, Max: 25, Used: 25, Want: 26}, "/c", put("/c", 6))
	e.exceeds(memento.LimitError{Limit: memento.LimitMemories, Max: 3, Used: 3, Want: 4}, "/d", put("/d", 0))
	e.exceeds(memento.LimitError{Limit: memento.LimitMemories, Max: 3, Used: 3, Want: 4}, "/d", put("/a", 1), put("/d", 1))
	// Removals count before additions, in the same Apply too.
	e.apply(memento.Remove{Path: "/a"}, put("/d", 10))
	e.apply(memento.Move{From: "/b", To: "/dir/b"}, put("/c", 4), put("/c", 5))
	e.reopen()
	e.exceeds(memento.LimitError{Limit: memento.LimitMemories, Max: 3, Used: 3, Want: 4}, "/e", put("/e", 0))
	if got := e.info().Usage; got != (memento.Usage{Memories: 3, Bytes: 25}) {
		e.Errorf("usage %+v", got)
	}
	e.setLimits(memento.Limits{})
	e.apply(put("/e", 11))
}

func pathLimits(e *env) {
	e.setLimits(memento.Limits{PathBytes: 10, PathDepth: 3})
	e.exceeds(memento.LimitError{Limit: memento.LimitPathBytes, Max: 10, Want: 11}, "/1234567890", memento.Put{Path: "/1234567890"}, memento.Put{Path: "/x"})
	e.exceeds(memento.LimitError{Limit: memento.LimitPathBytes, Max: 10, Want: 11}, "/12345678é", memento.Put{Path: "/12345678é"})
	e.exceeds(memento.LimitError{Limit: memento.LimitPathDepth, Max: 3, Want: 4}, "/a/b/c/d", memento.Put{Path: "/a/b/c/d"})
	e.fill("/1234567é", "/a/b/c", "/dir/file")
	e.exceeds(memento.LimitError{Limit: memento.LimitPathBytes, Max: 10, Want: 11}, "/dir/1/file", memento.Move{From: "/dir/file", To: "/dir/1/file"})
	e.exceeds(memento.LimitError{Limit: memento.LimitPathDepth, Max: 3, Want: 4}, "/d/a/b/c", memento.Move{From: "/a", To: "/d/a"})
	e.apply(memento.Move{From: "/a/b", To: "/d"})
}

func loweredLimits(e *env) {
	e.apply(
		memento.Put{Path: "/large", Content: strings.Repeat("x", 100)},
		memento.Put{Path: "/long/path/to/a/file", Content: "0123456789"},
		memento.Put{Path: "/small", Content: "0123456789"},
	)
	e.setLimits(memento.Limits{MemoryBytes: 20, Memories: 1, Bytes: 50, PathBytes: 8, PathDepth: 1})
	e.reopen()
	e.exceeds(memento.LimitError{Limit: memento.LimitMemoryBytes, Max: 20, Want: 101}, "/large", memento.Put{Path: "/large", Content: strings.Repeat("x", 101)})
	e.exceeds(memento.LimitError{Limit: memento.LimitBytes, Max: 50, Used: 120, Want: 121}, "/small", memento.Put{Path: "/small", Content: "0123456789a"})
	e.exceeds(memento.LimitError{Limit: memento.LimitMemories, Max: 1, Used: 3, Want: 4}, "/new", memento.Put{Path: "/new"})
	// A change that does not increase the usage is allowed above the limit.
	e.put("/large", strings.Repeat("y", 100))
	e.put("/large", strings.Repeat("y", 99))
	e.put("/long/path/to/a/file", "9876543210")
	e.put("/small", "")
	e.apply(memento.Move{From: "/long/path/to/a/file", To: "/short"})
	e.apply(memento.Remove{Path: "/large"})
	e.put("/small", "grows")
	e.exceeds(memento.LimitError{Limit: memento.LimitMemories, Max: 1, Used: 2, Want: 3}, "/new", memento.Put{Path: "/new"})
	e.apply(memento.Remove{Path: "/small"}, memento.Remove{Path: "/short"})
	e.put("/new", "fits")
}

func historyIsFree(e *env) {
	e.setLimits(memento.Limits{Memories: 1, Bytes: 10})
	for i := range 30 {
		e.put("/a", fmt.Sprintf("text %05d", i)[:10])
		e.apply(memento.Remove{Path: "/a"})
	}
	if got := len(e.versions(memento.VersionListOptions{})); got != 60 {
		e.Errorf("%d versions", got)
	}
	if got := e.info().Usage; got != (memento.Usage{}) {
		e.Errorf("usage %+v", got)
	}
}

// race has 16 callers, half of them on another handle, write n times each, and
// returns how many writes succeeded; the others must fail with ErrTooLarge.
func (e *env) race(n int, change func(racer, round int) memento.Change) int {
	handles := []memento.Backend{e.b, e.another()}
	var won atomic.Int32
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range n {
				_, err := handles[i%2].Apply(e.Context(), e.store, e.by, []memento.Change{change(i, j)})
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, memento.ErrTooLarge) {
					e.Error(err)
				}
			}
		})
	}
	wg.Wait()
	return int(won.Load())
}

func racingForMemories(e *env) {
	e.setLimits(memento.Limits{Memories: 20})
	won := e.race(4, func(i, j int) memento.Change {
		return memento.Put{Path: memento.Path(fmt.Sprintf("/%d/%d", i, j)), Content: "x"}
	})
	if got := e.info().Usage; won != 20 || got != (memento.Usage{Memories: 20, Bytes: 20}) {
		e.Errorf("%d writes succeeded; usage %+v", won, got)
	}
}

func racingForBytes(e *env) {
	e.setLimits(memento.Limits{Bytes: 105})
	won := e.race(4, func(i, j int) memento.Change {
		return memento.Put{Path: memento.Path(fmt.Sprintf("/%d/%d", i, j)), Content: "0123456789"}
	})
	if got := e.info().Usage; won != 10 || got != (memento.Usage{Memories: 10, Bytes: 100}) {
		e.Errorf("%d writes succeeded; usage %+v", won, got)
	}
}

// racingToGrow has callers grow and shrink memories at the limit.
func racingToGrow(e *env) {
	e.setLimits(memento.Limits{Bytes: 100, Memories: 16})
	e.race(12, func(i, j int) memento.Change {
		p := memento.Path(fmt.Sprintf("/%d", i))
		return memento.Put{Path: p, Content: strings.Repeat("x", (i*7+j*11)%23)}
	})
	if got := e.info().Usage; got.Bytes > 100 || got.Memories > 16 {
		e.Errorf("usage %+v", got)
	}
	// By the history, the limit was never exceeded.
	sizes := map[memento.MemoryID]int64{}
	var sum int64
	for _, v := range e.versions(memento.VersionListOptions{OldestFirst: true}) {
		sum += v.Size - sizes[v.Memory]
		sizes[v.Memory] = v.Size
		if sum > 100 {
			e.Fatalf("at version %d there were %d bytes", v.Seq, sum)
		}
	}
}
