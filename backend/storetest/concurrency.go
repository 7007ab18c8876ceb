package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"memento"
)

func concurrency(t *testing.T, h Harness) {
	h.run(t, "edits of one memory", concurrentEdits)
	h.run(t, "directories under writers", directoriesUnderWriters)
	h.run(t, "memory or directory", memoryOrDirectory)
	h.run(t, "catalogue and documents", catalogueUnderWriters)
	h.run(t, "no writer starves", noWriterStarves)
}

func concurrentEdits(e *env) {
	const editors, lines = 16, 8
	e.put("/log", "")
	stores := []*memento.Store{e.docs(e.b), e.docs(e.another())}
	var wg sync.WaitGroup
	for i := range editors {
		wg.Go(func() {
			for j := range lines {
				line := fmt.Sprintf("editor %d line %d\n", i, j)
				_, err := stores[i%2].Edit(e.Context(), e.by, "/log", func(old string) (string, error) { return old + line, nil })
				if err != nil {
					e.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	text := e.get("/log").Content
	for i := range editors {
		at := 0
		for j := range lines { // each once, in its editor's order
			line := fmt.Sprintf("editor %d line %d\n", i, j)
			n := strings.Index(text, line)
			if n < at || strings.Count(text, line) != 1 {
				e.Errorf("%q is lost, out of order or double", line)
			}
			at = n
		}
	}
	e.explained("/log", editors*lines)
}

// explained checks that each version of the memory at p, which was empty at first,
// appends one line to the version before it, and that there are as many as lines.
func (e *env) explained(p memento.Path, lines int) {
	e.Helper()
	versions := e.versions(memento.VersionListOptions{Memory: e.get(p).ID, OldestFirst: true, Contents: true})
	if len(versions) != lines+1 {
		e.Errorf("%d versions, want %d", len(versions), lines+1)
	}
	before := ""
	for i, v := range versions {
		added, ok := strings.CutPrefix(v.Content, before)
		if !ok || i > 0 && strings.Count(added, "\n") != 1 {
			e.Fatalf("version %d does not append one line to the version before it: %q after %q", v.Seq, added, before)
		}
		before = v.Content
	}
	if got := e.get(p).Content; got != before {
		e.Errorf("contents are not those of the newest version")
	}
}

// directoriesUnderWriters moves and removes a directory while others write into
// it. The two memories of a pair are written together, so wherever they go, they
// must be seen together; and what was acknowledged must be in the history.
func directoriesUnderWriters(e *env) {
	const writers, rounds = 4, 25
	dirs := []memento.Path{"/even", "/odd"}
	handles := []memento.Backend{e.b, e.another()}
	e.setLimits(memento.Limits{Memories: 1000})

	mover := handles[1]
	stop := e.churn(func(round int) error {
		from, to := dirs[round%2], dirs[(round+1)%2]
		_, err := mover.Apply(e.Context(), e.store, e.by, []memento.Change{memento.Move{From: from, To: to}})
		if errors.Is(err, memento.ErrExist) {
			_, err = mover.Apply(e.Context(), e.store, e.by, []memento.Change{memento.Remove{Path: to}})
		}
		if errors.Is(err, memento.ErrNotExist) {
			return nil
		}
		return err
	})
	var wg sync.WaitGroup
	acknowledged := make([][]string, writers)
	for i := range writers {
		wg.Go(func() {
			for j := range rounds {
				pair := dirs[j%2].Join(fmt.Sprintf("pair%d", i))
				text := fmt.Sprintf("writer %d round %d", i, j)
				_, err := handles[i%2].Apply(e.Context(), e.store, e.by, []memento.Change{
					memento.Put{Path: pair.Join("one"), Content: text},
					memento.Put{Path: pair.Join("two"), Content: text},
				})
				if err != nil {
					e.Error(err)
					return
				}
				acknowledged[i] = append(acknowledged[i], text)
			}
		})
	}
	wg.Go(func() {
		for range rounds {
			texts := map[memento.Path][]string{}
			for x, err := range e.b.List(e.Context(), e.store, memento.ListOptions{Contents: true}) {
				if err != nil {
					e.Error(err)
					return
				}
				texts[x.Path.Parent()] = append(texts[x.Path.Parent()], x.Memory.Content)
			}
			for pair, t := range texts {
				if len(t) != 2 || t[0] != t[1] {
					e.Errorf("%s is seen half: %q", pair, t)
				}
			}
		}
	})
	wg.Wait()
	stop()

	written := map[string]int{}
	for _, v := range e.versions(memento.VersionListOptions{Contents: true}) {
		written[v.Content]++
	}
	for _, text := range slices.Concat(acknowledged...) {
		if written[text] < 2 {
			e.Errorf("%q was acknowledged, but is not in the history", text)
		}
	}
}

// memoryOrDirectory lets some write a path as a memory while others write below
// it, move things there, or remove it.
func memoryOrDirectory(e *env) {
	const rounds = 12
	handles := []memento.Backend{e.b, e.another()}
	for i := range 8 {
		e.put(memento.Path(fmt.Sprintf("/source/%d", i)), "x")
	}
	for round := range rounds {
		p := memento.Path(fmt.Sprintf("/raced/%d", round))
		e.put(p.Join("old"), "in the way")
		changes := []memento.Change{memento.Remove{Path: p}}
		for i := range 5 {
			changes = append(changes,
				memento.Put{Path: p, Content: "memory"},
				memento.Put{Path: p.Join(fmt.Sprint(i)), Content: "below"},
				memento.Move{From: p, To: memento.Path(fmt.Sprintf("/away/%d-%d", round, i))},
			)
		}
		var wg sync.WaitGroup
		for i, change := range changes {
			wg.Go(func() {
				_, err := handles[i%2].Apply(e.Context(), e.store, e.by, []memento.Change{change})
				for _, fine := range []error{nil, memento.ErrIsDir, memento.ErrNotDir, memento.ErrNotExist} {
					if errors.Is(err, fine) {
						return
					}
				}
				e.Errorf("%v: %v", change, err)
			})
		}
		wg.Wait()
	}
	e.exclusive()
}

// exclusive replays a history in which directories only move to new places, and
// checks that at no time a path was a memory and a directory.
func (e *env) exclusive() {
	e.Helper()
	at := map[memento.MemoryID]memento.Path{}
	living := map[memento.Path]bool{}
	for _, v := range e.versions(memento.VersionListOptions{OldestFirst: true}) {
		delete(living, at[v.Memory])
		delete(at, v.Memory)
		if v.Operation == memento.Deleted {
			continue
		}
		if living[v.Path] {
			e.Errorf("version %d puts a second memory at %s", v.Seq, v.Path)
		}
		for dir := range v.Path.Ancestors() {
			if living[dir] {
				e.Errorf("version %d puts %s below the memory %s", v.Seq, v.Path, dir)
			}
		}
		for other := range living {
			if v.Path.Contains(other) {
				e.Errorf("version %d puts %s where a directory is, for %s", v.Seq, v.Path, other)
			}
		}
		at[v.Memory], living[v.Path] = v.Path, true
	}
}

// catalogueUnderWriters deletes stores while they are written to. A write then
// succeeds or there is no store; nothing else.
func catalogueUnderWriters(e *env) {
	other := e.another()
	for range 10 {
		doomed := e.newStore(memento.StoreSpec{Name: "doomed"})
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for j := range 5 {
					_, err := other.Apply(e.Context(), doomed, e.by, []memento.Change{memento.Put{Path: memento.Path(fmt.Sprintf("/%d/%d", i, j)), Content: "x"}})
					if err != nil {
						wantError(e, "Apply", err, memento.ErrNoStore)
					}
					for _, err := range other.List(e.Context(), doomed, memento.ListOptions{}) {
						if err != nil {
							wantError(e, "List", err, memento.ErrNoStore)
						}
					}
				}
			})
		}
		if err := e.b.DeleteStore(e.Context(), workspace, doomed); err != nil {
			e.Error(err)
		}
		wg.Wait()
		_, err := other.Get(e.Context(), doomed, memento.ByPath("/0/0"))
		wantError(e, "Get", err, memento.ErrNoStore)
	}
}

// noWriterStarves has a caller on one handle write without a pause. Another caller must
// succeed in time.
func noWriterStarves(e *env) {
	var changes []memento.Change
	for i := range 20 {
		changes = append(changes, memento.Put{Path: memento.Path(fmt.Sprintf("/even/%d", i)), Content: "x"})
	}
	e.apply(changes...)
	busy := e.another()
	names := [2]memento.Path{"/even", "/odd"}
	defer e.churn(func(round int) error {
		_, err := busy.Apply(e.Context(), e.store, e.by, []memento.Change{memento.Move{From: names[round%2], To: names[(round+1)%2]}})
		return err
	})()
	ctx, cancel := context.WithTimeout(e.Context(), 2*time.Minute) // the other caller goes on for ever
	defer cancel()
	for i := range 20 {
		_, err := e.b.Apply(ctx, e.store, e.by, []memento.Change{memento.Put{Path: "/patient", Content: fmt.Sprint(i)}})
		if err != nil {
			e.Fatalf("write %d of 20: %v", i+1, err)
		}
	}
}
