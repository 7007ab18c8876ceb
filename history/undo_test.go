package history_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
	"memento/backend/memstore"
	"memento/history"
	"memento/sensitive"
	"memento/test/memories"
)

var (
	mallory = memento.Actor{Kind: memento.ActorSession, ID: "sesn_mallory"}
	bob     = memento.Actor{Kind: memento.ActorSession, ID: "sesn_bob"}
	carol   = memento.Actor{Kind: memento.ActorUser, ID: "carol"} // who undoes
)

// by makes changes as one, as somebody, and an hour passes.
func (l *timeline) by(who memento.Actor, changes ...memento.Change) []memento.Version {
	l.t.Helper()
	r, err := l.Apply(l.t.Context(), who, changes...)
	if err != nil {
		l.t.Fatal(err)
	}
	l.at = l.at.Add(time.Hour)
	return r.Versions
}

func (l *timeline) state() map[memento.Path]string {
	l.t.Helper()
	state := map[memento.Path]string{}
	for e, err := range l.List(l.t.Context(), memento.ListOptions{Contents: true}) {
		if err != nil {
			l.t.Fatal(err)
		}
		state[e.Path] = e.Memory.Content
	}
	return state
}

func (l *timeline) undo(opts history.UndoOptions) history.Undone {
	l.t.Helper()
	u, err := history.Undo(l.t.Context(), l.Store, carol, opts)
	if err != nil {
		l.t.Fatal(err)
	}
	l.at = l.at.Add(time.Hour)
	return u
}

// told is an Undone in short, such as "revert /a+" for one that was merged.
func told(u history.Undone) (list []string) {
	for _, c := range u.Changes {
		text := fmt.Sprint(c.Action, " ", c.Path)
		if c.From != "" {
			text += " from " + string(c.From)
		}
		if c.Merged {
			text += " merged"
		}
		list = append(list, text)
	}
	for _, c := range u.Conflicts {
		list = append(list, fmt.Sprint(c.Reason, " ", c.Path))
	}
	return list
}

type step struct {
	by      memento.Actor
	changes []memento.Change
}

func TestUndo(t *testing.T) {
	type state = map[memento.Path]string
	put := func(p memento.Path, text string) memento.Change { return memento.Put{Path: p, Content: text} }
	move := func(from, to memento.Path) memento.Change { return memento.Move{From: from, To: to} }
	remove := func(p memento.Path) memento.Change { return memento.Remove{Path: p} }
	as := func(who memento.Actor, changes ...memento.Change) step { return step{who, changes} }
	for _, tt := range []struct {
		name  string
		steps []step
		want  state
		told  []string
	}{
		{"nothing", []step{as(bob, put("/a", "1\n"))}, state{"/a": "1\n"}, nil},
		{"an edit", []step{as(bob, put("/a", "1\n")), as(mallory, put("/a", "2\n")), as(mallory, put("/a", "3\n"))},
			state{"/a": "1\n"}, []string{"revert /a"}},
		{"made", []step{as(mallory, put("/a", "1\n")), as(mallory, put("/a", "2\n"))}, state{}, []string{"remove /a"}},
		{"made and removed", []step{as(mallory, put("/a", "1\n")), as(mallory, remove("/a"))}, state{}, nil},
		{"removed", []step{as(bob, put("/d/a", "1\n"), put("/d/b", "2\n")), as(mallory, put("/d/a", "x")), as(mallory, remove("/d"))},
			state{"/d/a": "1\n", "/d/b": "2\n"}, []string{"restore /d/a", "restore /d/b"}},
		{"renamed", []step{as(bob, put("/d/a", "1\n"), put("/d/b", "2\n")), as(mallory, move("/d", "/e")), as(mallory, put("/e/a", "x"))},
			state{"/d/a": "1\n", "/d/b": "2\n"}, []string{"revert /d/a from /e/a", "rename /d/b from /e/b"}},
		{"renamed, and removed", []step{as(bob, put("/a", "1\n")), as(mallory, move("/a", "/b")), as(mallory, remove("/b"))},
			state{"/a": "1\n"}, []string{"restore /a"}},
		{"there and back", []step{as(bob, put("/a", "1\n")), as(mallory, put("/a", "2\n")), as(mallory, put("/a", "1\n"))},
			state{"/a": "1\n"}, nil},
		{"replaced by another", []step{as(bob, put("/a", "1\n")), as(mallory, remove("/a")), as(mallory, put("/a", "2\n"))},
			state{"/a": "1\n"}, []string{"remove /a", "restore /a"}},
		{"a file in place of a directory", []step{as(bob, put("/d/a", "1\n")), as(mallory, remove("/d/a"), put("/d", "x"))},
			state{"/d/a": "1\n"}, []string{"remove /d", "restore /d/a"}},
		{"swapped", []step{as(bob, put("/a", "1\n"), put("/b", "2\n"), put("/c", "3\n")),
			as(mallory, move("/a", "/t"), move("/b", "/a"), move("/c", "/b"), move("/t", "/c"))},
			state{"/a": "1\n", "/b": "2\n", "/c": "3\n"}, []string{"rename /a from /c", "rename /b from /a", "rename /c from /b"}},
		{"below itself", []step{as(bob, put("/a", "1\n")), as(mallory, move("/a", "/t"), move("/t", "/a/b"))},
			state{"/a": "1\n"}, []string{"rename /a from /a/b"}},
		{"a chain", []step{as(bob, put("/a", "1\n"), put("/b", "2\n")), as(mallory, move("/b", "/c"), move("/a", "/b"))},
			state{"/a": "1\n", "/b": "2\n"}, []string{"rename /a from /b", "rename /b from /c"}},

		{"others append", []step{as(bob, put("/a", "1\n2\n")), as(mallory, put("/a", "1\nbad\n")), as(bob, put("/a", "1\nbad\n3\n"))},
			state{"/a": "1\n2\n3\n"}, []string{"revert /a merged"}},
		{"in turns", []step{as(bob, put("/a", "1\n")), as(mallory, put("/a", "1\nbad\n")), as(bob, put("/a", "0\n1\nbad\n")),
			as(mallory, put("/a", "0\n1\nbad\nworse\n")), as(bob, put("/a", "0\n1\nbad\nworse\n2\n"))},
			state{"/a": "0\n1\n2\n"}, []string{"revert /a merged"}},
		{"others have edited the line", []step{as(bob, put("/a", "1\n2\n")), as(mallory, put("/a", "1\nbad\n")), as(bob, put("/a", "1\nbad!\n"))},
			state{"/a": "1\nbad!\n"}, []string{"edited /a"}},
		{"others have brought it back", []step{as(bob, put("/a", "1\n")), as(mallory, put("/a", "bad\n")), as(bob, put("/a", "1\n")), as(bob, put("/a", "1\n2\n"))},
			state{"/a": "1\n2\n"}, nil},
		{"… after a vain try", []step{as(bob, put("/a", "1\n")), as(mallory, put("/a", "bad\n")), as(bob, put("/a", "good\n")), as(bob, put("/a", "1\n"))},
			state{"/a": "1\n"}, nil},
		{"others have removed it", []step{as(bob, put("/a", "1\n")), as(mallory, put("/a", "bad\n")), as(bob, remove("/a"))}, state{}, nil},
		{"others have renamed it", []step{as(bob, put("/a", "1\n")), as(mallory, put("/a", "bad\n")), as(bob, move("/a", "/b"))},
			state{"/b": "1\n"}, []string{"revert /b"}},
		{"renamed by both", []step{as(bob, put("/a", "1\n")), as(mallory, move("/a", "/bad")), as(bob, move("/bad", "/c"))}, state{"/c": "1\n"}, nil},
		{"renamed, and edited by others", []step{as(bob, put("/a", "1\n")), as(mallory, move("/a", "/bad")), as(bob, put("/bad", "1\n2\n"))},
			state{"/a": "1\n2\n"}, []string{"rename /a from /bad merged"}},
		{"made, and edited by others", []step{as(mallory, put("/a", "bad\n")), as(bob, put("/a", "bad\ngood\n"))},
			state{"/a": "good\n"}, []string{"revert /a merged"}},
		{"made, and renamed by others", []step{as(mallory, put("/a", "bad\n")), as(bob, move("/a", "/b"))}, state{}, []string{"remove /b"}},
		{"removed, after others had edited it", []step{as(bob, put("/a", "1\n")), as(mallory, put("/a", "bad\n1\n")), as(bob, put("/a", "bad\n1\n2\n")), as(mallory, remove("/a"))},
			state{"/a": "1\n2\n"}, []string{"restore /a merged"}},
		{"emptied, and written to by others", []step{as(bob, put("/a", "1\n2\n")), as(mallory, put("/a", "")), as(bob, put("/a", "3\n"))},
			state{"/a": "1\n2\n3\n"}, []string{"revert /a merged"}},

		{"the path has another", []step{as(bob, put("/a", "1\n")), as(mallory, remove("/a")), as(bob, put("/a", "2\n"))}, state{"/a": "2\n"}, []string{"occupied /a"}},
		{"the path has become a directory", []step{as(bob, put("/a", "1\n")), as(mallory, move("/a", "/b")), as(bob, put("/a/x", "2\n"))},
			state{"/b": "1\n", "/a/x": "2\n"}, []string{"occupied /b"}},
		{"the path leads through another", []step{as(bob, put("/d/a", "1\n"), put("/z", "z")), as(mallory, remove("/d/a"), put("/z", "bad")), as(bob, put("/d", "2\n"))},
			state{"/d": "2\n", "/z": "z"}, []string{"revert /z", "occupied /d/a"}},
		{"one in the way of the next", []step{as(bob, put("/a", "1\n"), put("/b", "2\n")),
			as(mallory, move("/a", "/x"), move("/b", "/a")), as(bob, put("/b", "3\n"))},
			state{"/x": "1\n", "/a": "2\n", "/b": "3\n"}, []string{"occupied /a", "occupied /x"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newTimeline(t)
			for _, s := range tt.steps {
				l.by(s.by, s.changes...)
			}
			opts := history.UndoOptions{By: mallory}
			before := l.state()
			opts.DryRun = true
			if diff := cmp.Diff(tt.told, told(l.undo(opts))); diff != "" {
				t.Error("dry run (-want +got):\n" + diff)
			}
			if diff := cmp.Diff(before, l.state()); diff != "" {
				t.Error("a dry run has changed (-want +got):\n" + diff)
			}
			opts.DryRun = false
			if diff := cmp.Diff(tt.told, told(l.undo(opts))); diff != "" {
				t.Error("undone (-want +got):\n" + diff)
			}
			if diff := cmp.Diff(tt.want, l.state()); diff != "" {
				t.Error("state (-want +got):\n" + diff)
			}
			// Again it does nothing, and reports the same conflicts.
			n := len(memories.Versions(t, l.Store, memento.VersionListOptions{}))
			if u := l.undo(opts); len(u.Changes) > 0 || len(memories.Versions(t, l.Store, memento.VersionListOptions{})) != n {
				t.Errorf("again: %q", told(u))
			}
			if diff := cmp.Diff(tt.want, l.state()); diff != "" {
				t.Error("state after a second undo (-want +got):\n" + diff)
			}
			// It is in the history as carol's, and can be undone itself.
			if u := l.undo(history.UndoOptions{By: carol}); len(u.Conflicts) > 0 {
				t.Errorf("undoing the undo: %q", told(u))
			}
			if diff := cmp.Diff(before, l.state()); diff != "" {
				t.Error("state after undoing the undo (-want +got):\n" + diff)
			}
		})
	}
}

// What an undo says names the versions that it is about.
func TestUndoVersions(t *testing.T) {
	l := newTimeline(t)
	made := l.by(bob, memento.Put{Path: "/a", Content: "1\n"}, memento.Put{Path: "/b", Content: "1\n"})
	bad := l.by(mallory, memento.Put{Path: "/a", Content: "bad\n"}, memento.Move{From: "/b", To: "/c"})
	good := l.by(bob, memento.Put{Path: "/a", Content: "good\n"}, memento.Put{Path: "/b", Content: "new"})
	u := l.undo(history.UndoOptions{By: mallory})
	want := history.Undone{Conflicts: []history.UndoConflict{
		{Memory: made[0].Memory, Path: "/a", Reason: history.UndoEdited, Versions: []memento.VersionID{bad[0].ID}, Others: []memento.VersionID{good[0].ID}},
		{Memory: made[1].Memory, Path: "/c", Reason: history.UndoOccupied, Versions: []memento.VersionID{bad[1].ID}, Others: []memento.VersionID{good[1].ID}},
	}}
	if diff := cmp.Diff(want, u); diff != "" {
		t.Error("-want +got:\n" + diff)
	}
}

// Only what is in the span of time is undone, and only what the named one did.
func TestUndoChooses(t *testing.T) {
	key := memento.KeyID("apikey_1")
	with := func(a memento.Actor, k memento.KeyID) memento.Actor { a.Key = k; return a }
	for _, tt := range []struct {
		name string
		opts history.UndoOptions
		want []string
	}{
		{"an actor", history.UndoOptions{By: bob}, []string{"remove /bob", "remove /bob-1", "remove /bob-2"}},
		{"a key", history.UndoOptions{By: memento.Actor{Key: key}}, []string{"remove /bob-1", "remove /key", "remove /mallory-1"}},
		{"an actor with a key", history.UndoOptions{By: with(bob, key)}, []string{"remove /bob-1"}},
		{"since", history.UndoOptions{By: bob, Since: time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC)}, []string{"remove /bob-2"}},
		{"until", history.UndoOptions{By: bob, Until: time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)}, []string{"remove /bob", "remove /bob-1"}},
	} {
		l := newTimeline(t)
		for _, made := range []struct {
			p  memento.Path
			by memento.Actor
		}{
			{"/bob", bob}, {"/bob-1", with(bob, key)}, {"/bob-2", with(bob, "apikey_2")},
			{"/mallory-1", with(mallory, key)}, {"/key", memento.Actor{Kind: memento.ActorAPIKey, ID: string(key)}}, {"/user", memento.Actor{Kind: memento.ActorUser, ID: bob.ID}},
		} {
			l.by(made.by, memento.Put{Path: made.p, Content: "x"})
		}
		if diff := cmp.Diff(tt.want, told(l.undo(tt.opts))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	l := newTimeline(t)
	l.by(bob, memento.Put{Path: "/a", Content: "x"})
	for _, opts := range []history.UndoOptions{
		{}, {By: memento.Actor{Kind: memento.ActorSession}}, {By: memento.Actor{ID: "x"}}, {By: memento.Actor{Kind: memento.ActorUser, Key: key}},
		{By: bob, Since: l.at, Until: l.at.Add(-time.Second)},
	} {
		if _, err := history.Undo(t.Context(), l.Store, carol, opts); !errors.Is(err, memento.ErrInvalid) {
			t.Errorf("%+v: %v", opts, err)
		}
	}
}

// What was there before and is not known any more cannot come back.
func TestUndoLost(t *testing.T) {
	for name, lose := range map[string]func(*timeline){
		"redacted": func(l *timeline) { l.redactOldest("/a") },
		"pruned": func(l *timeline) {
			id, err := l.ID(l.t.Context())
			if err != nil {
				l.t.Fatal(err)
			}
			if _, err := l.b.Prune(l.t.Context(), id, memento.PruneOptions{Before: l.at, Keep: 1}); err != nil {
				l.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newTimeline(t)
			l.by(bob, memento.Put{Path: "/a", Content: "1\n"})
			l.by(mallory, memento.Put{Path: "/a", Content: "bad\n"}, memento.Put{Path: "/b", Content: "bad\n"})
			lose(l)
			if diff := cmp.Diff([]string{"remove /b", "lost /a"}, told(l.undo(history.UndoOptions{By: mallory}))); diff != "" {
				t.Error("-want +got:\n" + diff)
			}
			if diff := cmp.Diff(map[memento.Path]string{"/a": "bad\n"}, l.state()); diff != "" {
				t.Error("state (-want +got):\n" + diff)
			}
		})
	}
}

// Others' redacted versions do no harm, unless mallory's began with them.
func TestUndoRedactedBetween(t *testing.T) {
	for _, tt := range []struct {
		name   string
		redact int // of the versions below
		want   []string
		state  string
	}{
		{"others'", 2, []string{"revert /a merged"}, "1\n2\n3\n"},
		{"the undone", 1, []string{"lost /a"}, "1\nbad\n2\n3\n"},
	} {
		l := newTimeline(t)
		l.by(bob, memento.Put{Path: "/a", Content: "1\n"})
		l.by(mallory, memento.Put{Path: "/a", Content: "1\nbad\n"})
		l.by(bob, memento.Put{Path: "/a", Content: "1\nbad\n2\n"})
		l.by(bob, memento.Put{Path: "/a", Content: "1\nbad\n2\n3\n"})
		if _, err := l.Redact(t.Context(), memories.Versions(t, l.Store, memento.VersionListOptions{})[tt.redact].ID, bob); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, told(l.undo(history.UndoOptions{By: mallory}))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if got := l.state()["/a"]; got != tt.state {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.state)
		}
	}
}

// What the store's settings make read-only stays, and is reported.
func TestUndoProtected(t *testing.T) {
	l := newTimeline(t)
	l.by(bob, memento.Put{Path: "/a", Content: "1\n"}, memento.Put{Path: "/p/a", Content: "1\n"})
	l.by(mallory, memento.Put{Path: "/a", Content: "bad\n"}, memento.Put{Path: "/p/a", Content: "bad\n"}, memento.Put{Path: "/p/b", Content: "bad\n"})
	info, err := l.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	info.Settings.ReadOnly = []memento.Pattern{"/p/**"}
	if _, err := l.b.UpdateStore(t.Context(), workspace, info.ID, memento.StoreUpdate{Settings: &info.Settings}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"revert /a", "protected /p/a", "protected /p/b"}, told(l.undo(history.UndoOptions{By: mallory}))); diff != "" {
		t.Error("-want +got:\n" + diff)
	}
	if diff := cmp.Diff(map[memento.Path]string{"/a": "1\n", "/p/a": "bad\n", "/p/b": "bad\n"}, l.state()); diff != "" {
		t.Error("state (-want +got):\n" + diff)
	}
}

// Secrets that were written before the settings asked for masking do not come
// back.
func TestUndoMasks(t *testing.T) {
	const secret = "token: ghp_1dE9Kx0aVq3TzY7mWnB5cRfU8sLpHj2QoG4i\n"
	b := memstore.New(nil)
	off := memento.DefaultSettings()
	off.Sensitive.Mode = memento.Off
	s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes", Settings: &off}, &memento.StoreOptions{Detector: sensitive.Default()})
	ctx := t.Context()
	apply := func(by memento.Actor, changes ...memento.Change) {
		t.Helper()
		if _, err := s.Apply(ctx, by, changes...); err != nil {
			t.Fatal(err)
		}
	}
	apply(bob, memento.Put{Path: "/a", Content: secret}, memento.Put{Path: "/b", Content: secret})
	apply(mallory, memento.Put{Path: "/a", Content: "bad\n"}, memento.Remove{Path: "/b"})
	id, err := s.ID(ctx)
	if err != nil {
		t.Fatal(err)
	}
	set := func(m memento.SensitiveMode) {
		t.Helper()
		settings := memento.DefaultSettings()
		settings.Sensitive.Mode = m
		if _, err := b.UpdateStore(ctx, workspace, id, memento.StoreUpdate{Settings: &settings}); err != nil {
			t.Fatal(err)
		}
	}
	set(memento.Reject)
	u, err := history.Undo(ctx, s, carol, history.UndoOptions{By: mallory})
	if diff := cmp.Diff([]string{"sensitive /a", "sensitive /b"}, told(u)); err != nil || diff != "" {
		t.Fatalf("%v, -want +got:\n%s", err, diff)
	}
	set(memento.Mask)
	for i, want := range [][]string{{"revert /a", "restore /b"}, nil} {
		u, err = history.Undo(ctx, s, carol, history.UndoOptions{By: mallory})
		if diff := cmp.Diff(want, told(u)); err != nil || diff != "" || len(u.Masked) != len(want) {
			t.Fatalf("%d: %v, masked %+v, -want +got:\n%s", i, err, u.Masked, diff)
		}
	}
	for _, p := range []memento.Path{"/a", "/b"} {
		if m, err := s.Get(ctx, memento.ByPath(p)); err != nil || !strings.Contains(m.Content, "[REDACTED:") {
			t.Errorf("%s: %q, %v", p, m.Content, err)
		}
	}
}

// A larger store than one change takes is undone in parts.
func TestUndoMany(t *testing.T) {
	l := newTimeline(t)
	const n = 6000
	var puts, edits []memento.Change
	for i := range n {
		p := memento.Path(fmt.Sprintf("/d/%d", i))
		puts = append(puts, memento.Put{Path: p, Content: "good\n"})
		edits = append(edits, memento.Put{Path: p, Content: "bad\n"})
	}
	l.by(bob, puts...)
	l.by(mallory, edits...)
	l.by(mallory, memento.Move{From: "/d", To: "/e"})
	if u := l.undo(history.UndoOptions{By: mallory}); len(u.Changes) != n || len(u.Conflicts) > 0 {
		t.Fatalf("%d changes, %d conflicts", len(u.Changes), len(u.Conflicts))
	}
	for p, text := range l.state() {
		if text != "good\n" || !strings.HasPrefix(string(p), "/d/") {
			t.Fatalf("%s is %q", p, text)
		}
	}
}

// Of random histories, the undo leaves what others alone would have made, if they
// touch what is theirs only.
func TestUndoModel(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		l, want := newTimeline(t), newTimeline(t)
		// Each memory has lines of bob's and of mallory's, at random.
		texts := map[memento.Path][][2]string{} // lines, and whose they are
		write := func(p memento.Path, who memento.Actor) {
			lines := texts[p]
			owner := who.ID
			var mine []int
			for i, line := range lines {
				if line[1] == owner {
					mine = append(mine, i)
				}
			}
			switch line := [2]string{fmt.Sprint(owner, " ", rng.IntN(1e9)), owner}; {
			case len(mine) > 0 && rng.IntN(3) == 0:
				i := mine[rng.IntN(len(mine))]
				lines = slices.Delete(slices.Clone(lines), i, i+1)
			case len(mine) > 0 && rng.IntN(2) == 0:
				lines = slices.Clone(lines)
				lines[mine[rng.IntN(len(mine))]] = line
			default:
				lines = slices.Insert(slices.Clone(lines), rng.IntN(len(lines)+1), line)
			}
			texts[p] = lines
			all, bobs := "", ""
			for _, line := range lines {
				all += line[0] + "\n"
				if line[1] == bob.ID {
					bobs += line[0] + "\n"
				}
			}
			l.by(who, memento.Put{Path: p, Content: all})
			if who == bob {
				want.by(bob, memento.Put{Path: p, Content: bobs})
			}
		}
		for i := range 3 {
			write(memento.Path(fmt.Sprintf("/%d", i)), bob)
		}
		for range 30 {
			who := mallory
			if rng.IntN(2) == 0 {
				who = bob
			}
			write(memento.Path(fmt.Sprintf("/%d", rng.IntN(3))), who)
		}
		u := l.undo(history.UndoOptions{By: mallory})
		if len(u.Conflicts) > 0 {
			t.Fatalf("seed %d: %q", seed, told(u))
		}
		got := l.state()
		for p, text := range want.state() {
			if sortedLines(got[p]) != sortedLines(text) {
				t.Fatalf("seed %d: %s is %q, want %q", seed, p, got[p], text)
			}
		}
	}
}

func sortedLines(text string) string {
	lines := strings.SplitAfter(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// Others who write without a pause while an undo goes on lose nothing, and it comes to an
// end: with all that it has to do if they write through the same Store, and otherwise at
// the latest when they pause.
func TestUndoUnderWriters(t *testing.T) {
	for what, same := range map[string]bool{"the same Store": true, "another": false} {
		t.Run(what, func(t *testing.T) {
			b := memstore.New(nil)
			open := func() *memento.Store {
				return memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded())
			}
			s := open()
			writer := s
			if !same {
				writer = open()
			}
			ctx := t.Context()
			const memories = 8
			for i := range memories {
				p := memento.Path(fmt.Sprintf("/%d", i))
				for _, put := range []struct {
					by   memento.Actor
					text string
				}{{bob, "first\nlast\n"}, {mallory, "first\nbad\nlast\n"}} {
					if _, err := s.Apply(ctx, put.by, memento.Put{Path: p, Content: put.text}); err != nil {
						t.Fatal(err)
					}
				}
			}
			var wg sync.WaitGroup
			stop, cancel := context.WithCancel(ctx)
			written := make([]int, memories) // lines
			for i := range memories {
				wg.Go(func() {
					for stop.Err() == nil {
						if _, err := writer.Edit(ctx, bob, memento.Path(fmt.Sprintf("/%d", i)), func(old string) (string, error) { return old + "bob\n", nil }); err != nil {
							t.Error(err)
							return
						}
						written[i]++
						time.Sleep(time.Millisecond)
					}
				})
			}
			time.Sleep(10 * time.Millisecond)
			u, err := history.Undo(ctx, s, carol, history.UndoOptions{By: mallory})
			cancel()
			wg.Wait()
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range u.Conflicts {
				if c.Reason != history.UndoBusy || same {
					t.Errorf("%s is left as it is: %s", c.Path, c.Reason)
				}
			}
			if len(u.Changes)+len(u.Conflicts) != memories {
				t.Errorf("%q", told(u))
			}
			if len(u.Conflicts) > 0 {
				if u, err = history.Undo(ctx, s, carol, history.UndoOptions{By: mallory}); err != nil || len(u.Conflicts) > 0 {
					t.Errorf("again: %q, %v", told(u), err)
				}
			}
			for i, lines := range written {
				m, err := s.Get(ctx, memento.ByPath(memento.Path(fmt.Sprintf("/%d", i))))
				if want := "first\nlast\n" + strings.Repeat("bob\n", lines); err != nil || m.Content != want {
					t.Errorf("%d: %q, %v; want %q", i, m.Content, err, want)
				}
			}
		})
	}
}

// A backend to which somebody writes whenever it is about to be changed.
type busyBackend struct {
	*memstore.Backend
	write func()
}

func (b *busyBackend) Apply(ctx context.Context, id memento.StoreID, by memento.Actor, changes []memento.Change) (memento.Applied, error) {
	if by == carol {
		b.write()
	}
	return b.Backend.Apply(ctx, id, by, changes)
}

// A memory that is written to before each change of it is reported, and the others are
// undone; a store cannot be restored as of a time, which is said.
func TestUndoBeforeEachOfWhichSomebodyWrites(t *testing.T) {
	b := &busyBackend{Backend: memstore.New(nil)}
	s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded())
	ctx, cancel := context.WithCancel(t.Context())
	for _, p := range []memento.Path{"/calm", "/busy", "/away"} {
		if _, err := s.Apply(ctx, bob, memento.Put{Path: p, Content: "first\nlast\n"}); err != nil {
			t.Fatal(err)
		}
	}
	then := time.Now()
	for _, c := range []memento.Change{
		memento.Put{Path: "/calm", Content: "bad\nfirst\nlast\n"}, memento.Put{Path: "/busy", Content: "bad\nfirst\nlast\n"},
		memento.Move{From: "/away", To: "/moved"}, memento.Put{Path: "/made", Content: "made"},
	} {
		if _, err := s.Apply(ctx, mallory, c); err != nil {
			t.Fatal(err)
		}
	}
	other := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded())
	writes := 0
	b.write = func() {
		if writes++; writes > 100 {
			cancel() // it would go on for ever
		}
		if _, err := other.Edit(context.WithoutCancel(ctx), bob, "/busy", func(old string) (string, error) { return old + "bob\n", nil }); err != nil {
			t.Error(err)
		}
	}
	u, err := history.Undo(ctx, s, carol, history.UndoOptions{By: mallory})
	if want := []string{"rename /away from /moved", "revert /calm", "remove /made", "busy /busy"}; err != nil || !slices.Equal(told(u), want) {
		t.Errorf("%q, %v; want %q", told(u), err, want)
	}
	if _, err := history.RestoreAsOf(ctx, s, carol, then, false); !errors.Is(err, memento.ErrConflict) {
		t.Errorf("a restoration: %v", err)
	}
	b.write = func() {}
	u, err = history.Undo(ctx, s, carol, history.UndoOptions{By: mallory})
	if want := []string{"revert /busy merged"}; err != nil || !slices.Equal(told(u), want) {
		t.Errorf("%q, %v; want %q", told(u), err, want)
	}
}
