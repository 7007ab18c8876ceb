package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
)

// moveContent tests moves that also replace the contents.
func moveContent(t *testing.T, h Harness) {
	h.run(t, "one version", moveContentOnce)
	h.run(t, "any contents", moveAnyContent)
	h.run(t, "refused", moveContentRefused)
	h.run(t, "conditions", moveContentConditions)
	h.run(t, "limits", moveContentLimits)
	h.run(t, "settings", moveContentSettings)
	h.run(t, "among other changes", moveContentAmongOthers)
	h.run(t, "history", moveContentHistory)
	h.run(t, "search", moveContentSearch)
	h.run(t, "racing", racingMoveContent)
}

func moveTo(from, to memento.Path, content string) memento.Move {
	return memento.Move{From: from, To: to, Content: &content}
}

func moveContentOnce(e *env) {
	first := e.put("/a.md", "old text")
	e.put("/other", "stays")
	time.Sleep(2 * time.Millisecond)
	versions := e.apply(moveTo("/a.md", "/dir/sub/b.md", "new"))
	if len(versions) != 1 {
		e.Fatalf("%d versions, want 1", len(versions))
	}
	v := versions[0]
	want := memento.Version{
		ID: v.ID, Memory: first.Memory, Seq: v.Seq, CreatedAt: v.CreatedAt, Operation: memento.Modified,
		Path: "/dir/sub/b.md", SHA256: memento.HashContent("new"), Size: 3, CreatedBy: e.by,
	}
	if diff := cmp.Diff(want, v); diff != "" || v.ID == first.ID || v.Seq <= first.Seq {
		e.Errorf("Apply (-want +got):\n%s", diff)
	}
	for range 2 {
		m := memento.Memory{
			ID: first.Memory, Path: v.Path, Content: "new", SHA256: v.SHA256, Size: 3,
			Version: v.ID, CreatedAt: first.CreatedAt, UpdatedAt: v.CreatedAt,
		}
		if diff := cmp.Diff(m, e.get(v.Path)); diff != "" {
			e.Errorf("Get (-want +got):\n%s", diff)
		}
		byID, err := e.b.Get(e.Context(), e.store, memento.ByID(first.Memory))
		if diff := cmp.Diff(m, byID); diff != "" || err != nil {
			e.Errorf("Get by ID: %v (-want +got):\n%s", err, diff)
		}
		e.missing("/a.md")
		e.holds(map[memento.Path]string{"/dir/sub/b.md": "new", "/other": "stays"})
		if got := e.info().Usage; got != (memento.Usage{Memories: 2, Bytes: 8}) {
			e.Errorf("usage %+v", got)
		}
		want.Content = "new"
		if diff := cmp.Diff(want, e.version(v.ID)); diff != "" {
			e.Errorf("GetVersion (-want +got):\n%s", diff)
		}
		e.reopen()
	}
	// The old path is free, for a memory and for a directory.
	if again := e.put("/a.md", "another"); again.Memory == first.Memory || again.Operation != memento.Created {
		e.Errorf("created at the old path: %+v", again)
	}
	e.apply(moveTo("/dir/sub/b.md", "/b.md", "and back"))
	e.put("/dir", "a memory now")
	e.holds(map[memento.Path]string{"/a.md": "another", "/b.md": "and back", "/dir": "a memory now", "/other": "stays"})
}

func moveAnyContent(e *env) {
	e.put("/at 0", "first")
	before := "first"
	for i, text := range []string{"", "", "\n", "\r\n\r", "no newline at the end", "first", "\x00\x01\x7f", "\ufeff NFD e\u0301", strings.Repeat("long ä\n", 9000), "short"} {
		from, to := memento.Path(fmt.Sprintf("/at %d", i)), memento.Path(fmt.Sprintf("/at %d", i+1))
		v := e.apply(moveTo(from, to, text)) // with the same contents it is still a move
		if len(v) != 1 || v[0].Path != to || v[0].SHA256 != memento.HashContent(text) || v[0].Size != int64(len(text)) {
			e.Errorf("%.20q after %.20q: %+v", text, before, v)
		}
		e.holds(map[memento.Path]string{to: text})
		if got := e.version(v[0].ID).Content; got != text {
			e.Errorf("the version holds %.20q, want %.20q", got, text)
		}
		before = text
	}
	e.reopen()
	e.holds(map[memento.Path]string{"/at 10": "short"})
}

func moveContentRefused(e *env) {
	e.fill("/file", "/other", "/dir/a", "/dir/sub/b", "/lone/only/file")
	e.refused(memento.ErrIsDir, "/dir", moveTo("/dir", "/moved", "x"))
	e.refused(memento.ErrIsDir, "/lone", moveTo("/lone", "/moved", "x"))
	e.refused(memento.ErrIsDir, "/dir", moveTo("/dir", "/file", "x"))
	e.refused(memento.ErrNotExist, "/missing", moveTo("/missing", "/moved", "x"))
	e.refused(memento.ErrNotExist, "/file/x", moveTo("/file/x", "/moved", "x"))
	e.refused(memento.ErrExist, "/other", moveTo("/file", "/other", "x"))
	e.refused(memento.ErrExist, "/other", moveTo("/file", "/other", "/other")) // the same contents as there
	e.refused(memento.ErrExist, "/dir", moveTo("/file", "/dir", "x"))
	e.refused(memento.ErrExist, "/lone", moveTo("/lone/only/file", "/lone", "x"), memento.Put{Path: "/new"})
	e.refused(memento.ErrNotDir, "/other", moveTo("/file", "/other/x", "x"))
	e.refused(memento.ErrInvalid, "/file", moveTo("/file", "/moved", "a\xffb"))
	e.refused(memento.ErrInvalid, "/file", moveTo("/file", "/moved", "\xed\xa0\x80"))
	e.refused(memento.ErrInvalidPath, "/", moveTo("/", "/moved", "x"))
	e.refused(memento.ErrInvalidPath, "/", moveTo("/file", "/", "x"))
	e.refused(memento.ErrInvalidPath, "/a//b", moveTo("/file", "/a//b", "x"))
	before := e.everything()
	for _, to := range []memento.Path{"/file", "/file/x"} {
		if err := e.try(moveTo("/file", to, "x")); !errors.Is(err, memento.ErrExist) && !errors.Is(err, memento.ErrNotDir) {
			e.Errorf("to %s: %v", to, err)
		}
	}
	e.same("after moves to itself", before, e.everything())
}

func moveContentConditions(e *env) {
	old := e.put("/a", "old")
	v := e.put("/a", "text")
	e.fill("/b", "/dir/file")
	move := func(to memento.Path, c memento.Condition) memento.Move {
		m := moveTo("/a", to, "new")
		m.If = c
		return m
	}
	e.refused(memento.ErrConflict, "/a", move("/moved", memento.IfVersion(old.ID)))
	e.refused(memento.ErrConflict, "/a", move("/moved", memento.IfSHA256(old.SHA256)))
	e.refused(memento.ErrConflict, "/a", move("/moved", memento.IfSHA256(memento.HashContent("new"))))
	e.refused(memento.ErrExist, "/a", move("/moved", memento.IfAbsent()))
	// The condition is about the moved memory, and is checked before the destination.
	e.refused(memento.ErrConflict, "/a", move("/b", memento.IfVersion(old.ID)))
	e.refused(memento.ErrConflict, "/a", move("/b/c", memento.IfVersion(old.ID)))
	e.refused(memento.ErrConflict, "/a", move("/dir", memento.IfVersion(old.ID)))
	moved := e.apply(move("/moved", memento.IfVersion(v.ID)))[0]
	back := moveTo("/moved", "/a", "newer")
	back.If = memento.IfSHA256(moved.SHA256)
	e.apply(back)
	e.refused(memento.ErrConflict, "/a", move("/moved", memento.IfVersion(moved.ID)))
	e.holds(map[memento.Path]string{"/a": "newer", "/b": "/b", "/dir/file": "/dir/file"})
}

func moveContentLimits(e *env) {
	text := func(n int) string { return strings.Repeat("x", n) }
	e.setLimits(memento.Limits{MemoryBytes: 20, Memories: 2, Bytes: 30, PathBytes: 10, PathDepth: 2})
	e.apply(memento.Put{Path: "/a", Content: text(10)}, memento.Put{Path: "/b", Content: text(10)})
	e.exceeds(memento.LimitError{Limit: memento.LimitMemoryBytes, Max: 20, Want: 21}, "/c", moveTo("/a", "/c", text(21)))
	e.exceeds(memento.LimitError{Limit: memento.LimitPathBytes, Max: 10, Want: 11}, "/1234567890", moveTo("/a", "/1234567890", ""))
	e.exceeds(memento.LimitError{Limit: memento.LimitPathDepth, Max: 2, Want: 3}, "/1/2/3", moveTo("/a", "/1/2/3", ""))
	e.apply(moveTo("/a", "/c", text(20))) // exactly, and there are as many memories as before
	e.exceeds(memento.LimitError{Limit: memento.LimitBytes, Max: 30, Used: 30, Want: 31}, "/d", moveTo("/b", "/d", text(11)))
	e.exceeds(memento.LimitError{Limit: memento.LimitBytes, Max: 30, Used: 30, Want: 32}, "/e", moveTo("/c", "/d", text(20)), moveTo("/b", "/e", text(12)))
	e.apply(moveTo("/c", "/d", text(5)), moveTo("/b", "/e", text(20))) // removals count before additions
	e.reopen()
	if got := e.info().Usage; got != (memento.Usage{Memories: 2, Bytes: 25}) {
		e.Errorf("usage %+v", got)
	}
	e.exceeds(memento.LimitError{Limit: memento.LimitBytes, Max: 30, Used: 25, Want: 31}, "/f", moveTo("/d", "/f", text(11)))

	// A change that does not increase the usage is allowed above lowered limits.
	e.setLimits(memento.Limits{MemoryBytes: 3, Bytes: 4})
	e.exceeds(memento.LimitError{Limit: memento.LimitMemoryBytes, Max: 3, Want: 21}, "/g", moveTo("/e", "/g", text(21)))
	e.apply(moveTo("/e", "/g", strings.Repeat("y", 20)))
	e.apply(moveTo("/g", "/h", text(19)))
	if got := e.info().Usage; got != (memento.Usage{Memories: 2, Bytes: 24}) {
		e.Errorf("usage %+v", got)
	}
}

func moveContentSettings(e *env) {
	e.fill("/a", "/keep/b")
	e.setSettings(func(s *memento.Settings) { s.ReadOnly = []memento.Pattern{"/keep"} })
	e.refused(memento.ErrProtected, "/keep/b", moveTo("/keep/b", "/moved", "x"))
	e.refused(memento.ErrProtected, "/keep/a", moveTo("/a", "/keep/a", "x"))
	e.apply(moveTo("/a", "/kept", "x"))
	e.archive()
	e.refused(memento.ErrArchived, "/kept", moveTo("/kept", "/moved", "y"))
	e.refused(memento.ErrArchived, "/kept", moveTo("/kept", "/moved", "x"))
}

func moveContentAmongOthers(e *env) {
	e.fill("/a", "/b", "/c")
	a, b := e.get("/a").ID, e.get("/b").ID
	changes := []memento.Change{
		moveTo("/a", "/tmp", "a moved"), // two change places, with other contents
		moveTo("/b", "/a", "b moved"),
		moveTo("/tmp", "/b", "a moved again"),
		memento.Put{Path: "/a", Content: "edited", If: memento.IfSHA256(memento.HashContent("b moved"))},
		memento.Move{From: "/c", To: "/d/c"},
		moveTo("/d/c", "/c", "there and back"),
		memento.Put{Path: "/d", Content: "a memory now"},
	}
	before := e.everything()
	e.refused(memento.ErrExist, "/a", append(changes, moveTo("/c", "/a", "in the way"))...)
	e.reopen()
	e.same("refused, reopened", before, e.everything())
	versions := e.apply(changes...)
	if diff := cmp.Diff(e.versions(memento.VersionListOptions{OldestFirst: true})[3:], versions); diff != "" || len(versions) != len(changes) {
		e.Errorf("Apply returned %d versions that differ from the history:\n%s", len(versions), diff)
	}
	for range 2 {
		e.holds(map[memento.Path]string{"/a": "edited", "/b": "a moved again", "/c": "there and back", "/d": "a memory now"})
		if e.get("/a").ID != b || e.get("/b").ID != a {
			e.Error("IDs did not move with their memories")
		}
		e.reopen()
	}
}

func moveContentHistory(e *env) {
	e.put("/other", "shared")
	first := e.put("/secret/place", "secret words")
	second := e.apply(moveTo("/secret/place", "/place", "plain words"))[0]
	third := e.apply(moveTo("/place", "/elsewhere", "shared"))[0]
	_, err := e.b.Redact(e.Context(), e.store, third.ID, e.by)
	wantError(e, "Redact of the newest version", err, memento.ErrHead)
	texts := func() (list []string) {
		for _, v := range e.versions(memento.VersionListOptions{Memory: first.Memory, OldestFirst: true, Contents: true}) {
			list = append(list, fmt.Sprintf("%s %s %q", v.Operation, v.Path, v.Content))
		}
		return list
	}
	want := []string{`created /secret/place "secret words"`, `modified /place "plain words"`, `modified /elsewhere "shared"`}
	if diff := cmp.Diff(want, texts()); diff != "" {
		e.Errorf("history (-want +got):\n%s", diff)
	}
	if got := e.versions(memento.VersionListOptions{Path: "/secret"}); len(got) != 1 || got[0].ID != first.ID {
		e.Errorf("below /secret: %+v", got)
	}
	e.redact(first.ID)
	e.reopen()
	want[0] = `created  ""`
	if diff := cmp.Diff(want, texts()); diff != "" {
		e.Errorf("history once redacted (-want +got):\n%s", diff)
	}
	if got := e.version(second.ID); got.Content != "plain words" {
		e.Errorf("the version after it: %+v", got)
	}
	// Contents shared with another version stay there.
	e.apply(moveTo("/elsewhere", "/end", ""))
	e.redact(third.ID)
	e.holds(map[memento.Path]string{"/end": "", "/other": "shared"})
}

func moveContentSearch(e *env) {
	if !e.h.Searcher {
		return // "as promised" has checked that it need not be one
	}
	e.put("/attic/box.md", "an umbrella, and boots")
	e.put("/hall.md", "another umbrella")
	e.finds("umbrella", "/attic/box.md", "/hall.md")
	e.apply(moveTo("/attic/box.md", "/cellar/crate.md", "skis and boots"))
	for range 2 {
		e.finds("umbrella", "/hall.md")
		e.finds("skis", "/cellar/crate.md")
		e.finds("boots", "/cellar/crate.md")
		e.finds("cellar boots", "/cellar/crate.md")
		e.finds("attic")
		e.finds("box")
		e.reopen()
	}
	found := e.search(memento.SearchOptions{Query: "skis", Dir: "/cellar"})
	if len(found) != 1 || found[0].Line != 1 || found[0].Snippet != "skis and boots" {
		e.Errorf("found %+v", found)
	}
	if found := e.search(memento.SearchOptions{Query: "boots", Dir: "/attic"}); len(found) != 0 {
		e.Errorf("found at the old place: %+v", found)
	}
}

// racingMoveContent has callers move one memory with different contents, and edit it in
// place: one wins each round, and no reader sees half of a change.
func racingMoveContent(e *env) {
	const racers, rounds = 8, 6
	handles := []memento.Backend{e.b, e.another()}
	v := e.put("/0", "at /0")
	stop := e.churn(func(int) error {
		m, err := handles[1].Get(e.Context(), e.store, memento.ByID(v.Memory))
		if err == nil && m.Content != "at "+string(m.Path) {
			err = fmt.Errorf("%s holds %q", m.Path, m.Content)
		}
		return err
	})
	for round := range rounds {
		head := e.get(memento.Path(fmt.Sprint("/", round)))
		to := memento.Path(fmt.Sprint("/", round+1))
		var won atomic.Int32
		var wg sync.WaitGroup
		for i := range racers {
			wg.Go(func() {
				move := moveTo(head.Path, to, "at "+string(to))
				move.If = memento.IfVersion(head.Version)
				_, err := handles[i%2].Apply(e.Context(), e.store, e.by, []memento.Change{move})
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, memento.ErrConflict):
					e.Errorf("round %d: %v", round, err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			e.Fatalf("round %d: %d of %d won", round, won.Load(), racers)
		}
	}
	stop()
	if got := e.versions(memento.VersionListOptions{}); len(got) != rounds+1 {
		e.Errorf("%d versions, want %d", len(got), rounds+1)
	}
}
