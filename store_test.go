package memento_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"slices"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/memstore"
	"memento/history"
	"memento/sensitive"
	"memento/test/memories"

	"github.com/google/go-cmp/cmp"
)

const workspace = memento.DefaultWorkspace

var nobody memento.Actor

func storesOf(t testing.TB, b memento.Backend) (infos []memento.StoreInfo) {
	t.Helper()
	for info, err := range b.ListStores(t.Context(), workspace, memento.StoreListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		infos = append(infos, info)
	}
	return infos
}

// everyUse calls every method of a store, readers first, and returns their errors.
func everyUse(t *testing.T, s *memento.Store) (reads, writes map[string]error) {
	ctx := t.Context()
	lastOf := func(err error) error { return err }
	reads, writes = map[string]error{}, map[string]error{}
	_, reads["ID"] = s.ID(ctx)
	_, reads["Info"] = s.Info(ctx)
	_, reads["Get"] = s.Get(ctx, memento.ByPath("/a"))
	_, reads["Get by ID"] = s.Get(ctx, memento.ByID("mem_1"))
	for _, err := range s.List(ctx, memento.ListOptions{}) {
		reads["List"] = lastOf(err)
	}
	_, reads["Version"] = s.Version(ctx, "memver_1")
	for _, err := range s.Versions(ctx, memento.VersionListOptions{}) {
		reads["Versions"] = lastOf(err)
	}
	_, reads["Search"] = s.Search(ctx, memento.SearchOptions{Query: "a"})
	_, _, reads["RestoreVersion"] = history.RestoreVersion(ctx, s, nobody, "memver_1")
	_, reads["RestoreAsOf"] = history.RestoreAsOf(ctx, s, nobody, time.Now(), false)
	_, reads["Redact"] = s.Redact(ctx, "memver_1", nobody)
	_, reads["Edit"] = s.Edit(ctx, nobody, "/a", func(old string) (string, error) { return old, nil })
	_, reads["UpdateMemory"] = s.UpdateMemory(ctx, nobody, "mem_1", memento.MemoryUpdate{})
	reads["DeleteMemory"] = s.DeleteMemory(ctx, nobody, "mem_1", "")

	_, writes["Ensure"] = s.Ensure(ctx)
	_, writes["Apply"] = s.Apply(ctx, nobody, memento.Put{Path: "/a", Content: "a"})
	_, writes["CreateMemory"] = s.CreateMemory(ctx, nobody, "/created", "")
	_, writes["Import"] = s.Import(ctx, nil)
	return reads, writes
}

func TestNamedStoreIsMadeByTheFirstWrite(t *testing.T) {
	b := memstore.New(nil)
	s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes", Description: "d", Limits: memento.Limits{Memories: 7}}, memories.Guarded())
	reads, _ := everyUse(t, memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "other"}, memories.Guarded()))
	want := map[string]error{
		"ID": memento.ErrNoStore, "Info": memento.ErrNoStore,
		"Get": memento.ErrNotExist, "Get by ID": memento.ErrNotExist, "Version": memento.ErrNotExist, "Redact": memento.ErrNotExist,
		"RestoreVersion": memento.ErrNotExist, "Edit": memento.ErrNotExist,
		"UpdateMemory": memento.ErrNotExist, "DeleteMemory": memento.ErrNotExist,
	}
	for name, err := range reads {
		if !errors.Is(err, want[name]) || want[name] == nil && err != nil {
			t.Errorf("%s of a store that is not there: %v, want %v", name, err, want[name])
		}
	}
	// The tool's reads and refusals.
	tool := memento.NewTool(s, nil)
	if _, err := tool.View(t.Context(), "/memories"); err != nil {
		t.Error(err)
	}
	if _, err := tool.View(t.Context(), "/memories/a.md"); !errors.Is(err, memento.ErrNotExist) {
		t.Error(err)
	}
	if _, err := tool.StrReplace(t.Context(), "/memories/a.md", "a", "b"); !errors.Is(err, memento.ErrNotExist) {
		t.Error(err)
	}

	// Only "other" was written to.
	names := func() (names []string) {
		for _, info := range storesOf(t, b) {
			names = append(names, info.Name)
		}
		return names
	}
	if diff := cmp.Diff([]string{"other"}, names()); diff != "" {
		t.Error("stores (-want +got):\n" + diff)
	}
	memories.Put(t, s, "/a.md", "a")
	info, err := s.Info(t.Context())
	if err != nil || info.Name != "notes" || info.Description != "d" || info.Limits.Memories != 7 || info.Usage.Memories != 1 {
		t.Errorf("made %+v, %v", info, err)
	}
	if len(names()) != 2 {
		t.Errorf("the stores are %q", names())
	}
	// It is found by name, and by its ID.
	again := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded())
	if diff := cmp.Diff(map[memento.Path]string{"/a.md": "a"}, memories.Contents(t, again)); diff != "" {
		t.Error(diff)
	}
	byID, err := memento.OpenStore(t.Context(), b, workspace, info.ID, memories.Guarded())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[memento.Path]string{"/a.md": "a"}, memories.Contents(t, byID)); diff != "" {
		t.Error(diff)
	}
	for _, ws := range []memento.Workspace{"elsewhere", ""} {
		if _, err := memento.OpenStore(t.Context(), b, ws, info.ID, memories.Guarded()); !errors.Is(err, memento.ErrNoStore) {
			t.Errorf("from workspace %q: %v", ws, err)
		}
	}
}

// A write that is refused may make the store, but a refusal before that does not.
func TestRefusalsMakeNoStore(t *testing.T) {
	b := memstore.New(nil)
	tool := memento.NewTool(memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded()), nil)
	for _, in := range [][]byte{
		input("create", "path", "/memories/.hidden", "file_text", ""),
		input("create", "path", "/etc/passwd", "file_text", ""),
		input("insert", "path", "/memories/a", "insert_line", 0, "insert_text", ""),
		input("delete", "path", "/memories"),
		input("rename", "old_path", "/memories", "new_path", "/memories/x"),
	} {
		if r := tool.Run(t.Context(), in); !r.IsError {
			t.Errorf("%s: %s", in, r.Content)
		}
	}
	if infos := storesOf(t, b); len(infos) != 0 {
		t.Errorf("made %+v", infos)
	}
}

func TestAmbiguousName(t *testing.T) {
	b := memstore.New(nil)
	for range 2 {
		if _, err := b.CreateStore(t.Context(), workspace, memento.StoreSpec{Name: "notes"}); err != nil {
			t.Fatal(err)
		}
	}
	reads, writes := everyUse(t, memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded()))
	for _, uses := range []map[string]error{reads, writes} {
		for name, err := range uses {
			if !errors.Is(err, memento.ErrConflict) {
				t.Errorf("%s: %v, want ErrConflict", name, err)
			}
		}
	}
}

func TestStoreRefusesPaths(t *testing.T) {
	s := memories.New(memento.Limits{})
	memories.Put(t, s, "/a", "a")
	for _, p := range []memento.Path{"a", "/a/", "/../a", "//a", "/a\x00", "/e\u0301"} {
		_, get := s.Get(t.Context(), memento.ByPath(p))
		var list error
		for _, err := range s.List(t.Context(), memento.ListOptions{Dir: p}) {
			list = err
		}
		_, put := s.Apply(t.Context(), nobody, memento.Put{Path: p})
		_, remove := s.Apply(t.Context(), nobody, memento.Remove{Path: p})
		_, from := s.Apply(t.Context(), nobody, memento.Move{From: p, To: "/b"})
		_, to := s.Apply(t.Context(), nobody, memento.Move{From: "/a", To: p})
		_, edit := s.Edit(t.Context(), nobody, p, func(string) (string, error) { return "", nil })
		_, search := s.Search(t.Context(), memento.SearchOptions{Query: "a", Dir: p})
		for name, err := range map[string]error{"Get": get, "List": list, "Put": put, "Remove": remove, "Move from": from, "Move to": to, "Edit": edit, "Search": search} {
			if _, ok := errors.AsType[*memento.PathError](err); !ok || !errors.Is(err, memento.ErrInvalidPath) {
				t.Errorf("%s of %q: %v", name, p, err)
			}
		}
	}
	if _, err := s.Get(t.Context(), memento.ByPath(memento.Root)); !errors.Is(err, memento.ErrIsDir) {
		t.Errorf("Get of the root: %v", err)
	}
}

func TestOptionalPowers(t *testing.T) {
	// An embedded interface hides that the backend can search.
	plain := memento.OpenNamed(&memories.Meddler{Backend: memstore.New(nil)}, workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded())
	if _, err := plain.Search(t.Context(), memento.SearchOptions{Query: "a"}); !errors.Is(err, memento.ErrUnsupported) {
		t.Errorf("Search without a Searcher: %v", err)
	}

	s := memories.New(memento.Limits{})
	memories.Put(t, s, "/a.md", "x\nfind me\n")
	matches, err := s.Search(t.Context(), memento.SearchOptions{Query: "FIND"})
	if err != nil || len(matches) != 1 || matches[0].Memory.Path != "/a.md" || matches[0].Line != 2 || matches[0].Snippet != "find me" {
		t.Errorf("Search: %+v, %v", matches, err)
	}

	// Get marks reading; an edit does not read for anyone.
	if _, err := s.Edit(t.Context(), nobody, "/a.md", func(old string) (string, error) { return old + "y", nil }); err != nil {
		t.Fatal(err)
	}
	before, err := s.Get(t.Context(), memento.ByPath("/a.md"))
	if err != nil || !before.ReadAt.IsZero() {
		t.Errorf("read at %v before the first Get, %v", before.ReadAt, err)
	}
	after, err := s.Get(t.Context(), memento.ByPath("/a.md"))
	if err != nil || after.ReadAt.IsZero() {
		t.Errorf("Get left no trace, %v", err)
	}
}

func TestEdit(t *testing.T) {
	s := memories.New(memento.Limits{MemoryBytes: 20})
	memories.Put(t, s, "/a", "one")
	by := memento.Actor{Kind: memento.ActorUser, ID: "ann"}
	edited, err := s.Edit(t.Context(), by, "/a", func(old string) (string, error) { return old + " two", nil })
	if err != nil {
		t.Fatal(err)
	}
	m := edited.Memory
	stored, err := s.Get(t.Context(), memento.ByPath("/a"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored, m); diff != "" {
		t.Error("Edit returned another memory than is stored (-stored +returned):\n" + diff)
	}
	if m.Content != "one two" {
		t.Errorf("it holds %q", m.Content)
	}
	// One that changes nothing makes no version.
	same, err := s.Edit(t.Context(), by, "/a", func(old string) (string, error) { return old, nil })
	if err != nil || same.Memory.Version != m.Version || !same.Memory.UpdatedAt.Equal(m.UpdatedAt) {
		t.Errorf("%+v, %v", same, err)
	}
	ours := errors.New("ours")
	if _, err := s.Edit(t.Context(), by, "/a", func(string) (string, error) { return "lost", ours }); err != ours {
		t.Errorf("the function's error came back as %v", err)
	}
	if _, err := s.Edit(t.Context(), by, "/a", func(string) (string, error) { return "far more than the limit allows", nil }); !errors.Is(err, memento.ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
	if versions := memories.Versions(t, s, memento.VersionListOptions{}); len(versions) != 2 || versions[1].CreatedBy != by {
		t.Errorf("the history is %+v", versions)
	}
}

func TestCancelledContext(t *testing.T) {
	s := memories.New(memento.Limits{})
	memories.Put(t, s, "/a", "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, get := s.Get(ctx, memento.ByPath("/a"))
	_, apply := s.Apply(ctx, nobody, memento.Put{Path: "/b"})
	_, edit := s.Edit(ctx, nobody, "/a", func(old string) (string, error) { return old + "x", nil })
	var list, versions error
	for _, err := range s.List(ctx, memento.ListOptions{}) {
		list = err
	}
	for _, err := range s.Versions(ctx, memento.VersionListOptions{}) {
		versions = err
	}
	for name, err := range map[string]error{"Get": get, "Apply": apply, "Edit": edit, "List": list, "Versions": versions} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if diff := cmp.Diff(map[memento.Path]string{"/a": "a"}, memories.Contents(t, s)); diff != "" {
		t.Error("(-want +got):\n" + diff)
	}
}

// Whoever stops listening in the middle may go on using the store.
func TestBreakingOutOfListings(t *testing.T) {
	s := memories.New(memento.Limits{})
	for _, p := range []memento.Path{"/a", "/b", "/c"} {
		memories.Put(t, s, p, "x")
	}
	var seen []memento.Path
	for e, err := range s.List(t.Context(), memento.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, e.Path)
		memories.Put(t, s, e.Path, "changed")
		if e.Path == "/b" {
			break
		}
	}
	for v, err := range s.Versions(t.Context(), memento.VersionListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, v.Path)
		memories.Put(t, s, "/c", "changed")
		break
	}
	if want := []memento.Path{"/a", "/b", "/b"}; !slices.Equal(seen, want) {
		t.Errorf("seen %q, want %q", seen, want)
	}
}

// Programs can ask for the errors of package io/fs.
func TestErrorsOfFiles(t *testing.T) {
	files := []error{fs.ErrNotExist, fs.ErrExist, fs.ErrInvalid, fs.ErrPermission, fs.ErrClosed}
	for err, of := range map[error]error{
		memento.ErrNotExist:    fs.ErrNotExist,
		memento.ErrExist:       fs.ErrExist,
		memento.ErrInvalid:     fs.ErrInvalid,
		memento.ErrInvalidPath: fs.ErrInvalid,
		memento.ErrIsDir:       nil,
		memento.ErrNoStore:     nil, // to take it for a missing memory could lead to a new store
		memento.ErrConflict:    nil,
	} {
		wrapped := &memento.Error{Op: "get", Path: "/a.md", Err: fmt.Errorf("%w: details", err)}
		for _, file := range files {
			if got := errors.Is(wrapped, file); got != (file == of) {
				t.Errorf("%v is %v: %v", wrapped, file, got)
			}
		}
		if !errors.Is(wrapped, err) {
			t.Errorf("%v is not %v", wrapped, err)
		}
	}
	if errors.Is(memento.ErrInvalid, memento.ErrInvalidPath) || errors.Is(memento.ErrInvalidPath, memento.ErrInvalid) || errors.Is(fs.ErrNotExist, memento.ErrNotExist) {
		t.Error("errors are each other that only have something in common")
	}

	s := memories.New(memento.Limits{})
	if _, err := s.Get(t.Context(), memento.ByPath("/none.md")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing memory: %v", err)
	}
	memories.Put(t, s, "/a.md", "x")
	if _, err := s.Apply(t.Context(), memento.Actor{}, memento.Put{Path: "/a.md", If: memento.IfAbsent()}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a memory that exists: %v", err)
	}
	if _, err := s.Get(t.Context(), memento.ByPath("a.md")); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("an invalid path: %v", err)
	}
}

// A store that was opened without a workspace, or without a name, says so when it is used.
func TestOpenNamedIncomplete(t *testing.T) {
	for _, tt := range []struct {
		ws   memento.Workspace
		name string
		want string
	}{
		{"", "notes", "open store: invalid value: no workspace was given; programs that need only one use DefaultWorkspace"},
		{memento.DefaultWorkspace, "", "open store: invalid value: a store must have a name"},
	} {
		b := memstore.New(nil)
		s := memento.OpenNamed(b, tt.ws, memento.StoreSpec{Name: tt.name}, memories.Guarded())
		_, read := s.Get(t.Context(), memento.ByPath("/a.md"))
		_, wrote := s.Apply(t.Context(), memento.Actor{}, memento.Put{Path: "/a.md"})
		for _, err := range []error{read, wrote} {
			if !errors.Is(err, memento.ErrInvalid) || err.Error() != tt.want {
				t.Errorf("workspace %q, name %q: %v", tt.ws, tt.name, err)
			}
		}
	}
}

// However many edit at once, nobody's edit is lost.
func ExampleStore_Edit() {
	ctx := context.Background()
	store := memento.OpenNamed(memstore.New(nil), memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, &memento.StoreOptions{Detector: sensitive.Default()})
	by := memento.Actor{Kind: memento.ActorUser, ID: "ann"}

	if _, err := store.Apply(ctx, by, memento.Put{Path: "/todo.md", Content: "[ ] tests\n"}); err != nil {
		log.Fatal(err)
	}
	// The function may be called again, with what another has written meanwhile.
	edited, err := store.Edit(ctx, by, "/todo.md", func(old string) (string, error) {
		return strings.Replace(old, "[ ] tests", "[x] tests", 1), nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(edited.Memory.Content)
	// Output:
	// [x] tests
}

// Several changes happen wholly or not at all.
func ExampleStore_Apply() {
	ctx := context.Background()
	store := memento.OpenNamed(memstore.New(nil), memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, &memento.StoreOptions{Detector: sensitive.Default()})
	by := memento.Actor{Kind: memento.ActorUser, ID: "ann"}

	_, err := store.Apply(ctx, by,
		memento.Put{Path: "/notes/a.md", Content: "a"},
		memento.Put{Path: "/notes/b.md", Content: "b", If: memento.IfAbsent()},
		memento.Move{From: "/notes", To: "/archive"},
		memento.Remove{Path: "/none.md"},
	)
	fmt.Println(err, errors.Is(err, memento.ErrNotExist))
	for range store.List(ctx, memento.ListOptions{}) {
		fmt.Println("something was written")
	}
	// Output:
	// remove /none.md: does not exist true
}

// A directory's listing can be rolled up, and read page by page.
func ExampleStore_List() {
	ctx := context.Background()
	store := memento.OpenNamed(memstore.New(nil), memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, &memento.StoreOptions{Detector: sensitive.Default()})
	for _, p := range []memento.Path{"/a.md", "/notes/x.md", "/notes/y.md", "/z.md"} {
		if _, err := store.Apply(ctx, memento.Actor{}, memento.Put{Path: p, Content: "12345"}); err != nil {
			log.Fatal(err)
		}
	}
	after := ""
	for {
		n := 0
		for e, err := range store.List(ctx, memento.ListOptions{Depth: 1, After: after, Limit: 2}) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(e.Path, e.Dir, e.Usage.Bytes)
			after = e.Cursor()
			n++
		}
		if n < 2 {
			break
		}
		fmt.Println("next page")
	}
	// Output:
	// /a.md false 5
	// /notes true 10
	// next page
	// /z.md false 5
}

func ExampleParsePath() {
	for _, s := range []string{"/notes/a.md", "notes/a.md", "/notes/../a.md"} {
		p, err := memento.ParsePath(s)
		fmt.Printf("%q %v\n", p, err)
	}
	// Output:
	// "/notes/a.md" <nil>
	// "" invalid path "notes/a.md": it does not start with a slash
	// "" invalid path "/notes/../a.md": "." and ".." are not allowed as names
}
