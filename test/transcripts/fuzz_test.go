package transcripts

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"

	"memento"
	"memento/backend/memstore"
	"memento/test/memories"
)

// FuzzToolRun sends arbitrary inputs, one a line, to one store, and checks the
// answers and what the store holds then.
func FuzzToolRun(f *testing.F) {
	for _, seed := range inputSeeds(f) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, session []byte) {
		s := memories.New(memento.Limits{MemoryBytes: 4096, Memories: 20, Bytes: 16 << 10})
		memories.Put(t, s, "/notes.md", "first line\nsecond line\n")
		memories.Put(t, s, "/dir/sub/a.md", "a\nb\nc")
		memories.Put(t, s, "/.hidden/x", "made elsewhere")
		tool := memento.NewTool(s, &memento.ToolOptions{ViewChars: 500})
		// A newline within an input only tears it, which is an input as well.
		for in := range bytes.SplitSeq(session, []byte("\n")) {
			before, err := s.Info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r := tool.Run(t.Context(), in)
			checkFuzzAnswer(t, in, r)
			after, err := s.Info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if r.IsError && after.Usage != before.Usage {
				t.Fatalf("%q: %q changed %v to %v", in, r.Content, before.Usage, after.Usage)
			}
			if r.IsError && !utf8.Valid(in) && !strings.Contains(r.Content, "UTF-8") {
				t.Fatalf("%q: %q", in, r.Content)
			}
			if !r.IsError && !json.Valid(in) {
				t.Fatalf("%q: is no JSON, but was done", in)
			}
		}
		checkStore(t, s)
	})
}

// FuzzScopedTool is FuzzToolRun for a tool on several stores: one command changes
// one of them at most, a refused one none, and a read-only mount never changes.
func FuzzScopedTool(f *testing.F) {
	for _, seed := range inputSeeds(f) {
		f.Add([]byte(seed))
		for _, mount := range []string{"/memories/user", "/memories/team", "/memories/fixed"} {
			f.Add([]byte(strings.ReplaceAll(seed, "/memories", mount)))
		}
	}
	f.Fuzz(func(t *testing.T, session []byte) {
		b := memstore.New(nil)
		open := func(name string) *memento.Store {
			s := memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: name, Limits: memento.Limits{MemoryBytes: 4096, Memories: 20, Bytes: 16 << 10}}, memories.Guarded())
			memories.Put(t, s, "/notes.md", "first line\nsecond line\n")
			memories.Put(t, s, "/dir/sub/a.md", "a\nb\nc")
			memories.Put(t, s, "/.hidden/x", "made elsewhere")
			return s
		}
		user, team, fixed := open("user"), open("team"), open("fixed")
		opts := &memento.ToolOptions{ViewChars: 500, Search: true}
		tool, err := memento.NewScopedTool([]memento.Mount{{Name: "user", Store: user}, {Name: "team", Store: team}, {Name: "fixed", Store: fixed, ReadOnly: true}}, opts)
		if err != nil {
			t.Fatal(err)
		}
		before := newest(t, fixed)
		for in := range bytes.SplitSeq(session, []byte("\n")) {
			was := []int64{newest(t, user), newest(t, team)}
			r := tool.Run(t.Context(), in)
			checkFuzzAnswer(t, in, r)
			is := []int64{newest(t, user), newest(t, team)}
			if r.IsError && !slices.Equal(was, is) {
				t.Fatalf("%q: %q, but something was changed", in, r.Content)
			}
			if was[0] != is[0] && was[1] != is[1] {
				t.Fatalf("%q changed two stores", in)
			}
		}
		if newest(t, fixed) != before {
			t.Fatalf("%q changed a read-only mount", session)
		}
		for _, s := range []*memento.Store{user, team, fixed} {
			checkStore(t, s)
		}
	})
}

// newest returns the Seq of a store's newest version.
func newest(t *testing.T, s *memento.Store) int64 {
	t.Helper()
	for v, err := range s.Versions(t.Context(), memento.VersionListOptions{Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		return v.Seq
	}
	return 0
}

func checkFuzzAnswer(t *testing.T, in []byte, r memento.Result) {
	t.Helper()
	if r.Content == "" || !utf8.ValidString(r.Content) {
		t.Fatalf("%q: the answer is %q", in, r.Content)
	}
	if !r.IsError {
		return
	}
	for _, start := range []string{"Error: ", "The path ", "File ", "No replacement was performed"} {
		if strings.HasPrefix(r.Content, start) && len(r.Content) > len(start)+10 {
			return
		}
	}
	t.Fatalf("%q: the refusal is %q", in, r.Content)
}

// checkStore checks that a store holds only what the tool may make.
func checkStore(t *testing.T, s *memento.Store) {
	t.Helper()
	var usage memento.Usage
	var last memento.Path
	for e, err := range s.List(t.Context(), memento.ListOptions{Contents: true}) {
		if err != nil {
			t.Fatal(err)
		}
		usage.Memories++
		usage.Bytes += int64(len(e.Memory.Content))
		p := string(e.Path)
		if path.Clean(p) != p || !strings.HasPrefix(p, "/") || len(p) < 2 || strings.Contains(p, "\x00") {
			t.Fatalf("the store has the path %q", p)
		}
		if e.Path <= last || last != "" && last.Contains(e.Path) {
			t.Fatalf("the store has %q and %q", last, p)
		}
		last = e.Path
		hidden := slices.ContainsFunc(strings.Split(p, "/"), func(name string) bool {
			return strings.HasPrefix(name, ".") || name == "node_modules"
		})
		if hidden && p != "/.hidden/x" {
			t.Fatalf("the tool made %q", p)
		}
		if !utf8.ValidString(e.Memory.Content) || e.Memory.SHA256 != memento.HashContent(e.Memory.Content) {
			t.Fatalf("%s holds %q", p, e.Memory.Content)
		}
		if v, err := s.Version(t.Context(), e.Memory.Version); err != nil || v.Content != e.Memory.Content || v.Path != e.Path {
			t.Fatalf("%s is version %q at %q, %v", p, v.Content, v.Path, err)
		}
	}
	info, err := s.Info(t.Context())
	if err != nil || info.Usage != usage {
		t.Fatalf("the store counts %v, %v; it holds %v", info.Usage, err, usage)
	}
}

// inputSeeds returns the inputs of all transcripts, and broken ones.
func inputSeeds(tb testing.TB) []string {
	tb.Helper()
	seeds := []string{
		``, `{`, `{}`, `[]`, `null`, `0`, `"view"`, "\xff", "\xef\xbb\xbf{}", `{"command":"view","path":"/memories"}}`,
		`{"command":"view","command":"delete","path":"/memories"}`,
		`{"COMMAND":"view","Path":"/memories"}`,
		`{"command":"view","path":null}`,
		`{"command":"view","path":["/memories"]}`,
		`{"command":"view","path":"/memories/notes.md","view_range":[1.0,-1e0]}`,
		`{"command":"view","path":"/memories/notes.md","view_range":[99999999999999999999,1e999]}`,
		`{"command":"view","path":"/memories/notes.md","view_range":[-0,-0.0]}`,
		`{"command":"insert","path":"/memories/notes.md","insert_line":1e-400,"insert_text":""}`,
		`{"command":"insert","path":"/memories/notes.md","insert_line":true,"insert_text":"x"}`,
		`{"command":"insert","path":"/memories/dir/sub/a.md","insert_line":3,"insert_text":"\n\n"}`,
		`{"command":"create","path":"/memories/\ud83d\ude00","file_text":"\ud83d\ude00\u0000"}`,
		`{"command":"create","path":"/memories/x","file_text":"\udc00\ud800"}`,
		`{"command":"create","path":"/memories/x","file_text":"\\ud800"}`,
		`{"command":"create","path":"/memories/.x","file_text":"x"}`,
		`{"command":"create","path":"/memories/dir","file_text":"x"}`,
		`{"command":"str_replace","path":"/memories/notes.md","old_str":"line","new_str":"$&"}`,
		`{"command":"str_replace","path":"/memories/notes.md","old_str":"first line\nsecond line\n"}`,
		`{"command":"rename","old_path":"/memories/.hidden","new_path":"/memories/shown"}`,
		`{"command":"rename","old_path":"/memories/dir","new_path":"/memories/node_modules"}`,
		`{"command":"rename","old_path":"/memories/dir/","new_path":"/memories/notes.md/x"}`,
		`{"command":"delete","path":"/memories/dir/"}`,
		`{"command":"view","path":"/memories","extra":` + strings.Repeat("[", 50) + strings.Repeat("]", 50) + `}`,
		"{\"command\":\"create\",\"path\":\"/memories/a\",\"file_text\":\"1\"}\n" +
			"{\"command\":\"create\",\"path\":\"/memories/a/b\",\"file_text\":\"2\"}\n" +
			"{\"command\":\"rename\",\"old_path\":\"/memories/a\",\"new_path\":\"/memories/dir/sub/a.md/x\"}",
	}
	for _, file := range transcripts(tb) {
		conversation, err := txtar.ParseFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		for _, section := range conversation.Files {
			if section.Name == "input" {
				seeds = append(seeds, strings.TrimSuffix(string(section.Data), "\n"))
			}
		}
	}
	return seeds
}
