package memento_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"memento"
	"memento/backend/memstore"
	"memento/test/memories"
)

func ExampleNewScopedTool() {
	backend := memstore.New(nil)
	defer backend.Close()
	store := func(name string) *memento.Store {
		return memento.OpenNamed(backend, memento.DefaultWorkspace, memento.StoreSpec{
			Name:     name,
			Settings: &memento.Settings{Sensitive: memento.Sensitive{Mode: memento.Off}},
		}, nil)
	}
	tool, err := memento.NewScopedTool([]memento.Mount{
		{Name: "user", Store: store("user-42")},
		{Name: "handbook", Store: store("handbook"), ReadOnly: true},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	run := func(input string) {
		fmt.Println(tool.Run(context.Background(), []byte(input)).Content)
	}
	run(`{"command": "create", "path": "/memories/user/notes.md", "file_text": "likes tea\n"}`)
	run(`{"command": "view", "path": "/memories"}`)
	run(`{"command": "delete", "path": "/memories/handbook/rules.md"}`)
	// Output:
	// File created successfully at: /memories/user/notes.md
	// Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:
	// 10B	/memories
	// 0B	/memories/handbook/
	// 10B	/memories/user/
	// 10B	/memories/user/notes.md
	// Error: /memories/handbook is read-only: what is in it can be viewed, but nothing can be created, changed, renamed or deleted there. Write to a file in /memories/user instead.
}

func TestMountNames(t *testing.T) {
	for _, names := range [][]string{
		{"user"}, {"user", "team"}, {"a", "b", "c"}, {"über uns"}, {"日本語"}, {"100%"}, {"a,b"}, {"memories"},
		{strings.Repeat("a", 64)},
	} {
		if err := memento.CheckMountNames(names...); err != nil {
			t.Errorf("%q: %v", names, err)
		}
	}
	tests := []struct {
		names []string
		want  string
	}{
		{nil, "there are no mounts"},
		{[]string{""}, "it is empty"},
		{[]string{"user", ""}, "it is empty"},
		{[]string{strings.Repeat("a", 65)}, "it is longer than 64 bytes"},
		{[]string{strings.Repeat("é", 33)}, "it is longer than 64 bytes"},
		{[]string{"a/b"}, "it has a slash"},
		{[]string{"/a"}, "it has a slash"},
		{[]string{"."}, `"." and ".." are not allowed`},
		{[]string{".."}, `"." and ".." are not allowed`},
		{[]string{".git"}, "hidden"},
		{[]string{"node_modules"}, "hidden"},
		{[]string{"a\x00"}, "control or format character"},
		{[]string{"a\u200b"}, "control or format character"},
		{[]string{"e\u0301"}, "NFC"},
		{[]string{"\xff"}, "not valid UTF-8"},
		{[]string{"a%2fb"}, "percent-encoded"},
		{[]string{`a\b`}, "backslash"},
		{[]string{"user", "user"}, "there can be only one of them"},
		{[]string{"user", "team", "USER"}, "there can be only one of them"},
		{[]string{"ÉTÉ", "été"}, "there can be only one of them"},
	}
	for _, tt := range tests {
		err := memento.CheckMountNames(tt.names...)
		if !errors.Is(err, memento.ErrInvalid) || !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%q: %v; want ErrInvalid, %s", tt.names, err, tt.want)
		}
	}
}

func TestNewScopedToolRefuses(t *testing.T) {
	s, other := memories.New(memento.Limits{}), memories.New(memento.Limits{})
	tests := []struct {
		name   string
		mounts []memento.Mount
		want   string
	}{
		{"no mounts", nil, "there are no mounts"},
		{"no store", []memento.Mount{{Name: "a", Store: s}, {Name: "b"}}, `mount "b" has no store`},
		{"one store twice", []memento.Mount{{Name: "a", Store: s}, {Name: "b", Store: other}, {Name: "c", Store: s, ReadOnly: true}}, `mounts "a" and "c" have the same store`},
		{"one name twice", []memento.Mount{{Name: "a", Store: s}, {Name: "A", Store: other}}, "there can be only one of them"},
		{"a bad name", []memento.Mount{{Name: "a/b", Store: s}}, "it has a slash"},
	}
	for _, tt := range tests {
		tool, err := memento.NewScopedTool(tt.mounts, nil)
		if tool != nil || !errors.Is(err, memento.ErrInvalid) || !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%s: %v; want ErrInvalid, %s", tt.name, err, tt.want)
		}
	}
}

// scoped returns a tool on two stores in one backend, and the stores.
func scoped(t testing.TB, backend memento.Backend, limits memento.Limits) (tool *memento.Tool, user, team *memento.Store) {
	t.Helper()
	open := func(name string) *memento.Store {
		return memento.OpenNamed(backend, memento.DefaultWorkspace, memento.StoreSpec{Name: name, Limits: limits}, memories.Guarded())
	}
	user, team = open("user"), open("team")
	tool, err := memento.NewScopedTool([]memento.Mount{{Name: "user", Store: user}, {Name: "team", Store: team, ReadOnly: true}}, &memento.ToolOptions{ViewChars: 500})
	if err != nil {
		t.Fatal(err)
	}
	return tool, user, team
}

// The name of a mount does not count towards the length of a path.
func TestLongPathsInMounts(t *testing.T) {
	tool, _, _ := scoped(t, memstore.New(nil), memento.Limits{})
	long := "/memories/user/" + strings.Repeat("a", 1023)
	if _, err := tool.Create(t.Context(), long, "x"); err != nil {
		t.Error(err)
	}
	if text, err := tool.View(t.Context(), long); err != nil || !strings.HasSuffix(text, "     1\tx") {
		t.Errorf("%q, %v", text, err)
	}
	_, err := tool.Create(t.Context(), long+"a", "x")
	if want := "Error: Invalid path " + long[:1024] + "…: it is longer than 1,024 bytes"; fmt.Sprint(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// What reads, or is refused, makes no store.
func TestMountsAreMadeByWriting(t *testing.T) {
	b := memstore.New(nil)
	tool, _, _ := scoped(t, b, memento.Limits{})
	for _, in := range [][]byte{
		input("view", "path", "/memories"),
		input("view", "path", "/memories/team"),
		input("view", "path", "/memories/team/a.md"),
		input("create", "path", "/memories/team/a.md", "file_text", "x"),
		input("delete", "path", "/memories/team/a.md"),
		input("rename", "old_path", "/memories/user/a.md", "new_path", "/memories/team/a.md"),
		input("rename", "old_path", "/memories/user/a.md", "new_path", "/memories/a.md"),
		input("create", "path", "/memories/a.md", "file_text", "x"),
	} {
		tool.Run(t.Context(), in)
	}
	names := func() (names []string) {
		for info, err := range b.ListStores(t.Context(), memento.DefaultWorkspace, memento.StoreListOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, info.Name)
		}
		return names
	}
	if made := names(); len(made) > 0 {
		t.Errorf("made %q", made)
	}
	if _, err := tool.Create(t.Context(), "/memories/user/a.md", "x"); err != nil {
		t.Fatal(err)
	}
	if made := names(); !slices.Equal(made, []string{"user"}) {
		t.Errorf("made %q", made)
	}
}

// A mount whose store fails says so by its name; the others go on.
func TestMountThatFails(t *testing.T) {
	b := memstore.New(nil)
	tool, user, team := scoped(t, b, memento.Limits{})
	memories.Put(t, user, "/a.md", "a\n")
	memories.Put(t, team, "/b.md", "b\n")
	id, err := team.ID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.DeleteStore(t.Context(), memento.DefaultWorkspace, id); err != nil {
		t.Fatal(err)
	}
	const gone = "Error: This memory store (/memories/team) no longer exists. Tell the user; nothing can be read or saved in it."
	// The others are shown.
	want := "/memories/user/a.md\n[What is in /memories/team cannot be shown at present. View it to see why.]"
	if text, err := tool.View(t.Context(), "/memories"); err != nil || !strings.HasSuffix(text, want) {
		t.Errorf("%q, %v", text, err)
	}
	for _, path := range []string{"/memories/team", "/memories/team/b.md"} {
		if _, err := tool.View(t.Context(), path); fmt.Sprint(err) != gone || !errors.Is(err, memento.ErrNoStore) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if text, err := tool.View(t.Context(), "/memories/user/a.md"); err != nil || !strings.HasSuffix(text, "     1\ta") {
		t.Errorf("%q, %v", text, err)
	}
}

// If no mount can be shown, that is an error.
func TestMountsThatAllFail(t *testing.T) {
	b := memstore.New(nil)
	tool, user, _ := scoped(t, b, memento.Limits{})
	memories.Put(t, user, "/a.md", "a\n")
	b.Close()
	if _, err := tool.View(t.Context(), "/memories"); !errors.Is(err, memento.ErrClosed) {
		t.Errorf("%v, want ErrClosed", err)
	}
}

// Faults of the storage, in the words for several stores.
func TestFaultsOfMounts(t *testing.T) {
	for cause, want := range map[error]string{
		memento.ErrNoSpace:  "Error: The storage of this memory store (/memories/user) is full. Nothing was changed. Tell the user, who has to make room before anything can be saved.",
		memento.ErrReadOnly: "Error: The storage of this memory store (/memories/user) is read-only. Nothing was changed. Tell the user, who has to allow writing before anything can be saved.",
		memento.ErrForeign:  "Error: /memories/user/notes.md is not a text file that can be read or changed here; it was left alone. Choose another path.",
		memento.ErrNotDir:   "Error: The path /memories/user/x.md cannot exist because /memories/user/notes.md is a file, not a directory. Choose another path.",
		memento.ErrClosed:   "Error: The memory store failed to complete the command on /memories/user/x.md. Nothing was changed. Try again; if it fails again, tell the user.",
	} {
		tool, _, _ := scoped(t, broken{memstore.New(nil), cause}, memento.Limits{})
		if _, err := tool.Create(t.Context(), "/memories/user/x.md", "x"); fmt.Sprint(err) != want || !errors.Is(err, cause) {
			t.Errorf("%v: %v", cause, err)
		}
	}
}

// The errors of the typed methods carry their reason.
func TestMountErrors(t *testing.T) {
	tool, user, team := scoped(t, memstore.New(nil), memento.Limits{})
	memories.Put(t, user, "/a.md", "x")
	memories.Put(t, team, "/b.md", "x")
	ctx := t.Context()
	only := func(_ string, err error) error { return err }
	tests := []toolError{
		{"view beside the mounts", only(tool.View(ctx, "/memories/x")), memento.ErrNotExist},
		{"create beside the mounts", only(tool.Create(ctx, "/memories/x", "")), memento.ErrInvalidPath},
		{"create of a mount", only(tool.Create(ctx, "/memories/user", "")), memento.ErrInvalidPath},
		{"create in a read-only mount", only(tool.Create(ctx, "/memories/team/x", "")), memento.ErrProtected},
		{"replace in a read-only mount", only(tool.StrReplace(ctx, "/memories/team/b.md", "x", "y")), memento.ErrProtected},
		{"insert into a read-only mount", only(tool.Insert(ctx, "/memories/team/b.md", 0, "y")), memento.ErrProtected},
		{"delete in a read-only mount", only(tool.Delete(ctx, "/memories/team/b.md")), memento.ErrProtected},
		{"delete of a mount", only(tool.Delete(ctx, "/memories/user")), memento.ErrInvalidPath},
		{"rename of a mount", only(tool.Rename(ctx, "/memories/user", "/memories/me")), memento.ErrInvalidPath},
		{"rename out of a read-only mount", only(tool.Rename(ctx, "/memories/team/b.md", "/memories/user/b.md")), memento.ErrProtected},
		{"rename beside the mounts", only(tool.Rename(ctx, "/memories/user/a.md", "/memories/a.md")), memento.ErrInvalidPath},
	}
	wantToolErrors(t, tests)
	for _, s := range []*memento.Store{user, team} {
		info, err := s.Info(ctx)
		if want := (memento.Usage{Memories: 1, Bytes: 1}); err != nil || info.Usage != want {
			t.Errorf("the store holds %v, %v; want %v", info.Usage, err, want)
		}
	}
}

// A view of the mounts shows as many entries as any view.
func TestViewOfManyMounts(t *testing.T) {
	b := memstore.New(nil)
	var mounts []memento.Mount
	for i := range 30 {
		name := fmt.Sprintf("m%02d", i)
		s := memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: name}, memories.Guarded())
		memories.Put(t, s, "/a.md", "x")
		memories.Put(t, s, "/node_modules/b.md", "xx")
		mounts = append(mounts, memento.Mount{Name: name, Store: s})
	}
	slices.Reverse(mounts)
	tool, err := memento.NewScopedTool(mounts, &memento.ToolOptions{ViewEntries: 3})
	if err != nil {
		t.Fatal(err)
	}
	got, err := tool.View(t.Context(), "/memories")
	want := `Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:
90B	/memories
3B	/memories/m00/
1B	/memories/m00/a.md
3B	/memories/m01/
[Only the first 3 of 60 entries are shown. View a subdirectory to see what is in it.]`
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
