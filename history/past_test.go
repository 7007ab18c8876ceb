package history_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
	"memento/history"
	"memento/test/memories"
)

// contents returns the memories of a store by path.
func (l *timeline) contents() map[memento.Path]string {
	l.t.Helper()
	found := map[memento.Path]string{}
	for e, err := range l.List(l.t.Context(), memento.ListOptions{Contents: true}) {
		if err != nil {
			l.t.Fatal(err)
		}
		found[e.Path] = e.Memory.Content
	}
	return found
}

// The last change of one memory is undone, whatever it was, and once more redone.
func TestUndoLast(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change memento.Change
		path   memento.Path // to undo
		after  map[memento.Path]string
	}{
		{"modified", memento.Put{Path: "/a.md", Content: "two"}, "/a.md", map[memento.Path]string{"/a.md": "two", "/x.md": "x"}},
		{"removed", memento.Remove{Path: "/a.md"}, "/a.md", map[memento.Path]string{"/x.md": "x"}},
		{"renamed", memento.Move{From: "/a.md", To: "/d/b.md"}, "/d/b.md", map[memento.Path]string{"/d/b.md": "one", "/x.md": "x"}},
		{"renamed, by its old name", memento.Move{From: "/a.md", To: "/d/b.md"}, "/a.md", map[memento.Path]string{"/d/b.md": "one", "/x.md": "x"}},
		{"renamed and modified", memento.Move{From: "/a.md", To: "/b.md", Content: new("two")}, "/b.md", map[memento.Path]string{"/b.md": "two", "/x.md": "x"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newTimeline(t)
			l.put("/a.md", "one")
			l.put("/x.md", "x")
			before := l.contents()
			l.do(tt.change)
			if diff := cmp.Diff(tt.after, l.contents()); diff != "" {
				t.Fatal(diff)
			}
			dry, err := history.UndoLast(t.Context(), l.Store, nobody, tt.path, true)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, l.contents()); diff != "" {
				t.Errorf("a dry run has changed the store: %s", diff)
			}
			done, err := history.UndoLast(t.Context(), l.Store, nobody, tt.path, false)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(dry, done); diff != "" {
				t.Errorf("the dry run said otherwise: %s", diff)
			}
			if diff := cmp.Diff(before, l.contents()); diff != "" {
				t.Errorf("undone: %s", diff)
			}
			if _, err := history.UndoLast(t.Context(), l.Store, nobody, "/a.md", false); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, l.contents()); diff != "" {
				t.Errorf("redone: %s", diff)
			}
		})
	}
}

func TestUndoLastRefused(t *testing.T) {
	l := newTimeline(t)
	l.put("/d/a.md", "one")
	if _, err := history.UndoLast(t.Context(), l.Store, nobody, "/none.md", false); !errors.Is(err, memento.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
	if _, err := history.UndoLast(t.Context(), l.Store, nobody, "/d", false); !errors.Is(err, memento.ErrIsDir) {
		t.Errorf("of a directory: %v", err)
	}
	l.put("/d/a.md", "two")
	l.redactOldest("/d/a.md")
	if _, err := history.UndoLast(t.Context(), l.Store, nobody, "/d/a.md", false); !errors.Is(err, memento.ErrInvalid) {
		t.Errorf("of a redacted version: %v", err)
	}
	l.put("/b.md", "one")
	l.do(memento.Move{From: "/b.md", To: "/c.md"})
	l.put("/b.md", "another")
	if _, err := history.UndoLast(t.Context(), l.Store, nobody, "/c.md", false); !errors.Is(err, memento.ErrExist) {
		t.Errorf("to a path that is taken: %v", err)
	}
	// The first version of a memory is undone by removing it.
	if r, err := history.UndoLast(t.Context(), l.Store, nobody, "/b.md", false); err != nil || len(r.Removed) != 1 {
		t.Errorf("of a creation: %+v, %v", r, err)
	}
	if want := map[memento.Path]string{"/c.md": "one", "/d/a.md": "two"}; !cmp.Equal(want, l.contents()) {
		t.Errorf("%v", l.contents())
	}
}

// A part of a store is restored, and the rest stays.
func TestRestorePathAsOf(t *testing.T) {
	l := newTimeline(t)
	l.put("/a.md", "one")
	l.put("/d/b.md", "one")
	then := l.put("/d/e/c.md", "one")
	l.put("/a.md", "two")
	l.put("/d/b.md", "two")
	l.put("/d/new.md", "two")
	l.do(memento.Move{From: "/d/e/c.md", To: "/moved.md"})
	restore := func(p memento.Path, want map[memento.Path]string) {
		t.Helper()
		if _, err := history.RestorePathAsOf(t.Context(), l.Store, nobody, p, then, false); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, l.contents()); diff != "" {
			t.Errorf("restored %s: %s", p, diff)
		}
	}
	restore("/d/b.md", map[memento.Path]string{"/a.md": "two", "/d/b.md": "one", "/d/new.md": "two", "/moved.md": "one"})
	restore("/d", map[memento.Path]string{"/a.md": "two", "/d/b.md": "one", "/d/e/c.md": "one", "/moved.md": "one"})
	restore("/", map[memento.Path]string{"/a.md": "one", "/d/b.md": "one", "/d/e/c.md": "one"})
	if _, err := history.RestorePathAsOf(t.Context(), l.Store, nobody, "/none", then, false); !errors.Is(err, memento.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
}

// A snapshot has the paths and the contents that the store had.
func TestAsOf(t *testing.T) {
	l := newTimeline(t)
	random := rand.New(rand.NewPCG(1, 2))
	states := map[int]map[memento.Path]string{}
	for i := range 60 {
		p := memento.Path(fmt.Sprintf("/d%d/%d.md", random.IntN(3), random.IntN(3)))
		_, err := l.Get(t.Context(), memento.ByPath(p))
		if err != nil || random.IntN(3) == 0 {
			l.put(p, fmt.Sprint(i))
		} else if to := memento.Path(fmt.Sprintf("/m/%d", i)); random.IntN(2) == 0 {
			l.do(memento.Move{From: p, To: to})
		} else {
			l.do(memento.Remove{Path: p})
		}
		states[i] = l.contents()
	}
	for i, want := range states {
		past, err := history.AsOf(t.Context(), l.Store, l.at.Add(-time.Duration(60-i)*time.Hour))
		if err != nil || past.Lost != 0 {
			t.Fatalf("%+v, %v", past, err)
		}
		got := map[memento.Path]string{}
		for _, v := range past.Versions(memento.Root) {
			full, err := past.Get(t.Context(), v.Path)
			if err != nil {
				t.Fatal(err)
			}
			got[v.Path] = full.Content
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after change %d: %s", i, diff)
		}
	}
	past, err := history.AsOf(t.Context(), l.Store, l.at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := past.Get(t.Context(), "/m"); !errors.Is(err, memento.ErrIsDir) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := past.Get(t.Context(), "/none"); !errors.Is(err, memento.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
}

// Renames are found in any part of a history, as the whole history shows them.
func TestRenamedFrom(t *testing.T) {
	l := newTimeline(t)
	random := rand.New(rand.NewPCG(3, 4))
	paths := []memento.Path{"/a", "/b", "/c"}
	for _, p := range paths {
		l.put(p, "one")
	}
	for i := range 80 {
		j := random.IntN(len(paths))
		switch random.IntN(3) {
		case 0:
			l.put(paths[j], fmt.Sprint(i))
		default:
			to := memento.Path(fmt.Sprintf("/r%d", i%7))
			if _, err := l.Get(t.Context(), memento.ByPath(to)); err == nil {
				l.do(memento.Remove{Path: paths[j]})
				l.put(paths[j], "again")
				continue
			}
			l.do(memento.Move{From: paths[j], To: to})
			paths[j] = to
		}
	}
	all := memories.Versions(t, l.Store, memento.VersionListOptions{})
	want := map[memento.VersionID]memento.Path{}
	last := map[memento.MemoryID]memento.Path{}
	for i := range all { // oldest first, or the reverse: by Seq
		v := all[i]
		if all[0].Seq > all[len(all)-1].Seq {
			v = all[len(all)-1-i]
		}
		if before := last[v.Memory]; v.Operation == memento.Modified && before != v.Path {
			want[v.ID] = before
		}
		last[v.Memory] = v.Path
	}
	if len(want) < 20 {
		t.Fatalf("only %d renames", len(want))
	}
	for _, opts := range []memento.VersionListOptions{
		{}, {OldestFirst: true}, {Limit: 7}, {Limit: 9, After: 40}, {Memory: all[len(all)/2].Memory}, {Memory: all[5].Memory, Limit: 3},
		{Path: "/r1"}, {Operation: memento.Modified, Limit: 11}, {CreatedFrom: l.at.Add(-30 * time.Hour)}, {CreatedBy: nobody, Limit: 20},
		{CreatedTo: l.at.Add(-30 * time.Hour), Limit: 10},
	} {
		some := memories.Versions(t, l.Store, opts)
		got, err := history.RenamedFrom(t.Context(), l.Store, opts, some)
		if err != nil {
			t.Fatal(err)
		}
		expected := map[memento.VersionID]memento.Path{}
		for _, v := range some {
			if p, ok := want[v.ID]; ok {
				expected[v.ID] = p
			}
		}
		if opts.Path == "" && len(some) > 8 && len(expected) == 0 {
			t.Errorf("%+v: nothing to find", opts)
		}
		for id := range got { // other versions that were read on the way may be there, too
			if want[id] != got[id] {
				t.Errorf("%+v: %s was renamed from %s, want %s", opts, id, got[id], want[id])
			}
		}
		for id, p := range expected {
			if got[id] != p {
				t.Errorf("%+v: %s was renamed from %q, want %s", opts, id, got[id], p)
			}
		}
	}
}
