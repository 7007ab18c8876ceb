package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"memento"
)

func conditions(t *testing.T, h Harness) {
	h.run(t, "put", putConditions)
	h.run(t, "remove", removeConditions)
	h.run(t, "move", moveConditions)
	h.run(t, "one winner", oneWinner)
}

func putConditions(e *env) {
	old := e.put("/a", "old")
	v := e.put("/a", "text")
	other := e.put("/other", "other")
	e.put("/dir/file", "x")
	put := func(p memento.Path, c memento.Condition) memento.Put {
		return memento.Put{Path: p, Content: "new", If: c}
	}
	e.refused(memento.ErrExist, "/a", put("/a", memento.IfAbsent()))
	e.refused(memento.ErrConflict, "/a", put("/a", memento.IfSHA256(old.SHA256)))
	e.refused(memento.ErrConflict, "/a", put("/a", memento.IfVersion(old.ID)))
	e.refused(memento.ErrConflict, "/a", put("/a", memento.IfVersion(other.ID)))
	e.refused(memento.ErrConflict, "/a", put("/a", memento.IfVersion("memver_unknown")))
	e.refused(memento.ErrConflict, "/missing", put("/missing", memento.IfSHA256(v.SHA256)))
	e.refused(memento.ErrConflict, "/missing", put("/missing", memento.IfVersion(v.ID)))
	e.refused(memento.ErrConflict, "/dir", put("/dir", memento.IfVersion(v.ID)))
	e.refused(memento.ErrIsDir, "/dir", put("/dir", memento.IfAbsent()))
	e.refused(memento.ErrNotDir, "/a", put("/a/b", memento.IfAbsent()))
	// The condition comes first, even if there is nothing to do.
	e.refused(memento.ErrExist, "/a", memento.Put{Path: "/a", Content: "text", If: memento.IfAbsent()})
	e.refused(memento.ErrConflict, "/a", memento.Put{Path: "/a", Content: "text", If: memento.IfVersion(old.ID)})

	e.apply(put("/a", memento.IfVersion(v.ID)))
	e.apply(memento.Put{Path: "/a", Content: "newer", If: memento.IfSHA256(memento.HashContent("new"))})
	e.apply(put("/new", memento.IfAbsent()))
	e.apply(memento.Put{Path: "/a", Content: "text"})
	e.apply(put("/a", memento.IfSHA256(v.SHA256)))                                   // a hash can come back
	e.apply(memento.Put{Path: "/a", Content: "text"})                                // but not
	e.refused(memento.ErrConflict, "/a", put("/a", memento.IfVersion(v.ID)))         // a version
	e.apply(memento.Remove{Path: "/a"}, memento.Put{Path: "/a", Content: "text"})    // nor does it
	e.refused(memento.ErrConflict, "/a", put("/a", memento.IfVersion(v.ID)))         // with a new memory
	moved := e.apply(memento.Move{From: "/new", To: "/moved"})                       // and a move
	e.refused(memento.ErrConflict, "/moved", put("/moved", memento.IfVersion(v.ID))) // makes one
	e.apply(memento.Put{Path: "/moved", Content: "x", If: memento.IfVersion(moved[0].ID)})
}

func removeConditions(e *env) {
	old := e.put("/a", "old")
	v := e.put("/a", "text")
	e.fill("/b", "/c", "/dir/file")
	e.refused(memento.ErrConflict, "/a", memento.Remove{Path: "/a", If: memento.IfVersion(old.ID)})
	e.refused(memento.ErrConflict, "/a", memento.Remove{Path: "/a", If: memento.IfSHA256(old.SHA256)})
	e.refused(memento.ErrExist, "/a", memento.Remove{Path: "/a", If: memento.IfAbsent()})
	e.refused(memento.ErrNotExist, "/missing", memento.Remove{Path: "/missing", If: memento.IfAbsent()})
	e.refused(memento.ErrConflict, "/missing", memento.Remove{Path: "/missing", If: memento.IfVersion(v.ID)})
	e.refused(memento.ErrIsDir, "/dir", memento.Remove{Path: "/dir", If: memento.IfVersion(v.ID)})
	e.refused(memento.ErrIsDir, "/dir", memento.Remove{Path: "/dir", If: memento.IfSHA256(v.SHA256)})
	e.apply(memento.Remove{Path: "/a", If: memento.IfVersion(v.ID)})
	e.apply(memento.Remove{Path: "/b", If: memento.IfSHA256(memento.HashContent("/b"))})
	e.holds(map[memento.Path]string{"/c": "/c", "/dir/file": "/dir/file"})
}

func moveConditions(e *env) {
	old := e.put("/a", "old")
	v := e.put("/a", "text")
	e.fill("/b", "/dir/file")
	move := func(from memento.Path, c memento.Condition) memento.Move {
		return memento.Move{From: from, To: "/moved", If: c}
	}
	e.refused(memento.ErrConflict, "/a", move("/a", memento.IfVersion(old.ID)))
	e.refused(memento.ErrConflict, "/a", move("/a", memento.IfSHA256(old.SHA256)))
	e.refused(memento.ErrExist, "/a", move("/a", memento.IfAbsent()))
	e.refused(memento.ErrConflict, "/missing", move("/missing", memento.IfVersion(v.ID)))
	e.refused(memento.ErrIsDir, "/dir", move("/dir", memento.IfVersion(v.ID)))
	// The condition is about the memory, not about the destination.
	e.refused(memento.ErrConflict, "/a", memento.Move{From: "/a", To: "/b", If: memento.IfVersion(old.ID)})
	moved := e.apply(move("/a", memento.IfVersion(v.ID)))
	e.apply(memento.Move{From: "/moved", To: "/a", If: memento.IfSHA256(v.SHA256)})
	e.refused(memento.ErrConflict, "/a", move("/a", memento.IfVersion(moved[0].ID)))
}

// oneWinner lets many callers make a change of which only one can happen.
func oneWinner(e *env) {
	const racers = 16
	v := e.put("/version", "old")
	e.put("/hash", "old")
	r := e.put("/remove", "old")
	m := e.put("/move", "old")
	for i := range racers {
		e.put(memento.Path(fmt.Sprintf("/source/%d", i)), fmt.Sprint(i))
	}
	tests := []struct {
		name   string
		change func(racer int) memento.Change
		loses  error
	}{
		{"absent", func(n int) memento.Change {
			return memento.Put{Path: "/absent", Content: fmt.Sprint(n), If: memento.IfAbsent()}
		}, memento.ErrExist},
		{"version", func(n int) memento.Change {
			return memento.Put{Path: "/version", Content: fmt.Sprint(n), If: memento.IfVersion(v.ID)}
		}, memento.ErrConflict},
		{"hash", func(n int) memento.Change {
			return memento.Put{Path: "/hash", Content: fmt.Sprint(n), If: memento.IfSHA256(memento.HashContent("old"))}
		}, memento.ErrConflict},
		{"remove", func(int) memento.Change { return memento.Remove{Path: "/remove", If: memento.IfVersion(r.ID)} }, memento.ErrConflict},
		{"move", func(n int) memento.Change {
			return memento.Move{From: "/move", To: memento.Path(fmt.Sprintf("/moved/%d", n)), If: memento.IfVersion(m.ID)}
		}, memento.ErrConflict},
		{"destination", func(n int) memento.Change {
			return memento.Move{From: memento.Path(fmt.Sprintf("/source/%d", n)), To: "/destination"}
		}, memento.ErrExist},
	}
	handles := []memento.Backend{e.b, e.another()}
	for _, test := range tests {
		before := len(e.versions(memento.VersionListOptions{}))
		var won atomic.Int32
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i := range racers {
			wg.Go(func() {
				<-start
				_, err := handles[i%2].Apply(e.Context(), e.store, e.by, []memento.Change{test.change(i)})
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, test.loses):
					e.Errorf("%s: %v, want %v", test.name, err, test.loses)
				}
			})
		}
		close(start)
		wg.Wait()
		if won.Load() != 1 {
			e.Errorf("%s: %d of %d won", test.name, won.Load(), racers)
		}
		if got := len(e.versions(memento.VersionListOptions{})) - before; got != 1 {
			e.Errorf("%s: %d versions, want 1", test.name, got)
		}
	}

	// All callers that write the same succeed, but only the first creates a version.
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			if _, err := handles[i%2].Apply(e.Context(), e.store, e.by, []memento.Change{memento.Put{Path: "/same", Content: "x"}}); err != nil {
				e.Error(err)
			}
		})
	}
	wg.Wait()
	if got := e.versions(memento.VersionListOptions{Path: "/same"}); len(got) != 1 {
		e.Errorf("the same contents made %d versions", len(got))
	}
}
