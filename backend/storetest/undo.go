package storetest

import (
	"testing"
	"time"

	"memento"
	"memento/history"
)

// undo tests [history.Undo] on a backend: the changes of one key are undone, those of
// others stay.
func undo(t *testing.T, h Harness) {
	h.run(t, "by key", func(e *env) {
		e.undoes(history.UndoOptions{By: memento.Actor{Key: "apikey_bad"}})
	})
	h.run(t, "by actor", func(e *env) {
		e.undoes(history.UndoOptions{By: memento.Actor{Kind: memento.ActorSession, ID: "sesn_bad"}})
	})
}

func (e *env) undoes(opts history.UndoOptions) {
	e.Helper()
	bad := memento.Actor{Kind: memento.ActorSession, ID: "sesn_bad", Key: "apikey_bad"}
	put := func(p memento.Path, text string) memento.Change { return memento.Put{Path: p, Content: text} }
	by := func(actor memento.Actor, changes ...memento.Change) memento.Applied {
		e.Helper()
		done, err := e.b.Apply(e.Context(), e.store, actor, changes)
		if err != nil {
			e.Fatal(err)
		}
		return done
	}
	by(bad, put("/before", "by the same, but earlier\n"))
	time.Sleep(2 * time.Millisecond)
	made := by(e.by, put("/a", "1\n2\n"), put("/d/b", "3\n"), put("/d/c", "4\n"), put("/e", "5\n"), put("/f", "6\n"))
	opts.Since = made.Versions[0].CreatedAt
	time.Sleep(2 * time.Millisecond)
	by(bad, put("/a", "1\nbad\n2\n"), memento.Move{From: "/d", To: "/x"}, put("/new", "bad\n"), memento.Remove{Path: "/e"}, put("/f", "bad\n"))
	by(e.by, put("/a", "1\nbad\n2\n3\n"), put("/f", "good\n"))
	by(bad, memento.Remove{Path: "/x/c"}, put("/a", "1\nworse\n2\n3\n"))

	s, err := memento.OpenStore(e.Context(), e.b, workspace, e.store, nil)
	if err != nil {
		e.Fatal(err)
	}
	want := map[memento.Path]string{
		"/before": "by the same, but earlier\n", "/a": "1\n2\n3\n", "/d/b": "3\n", "/d/c": "4\n", "/e": "5\n", "/f": "good\n",
	}
	for i := range 2 {
		u, err := history.Undo(e.Context(), s, e.by, opts)
		if err != nil {
			e.Fatal(err)
		}
		if len(u.Conflicts) != 1 || u.Conflicts[0].Path != "/f" || u.Conflicts[0].Reason != history.UndoEdited || len(u.Changes) != 5*(1-i) {
			e.Errorf("undo %d: %+v", i+1, u)
		}
		e.holds(want)
		e.reopen()
		if s, err = memento.OpenStore(e.Context(), e.b, workspace, e.store, nil); err != nil {
			e.Fatal(err)
		}
	}
	if newest := e.versions(memento.VersionListOptions{Limit: 1})[0]; newest.CreatedBy != e.by {
		e.Errorf("the newest version is by %+v", newest.CreatedBy)
	}
}
