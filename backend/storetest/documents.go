package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"memento"
)

func documents(t *testing.T, h Harness) {
	h.run(t, "put creates", putCreates)
	h.run(t, "put modifies", putModifies)
	h.run(t, "put nothing new", putNoOp)
	h.run(t, "put refused", putRefused)
	h.run(t, "get refused", getRefused)
	h.run(t, "remove a memory", removeMemory)
	h.run(t, "remove a directory", removeDirectory)
	h.run(t, "remove refused", removeRefused)
	h.run(t, "move a memory", moveMemory)
	h.run(t, "move a directory", moveDirectory)
	h.run(t, "move refused", moveRefused)
	h.run(t, "memory against directory", memoryAgainstDirectory)
	h.run(t, "several changes", severalChanges)
	h.run(t, "all or nothing", allOrNothing)
	h.run(t, "large directories", largeDirectories)
	h.run(t, "stores are apart", storesAreApart)
}

func putCreates(e *env) {
	before := time.Now().Add(-time.Second)
	v := e.put("/notes/todo.md", "buy milk\n")
	want := memento.Version{
		ID: v.ID, Memory: v.Memory, Seq: v.Seq, CreatedAt: v.CreatedAt,
		Operation: memento.Created, Path: "/notes/todo.md", SHA256: memento.HashContent("buy milk\n"), Size: 9, CreatedBy: e.by,
	}
	if diff := cmp.Diff(want, v); diff != "" {
		e.Errorf("Apply (-want +got):\n%s", diff)
	}
	if v.ID == "" || v.Memory == "" || v.Seq < 1 || v.CreatedAt.Before(before) || v.CreatedAt.After(time.Now().Add(time.Second)) {
		e.Errorf("version %+v", v)
	}
	e.reopen()
	m := memento.Memory{
		ID: v.Memory, Path: v.Path, Content: "buy milk\n", SHA256: v.SHA256, Size: 9,
		Version: v.ID, CreatedAt: v.CreatedAt, UpdatedAt: v.CreatedAt,
	}
	if diff := cmp.Diff(m, e.get("/notes/todo.md")); diff != "" {
		e.Errorf("Get (-want +got):\n%s", diff)
	}
	byID, err := e.b.Get(e.Context(), e.store, memento.ByID(v.Memory))
	if diff := cmp.Diff(m, byID); diff != "" || err != nil {
		e.Errorf("Get by ID: %v (-want +got):\n%s", err, diff)
	}
	want.Content = "buy milk\n"
	if diff := cmp.Diff(want, e.version(v.ID)); diff != "" {
		e.Errorf("GetVersion (-want +got):\n%s", diff)
	}
	if got := e.info().Usage; got != (memento.Usage{Memories: 1, Bytes: 9}) {
		e.Errorf("usage %+v", got)
	}
}

func putModifies(e *env) {
	first := e.put("/a", "one")
	time.Sleep(2 * time.Millisecond)
	second := e.put("/a", "three")
	if second.Operation != memento.Modified || second.Memory != first.Memory || second.ID == first.ID ||
		second.Seq <= first.Seq || !second.CreatedAt.After(first.CreatedAt) {
		e.Errorf("%+v, then %+v", first, second)
	}
	m := e.get("/a")
	if m.Content != "three" || m.Version != second.ID || !m.CreatedAt.Equal(first.CreatedAt) || !m.UpdatedAt.Equal(second.CreatedAt) {
		e.Errorf("Get: %+v", m)
	}
	e.put("/a", "one") // changing it back is a change too
	if got := len(e.versions(memento.VersionListOptions{})); got != 3 {
		e.Errorf("%d versions, want 3", got)
	}
	if got := e.info().Usage; got != (memento.Usage{Memories: 1, Bytes: 3}) {
		e.Errorf("usage %+v", got)
	}
}

func putNoOp(e *env) {
	v := e.put("/a", "same")
	e.put("/empty", "")
	before := e.everything()
	time.Sleep(2 * time.Millisecond)
	for _, change := range []memento.Change{
		memento.Put{Path: "/a", Content: "same"},
		memento.Put{Path: "/a", Content: "same", If: memento.IfVersion(v.ID)},
		memento.Put{Path: "/a", Content: "same", If: memento.IfSHA256(v.SHA256)},
		memento.Put{Path: "/empty", Content: ""},
	} {
		if got := e.apply(change); len(got) != 0 {
			e.Errorf("%v made %+v", change, got)
		}
	}
	if got := e.apply(); len(got) != 0 {
		e.Errorf("no changes made %+v", got)
	}
	e.same("nothing new", before, e.everything())
	if got := e.apply(memento.Put{Path: "/a", Content: "same"}, memento.Put{Path: "/b"}, memento.Put{Path: "/b"}); len(got) != 1 || got[0].Path != "/b" {
		e.Errorf("one change among three made %+v", got)
	}
}

func putRefused(e *env) {
	e.fill("/file", "/dir/sub/file")
	e.refused(memento.ErrIsDir, "/dir", memento.Put{Path: "/dir"})
	e.refused(memento.ErrIsDir, "/dir/sub", memento.Put{Path: "/dir/sub", Content: "x"})
	e.refused(memento.ErrNotDir, "/file", memento.Put{Path: "/file/x"})
	e.refused(memento.ErrNotDir, "/file", memento.Put{Path: "/file/x/y/z"})
	e.refused(memento.ErrNotDir, "/dir/sub/file", memento.Put{Path: "/dir/sub/file/x"})
	e.refused(memento.ErrInvalid, "/new", memento.Put{Path: "/new", Content: "a\xffb"})
	e.refused(memento.ErrInvalid, "/file", memento.Put{Path: "/file", Content: "\xed\xa0\x80"}) // half of a surrogate pair
	e.refused(memento.ErrInvalidPath, "/", memento.Put{Path: "/"})
}

func getRefused(e *env) {
	_, err := e.b.Get(e.Context(), e.store, memento.ByPath(memento.Root))
	wantError(e, "Get of the root of an empty store", err, memento.ErrIsDir)
	v := e.put("/dir/file", "x")
	e.apply(memento.Put{Path: "/gone", Content: "x"}, memento.Remove{Path: "/gone"})
	tests := []struct {
		ref  memento.Ref
		want error
	}{
		{memento.ByPath("/missing"), memento.ErrNotExist},
		{memento.ByPath("/gone"), memento.ErrNotExist},
		{memento.ByPath("/dir/file/below"), memento.ErrNotExist},
		{memento.ByPath("/di"), memento.ErrNotExist},
		{memento.ByPath("/DIR/file"), memento.ErrNotExist},
		{memento.ByPath("dir/file"), memento.ErrNotExist},
		{memento.ByPath("/dir//file"), memento.ErrNotExist},
		{memento.ByPath("/dir/file/"), memento.ErrNotExist},
		{memento.ByPath("/d%"), memento.ErrNotExist},
		{memento.ByPath("/dir/../dir/file"), memento.ErrNotExist},
		{memento.ByPath("/dir"), memento.ErrIsDir},
		{memento.ByPath("/"), memento.ErrIsDir},
		{memento.ByID("mem_unknown"), memento.ErrNotExist},
		{memento.ByID(memento.MemoryID(v.ID)), memento.ErrNotExist},
		{memento.Ref{}, memento.ErrNotExist},
	}
	for _, test := range tests {
		m, err := e.b.Get(e.Context(), e.store, test.ref)
		wantError(e, fmt.Sprintf("Get %+v", test.ref), err, test.want)
		if got := pathOf(err); got != test.ref.Path {
			e.Errorf("Get %+v: error is about %q", test.ref, got)
		}
		if m != (memento.Memory{}) {
			e.Errorf("Get %+v returned %+v with its error", test.ref, m)
		}
	}
}

func removeMemory(e *env) {
	first := e.put("/dir/a", "text")
	e.fill("/dir.md", "/dir0", "/di")
	got := e.apply(memento.Remove{Path: "/dir/a"})
	want := []memento.Version{{Memory: first.Memory, Operation: memento.Deleted, Path: "/dir/a", CreatedBy: e.by}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(memento.Version{}, "ID", "Seq", "CreatedAt")); diff != "" {
		e.Errorf("Remove (-want +got):\n%s", diff)
	}
	e.reopen()
	e.missing("/dir/a")
	e.missing("/dir") // a directory is gone when no memory is below it
	_, err := e.b.Get(e.Context(), e.store, memento.ByID(first.Memory))
	wantError(e, "Get by ID", err, memento.ErrNotExist)

	again := e.put("/dir", "now a memory")
	e.apply(memento.Remove{Path: "/dir"})
	back := e.put("/dir/a", "text")
	if back.Memory == first.Memory || again.Memory == first.Memory || back.Operation != memento.Created {
		e.Errorf("an ID was used again: %+v", back)
	}
}

func removeDirectory(e *env) {
	near := []memento.Path{"/d", "/dir.md", "/dir!", "/dir0", "/dirx/a", "/DIR/a", "/dix/a", "/z"}
	below := []memento.Path{"/dir/a", "/dir/b.md", "/dir/sub/a", "/dir/sub/deep/a", "/dir/é"}
	e.fill(slices.Concat(near, below)...)
	versions := e.apply(memento.Remove{Path: "/dir/sub"})
	if len(versions) != 2 {
		e.Errorf("removing /dir/sub made %d versions", len(versions))
	}
	versions = e.apply(memento.Remove{Path: "/dir"})
	var gone []memento.Path
	for _, v := range versions {
		gone = append(gone, v.Path)
		if v.Operation != memento.Deleted {
			e.Errorf("%+v", v)
		}
	}
	slices.Sort(gone)
	if diff := cmp.Diff([]memento.Path{"/dir/a", "/dir/b.md", "/dir/é"}, gone); diff != "" {
		e.Errorf("removed (-want +got):\n%s", diff)
	}
	want := map[memento.Path]string{}
	for _, p := range near {
		want[p] = string(p)
	}
	e.holds(want)

	// Names that are patterns elsewhere are only names here.
	e.fill("/a_b/x", "/axb/x", "/a%/x", "/abc/x", "/a*/x", "/a[b]/x", "/a?b/x", `/a\b/x`)
	e.apply(memento.Remove{Path: "/a_b"}, memento.Remove{Path: "/a%"}, memento.Remove{Path: "/a*"},
		memento.Remove{Path: "/a[b]"}, memento.Remove{Path: "/a?b"}, memento.Remove{Path: `/a\b`})
	want["/axb/x"], want["/abc/x"] = "/axb/x", "/abc/x"
	e.holds(want)
}

func removeRefused(e *env) {
	e.fill("/file", "/dir/file")
	e.refused(memento.ErrNotExist, "/missing", memento.Remove{Path: "/missing"})
	e.refused(memento.ErrNotExist, "/di", memento.Remove{Path: "/di"})
	e.refused(memento.ErrNotExist, "/file/x", memento.Remove{Path: "/file/x"})
	e.refused(memento.ErrInvalidPath, "/", memento.Remove{Path: "/"})
	e.refused(memento.ErrInvalidPath, "/dir/", memento.Remove{Path: "/dir/"})
	e.refused(memento.ErrNotExist, "/file", memento.Remove{Path: "/file"}, memento.Remove{Path: "/file"})
}

func moveMemory(e *env) {
	first := e.put("/a/b", "text")
	time.Sleep(2 * time.Millisecond)
	got := e.apply(memento.Move{From: "/a/b", To: "/c/d/e"})
	want := []memento.Version{{
		Memory: first.Memory, Operation: memento.Modified, Path: "/c/d/e",
		SHA256: first.SHA256, Size: first.Size, CreatedBy: e.by,
	}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(memento.Version{}, "ID", "Seq", "CreatedAt")); diff != "" {
		e.Fatalf("Move (-want +got):\n%s", diff)
	}
	e.reopen()
	m := e.get("/c/d/e")
	if m.ID != first.Memory || m.Content != "text" || !m.CreatedAt.Equal(first.CreatedAt) ||
		!m.UpdatedAt.Equal(got[0].CreatedAt) || !m.UpdatedAt.After(m.CreatedAt) || m.Version != got[0].ID {
		e.Errorf("Get: %+v", m)
	}
	byID, err := e.b.Get(e.Context(), e.store, memento.ByID(first.Memory))
	if err != nil || byID.Path != "/c/d/e" {
		e.Errorf("Get by ID: %+v, %v", byID, err)
	}
	if v := e.version(got[0].ID); v.Content != "text" {
		e.Errorf("the version of a move has contents %q", v.Content)
	}
	e.missing("/a/b")
	e.missing("/a")
	e.put("/a", "now a memory")
	e.refused(memento.ErrExist, "/c", memento.Move{From: "/c/d/e", To: "/c"})
}

func moveDirectory(e *env) {
	near := []memento.Path{"/from.md", "/from0", "/fro", "/FROM/a", "/to.md", "/to2/a"}
	below := []memento.Path{"/from/a", "/from/sub/from/sub", "/from/sub/x", "/from/é 名"}
	e.fill(slices.Concat(near, below)...)
	ids := map[memento.MemoryID]memento.Path{}
	for _, p := range below {
		ids[e.get(p).ID] = p
	}
	versions := e.apply(memento.Move{From: "/from", To: "/to/x"})
	if len(versions) != len(below) {
		e.Errorf("%d versions, want %d", len(versions), len(below))
	}
	want := map[memento.Path]string{}
	for _, p := range near {
		want[p] = string(p)
	}
	for _, v := range versions {
		old := ids[v.Memory]
		p := "/to/x" + old[len("/from"):]
		want[p] = string(old)
		if v.Operation != memento.Modified || v.Path != p {
			e.Errorf("%s became %+v", old, v)
		}
	}
	e.reopen()
	e.holds(want)
	if got := e.list(memento.ListOptions{Dir: "/from"}); len(got) > 0 {
		e.Errorf("left at the old path: %v", entryPaths(got))
	}
	e.apply(memento.Move{From: "/to/x/sub", To: "/to/sub"}) // up, next to its old parent
	e.apply(memento.Move{From: "/to/sub/from", To: "/from"})
	for _, p := range []memento.Path{"/to/x/a", "/to/sub/x", "/from/sub", "/to/x/é 名"} {
		e.get(p)
	}
}

func moveRefused(e *env) {
	e.fill("/file", "/other", "/dir/file", "/dir/sub/file", "/full/file", "/lone/only/file")
	e.refused(memento.ErrNotExist, "/missing", memento.Move{From: "/missing", To: "/x"})
	e.refused(memento.ErrNotExist, "/file/x", memento.Move{From: "/file/x", To: "/x"})
	e.refused(memento.ErrExist, "/other", memento.Move{From: "/file", To: "/other"})
	e.refused(memento.ErrExist, "/file", memento.Move{From: "/file", To: "/file"})
	e.refused(memento.ErrExist, "/dir", memento.Move{From: "/dir", To: "/dir"})
	e.refused(memento.ErrExist, "/dir", memento.Move{From: "/file", To: "/dir"})
	e.refused(memento.ErrExist, "/full", memento.Move{From: "/dir", To: "/full"})
	e.refused(memento.ErrExist, "/file", memento.Move{From: "/dir", To: "/file"})
	e.refused(memento.ErrExist, "/dir", memento.Move{From: "/dir/sub", To: "/dir"})
	e.refused(memento.ErrExist, "/lone", memento.Move{From: "/lone/only", To: "/lone"})
	e.refused(memento.ErrExist, "/lone/only", memento.Move{From: "/lone/only/file", To: "/lone/only"})
	e.refused(memento.ErrNotDir, "/other", memento.Move{From: "/file", To: "/other/x"})
	e.refused(memento.ErrNotDir, "/other", memento.Move{From: "/dir", To: "/other/x/y"})
	e.refused(memento.ErrInvalidPath, "/dir/x", memento.Move{From: "/dir", To: "/dir/x"})
	e.refused(memento.ErrInvalidPath, "/dir/sub/x", memento.Move{From: "/dir", To: "/dir/sub/x"})
	e.refused(memento.ErrInvalidPath, "/", memento.Move{From: "/", To: "/x"})
	e.refused(memento.ErrInvalidPath, "/", memento.Move{From: "/dir", To: "/"})
	if err := e.try(memento.Move{From: "/file", To: "/file/x"}); err == nil {
		e.Error("a memory moved below itself")
	}

	// What is below must still have a valid path.
	n := 1000
	if e.h.EncryptedNames {
		n = 590
	}
	long := memento.Path("/long/" + strings.Repeat("x", n))
	e.put(long, "x")
	to := memento.Path("/" + strings.Repeat("y", 40))
	err := e.try(memento.Move{From: "/long", To: to})
	if err == nil {
		e.Error("a move made a path of more than 1,024 bytes")
	}
	e.get(long)
}

func memoryAgainstDirectory(e *env) {
	e.put("/x", "memory")
	e.refused(memento.ErrNotDir, "/x", memento.Put{Path: "/x/a"})
	e.apply(memento.Remove{Path: "/x"}, memento.Put{Path: "/x/a", Content: "below"})
	e.refused(memento.ErrIsDir, "/x", memento.Put{Path: "/x"})
	e.apply(memento.Move{From: "/x/a", To: "/y"}, memento.Put{Path: "/x", Content: "memory again"})
	e.apply(memento.Move{From: "/x", To: "/z"}, memento.Move{From: "/y", To: "/x/a"}, memento.Move{From: "/z", To: "/x/b"})
	e.holds(map[memento.Path]string{"/x/a": "below", "/x/b": "memory again"})
}

func severalChanges(e *env) {
	e.fill("/a", "/b")
	a, b := e.get("/a").ID, e.get("/b").ID
	// Each change sees those before it.
	versions := e.apply(
		memento.Move{From: "/a", To: "/tmp"},
		memento.Move{From: "/b", To: "/a"},
		memento.Move{From: "/tmp", To: "/b"},
		memento.Put{Path: "/a", Content: "first"},
		memento.Put{Path: "/a", Content: "second", If: memento.IfSHA256(memento.HashContent("first"))},
		memento.Put{Path: "/new", Content: "made", If: memento.IfAbsent()},
		memento.Remove{Path: "/new"},
		memento.Put{Path: "/new", Content: "made again", If: memento.IfAbsent()},
	)
	if len(versions) != 8 {
		e.Fatalf("%d versions, want 8", len(versions))
	}
	if diff := cmp.Diff(e.versions(memento.VersionListOptions{OldestFirst: true})[2:], versions); diff != "" {
		e.Errorf("Apply returned versions that differ from the history:\n%s", diff)
	}
	e.reopen()
	e.holds(map[memento.Path]string{"/a": "second", "/b": "/a", "/new": "made again"})
	if e.get("/a").ID != b || e.get("/b").ID != a {
		e.Error("IDs did not move with their memories")
	}
	if versions[5].Memory == versions[7].Memory {
		e.Error("a memory created at the path of a deleted one has its ID")
	}
}

func allOrNothing(e *env) {
	e.fill("/keep", "/edit", "/dir/a", "/dir/b", "/old/a", "/old/b", "/file")
	e.setLimits(memento.Limits{MemoryBytes: 100, Memories: 10})
	good := []memento.Change{
		memento.Put{Path: "/new", Content: "new"},
		memento.Put{Path: "/edit", Content: "edited"},
		memento.Remove{Path: "/dir"},
		memento.Put{Path: "/dir", Content: "a memory now"},
		memento.Move{From: "/old", To: "/moved/here"},
		memento.Put{Path: "/old", Content: "another"},
		memento.Move{From: "/keep", To: "/kept"},
		memento.Put{Path: "/moved/here/a", Content: "edited after the move"},
	}
	stale := memento.IfVersion(e.get("/file").Version)
	bad := map[string]struct {
		change memento.Change
		want   error
		at     memento.Path
	}{
		"conflict":   {memento.Put{Path: "/edit", Content: "x", If: stale}, memento.ErrConflict, "/edit"},
		"exists":     {memento.Put{Path: "/new", Content: "x", If: memento.IfAbsent()}, memento.ErrExist, "/new"},
		"missing":    {memento.Remove{Path: "/dir/a"}, memento.ErrNotExist, "/dir/a"},
		"move":       {memento.Move{From: "/moved", To: "/file"}, memento.ErrExist, "/file"},
		"directory":  {memento.Put{Path: "/moved"}, memento.ErrIsDir, "/moved"},
		"not one":    {memento.Put{Path: "/file/x"}, memento.ErrNotDir, "/file"},
		"path":       {memento.Put{Path: "/a//b"}, memento.ErrInvalidPath, "/a//b"},
		"contents":   {memento.Put{Path: "/x", Content: "\xff"}, memento.ErrInvalid, "/x"},
		"too large":  {memento.Put{Path: "/x", Content: strings.Repeat("x", 101)}, memento.ErrTooLarge, "/x"},
		"no change":  {nil, memento.ErrInvalid, ""},
		"into below": {memento.Move{From: "/moved", To: "/moved/here/c"}, memento.ErrInvalidPath, "/moved/here/c"},
	}
	for name, b := range bad {
		before := e.everything()
		e.refused(b.want, b.at, append(slices.Clone(good), b.change)...)
		e.reopen()
		e.same("after "+name+", reopened", before, e.everything())
	}
	e.apply(good...)
	e.holds(map[memento.Path]string{
		"/new": "new", "/edit": "edited", "/dir": "a memory now", "/moved/here/a": "edited after the move",
		"/moved/here/b": "/old/b", "/old": "another", "/kept": "/keep", "/file": "/file",
	})
}

func largeDirectories(e *env) {
	const files = 2000
	puts := make([]memento.Change, files)
	for i := range puts {
		puts[i] = memento.Put{Path: memento.Path(fmt.Sprintf("/big/%02d/%04d", i%7, i)), Content: fmt.Sprint(i)}
	}
	if got := len(e.apply(puts...)); got != files {
		e.Fatalf("%d versions, want %d", got, files)
	}
	if got := len(e.apply(memento.Move{From: "/big", To: "/bigger/still"})); got != files {
		e.Fatalf("moving made %d versions, want %d", got, files)
	}
	if got := len(e.list(memento.ListOptions{Dir: "/bigger"})); got != files {
		e.Errorf("%d memories after the move", got)
	}
	e.audit()
	if got := len(e.apply(memento.Remove{Path: "/bigger"})); got != files {
		e.Fatalf("removing made %d versions, want %d", got, files)
	}
	e.reopen()
	if got := e.info().Usage; got != (memento.Usage{}) {
		e.Errorf("usage %+v", got)
	}
}

func storesAreApart(e *env) {
	e.fill("/a", "/dir/b")
	v := e.get("/a")
	first := e.store
	before := e.everything()

	e.store = e.newStore(memento.StoreSpec{Name: "second"})
	e.missing("/a")
	_, err := e.b.Get(e.Context(), e.store, memento.ByID(v.ID))
	wantError(e, "Get by the ID of another store's memory", err, memento.ErrNotExist)
	_, err = e.b.GetVersion(e.Context(), e.store, v.Version)
	wantError(e, "GetVersion of another store", err, memento.ErrNotExist)
	_, err = e.b.Redact(e.Context(), e.store, v.Version, e.by)
	wantError(e, "Redact of another store's version", err, memento.ErrNotExist)
	e.put("/a", "mine")
	e.put("/dir", "a memory here")
	e.apply(memento.Remove{Path: "/a"}, memento.Move{From: "/dir", To: "/a"})
	if got := e.versions(memento.VersionListOptions{}); len(got) != 4 {
		e.Errorf("%d versions, want 4", len(got))
	}
	e.audit()

	e.store = first
	e.same("first store", before, e.everything())
}
