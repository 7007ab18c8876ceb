package memento_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"memento"
	"memento/backend/memstore"
	"memento/test/memories"
)

func TestParseCall(t *testing.T) {
	block := func(input string) string {
		return `{"type":"tool_use","id":"toolu_1","name":"` + memento.ToolName + `","input":` + input + `}`
	}
	const (
		view    = `{"command":"view","path":"/memories/created.md"}`
		create  = `{"command":"create","path":"/memories/view.md","file_text":"x"}`
		replace = `{"command":"str_replace","path":"/memories/view.md","old_str":"view"}`
		insert  = `{"command":"insert","path":"/memories/view.md","insert_line":0,"insert_text":"view"}`
		remove  = `{"command":"delete","path":"/memories/view.md"}`
		rename  = `{"command":"rename","old_path":"/memories/view.md","new_path":"/memories/a.md"}`
	)
	for _, tt := range []struct {
		name, text string
		id         string
		writes     bool
		fails      string // what the error begins with; "" if there is none
	}{
		{"a view", view, "", false, ""},
		{"a create", create, "", true, ""},
		{"a str_replace", replace, "", true, ""},
		{"an insert", insert, "", true, ""},
		{"a delete", remove, "", true, ""},
		{"a rename", rename, "", true, ""},
		{"a block that views", block(view), "toolu_1", false, ""},
		{"a block that writes", block(create), "toolu_1", true, ""},
		{"escapes", `{"type":"tool\u005fuse","\u0069d":"toolu_2","input":{"command":"vi\u0065w","path":"/memories"}}`, "toolu_2", false, ""},
		{"an ID that is no string", `{"type":"tool_use","id":5,"input":` + create + `}`, "", true, ""},
		{"an ID of a bare input", `{"id":"toolu_1","command":"view","path":"/memories"}`, "", false, ""},

		{"nothing", "", "", false, "Error: The input is not a JSON object: its syntax is broken"},
		{"a list", `[` + create + `]`, "", false, "Error: The input is not a JSON object: it is something else"},
		{"no command", `{"path":"/memories/created.md"}`, "", false, "Error: The input has no `command`"},
		{"an unknown command", block(`{"command":"created","path":"/memories"}`), "toolu_1", false, "Error: Unknown command `created`"},
		{"a command that is no string", `{"command":["create"]}`, "", false, "Error: Unknown command `[\"create\"]`"},
		{"no text", block(`{"command":"create","path":"/memories/a"}`), "toolu_1", false, "Error: Missing required field `file_text` for command `create`"},
		{"a line that is no number", `{"command":"insert","path":"/memories/a","insert_line":"1","insert_text":""}`, "", false, "Error: Invalid field `insert_line` for command `insert`"},
		{"another tool", `{"type":"tool_use","id":"toolu_1","name":"bash","input":` + create + `}`, "toolu_1", false, "Error: Tool 'bash' not found"},
		{"no input", `{"type":"tool_use","id":"toolu_1","name":"memory"}`, "toolu_1", false, "Error: The input is not a JSON object: its syntax is broken"},
		{"an input that is no object", block(`"create"`), "toolu_1", false, "Error: The input is not a JSON object: it is something else"},
		{"a key of the input twice", block(`{"command":"view","command":"create","path":"/memories"}`), "toolu_1", false, "Error: The input is not a JSON object: the key \"command\" appears twice"},
		{"a key of the block twice", `{"type":"tool_use","id":"toolu_1","input":{},"input":` + create + `}`, "toolu_1", false, "Error: The input is not a JSON object: the key \"input\" appears twice"},
		{"many keys in the input", block(`{` + manyKeys(101) + `}`), "toolu_1", false, "Error: The input is not a JSON object: it has more than 100 keys"},
		{"not UTF-8", "{\"command\":\"create\",\"path\":\"/memories/\xff\",\"file_text\":\"\"}", "", false, "Error: The input is not a JSON object: it is not valid UTF-8"},
		{"half a character in the input", block(`{"command":"create","path":"/memories/a","file_text":"\ud800"}`), "toolu_1", false, "Error: The input is not a JSON object: it has half of a surrogate pair"},
	} {
		call, err := memento.ParseCall([]byte(tt.text))
		if call.ID != tt.id || call.Writes() != tt.writes {
			t.Errorf("%s: ID %q, writes %v; want %q, %v", tt.name, call.ID, call.Writes(), tt.id, tt.writes)
		}
		if _, ok := errors.AsType[*memento.ToolError](err); (err != nil) != (tt.fails != "") || err != nil && (!ok || !errors.Is(err, memento.ErrInvalid) || !strings.HasPrefix(err.Error(), tt.fails)) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.fails)
		}
		result := memento.NewTool(memories.New(memento.Limits{}), nil).RunCall(t.Context(), call)
		if result.ToolUseID != tt.id || result.Type != "tool_result" || err != nil && (!result.IsError || result.Content != err.Error()) {
			t.Errorf("%s: the answer is %+v", tt.name, result)
		}
		again := memento.NewTool(memories.New(memento.Limits{}), nil).RunBlock(t.Context(), []byte(tt.text))
		if again != result {
			t.Errorf("%s: RunBlock answers %+v; want %+v", tt.name, again, result)
		}
	}
}

// manyKeys returns members with so many different keys.
func manyKeys(n int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = `"` + strings.Repeat("x", i+1) + `":1`
	}
	return strings.Join(members, ",")
}

// A call is parsed once, and can be executed by several tools, and several times.
func TestRunCallAgain(t *testing.T) {
	call, err := memento.ParseCall([]byte(`{"command":"insert","path":"/memories/a.md","insert_line":0,"insert_text":"x\n"}`))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s := memories.New(memento.Limits{})
		memories.Put(t, s, "/a.md", "")
		tool := memento.NewTool(s, nil)
		for range 2 {
			if r := tool.RunCall(t.Context(), call); r.IsError {
				t.Fatal(r.Content)
			}
		}
		if m, err := s.Get(t.Context(), memento.ByPath("/a.md")); err != nil || m.Content != "x\nx\n" {
			t.Errorf("%q, %v", m.Content, err)
		}
	}
	if r := memento.NewTool(memories.New(memento.Limits{}), nil).RunCall(t.Context(), memento.Call{}); !r.IsError || !strings.Contains(r.Content, "`command`") {
		t.Errorf("the zero Call: %+v", r)
	}
}

// Result.Err is the storage's error, and none of the agent's; no JSON has it.
func TestResultErr(t *testing.T) {
	tool := memento.NewTool(memories.New(memento.Limits{MemoryBytes: 10}), nil)
	for _, input := range []string{
		`{"command":"view","path":"/memories"}`,
		`{"command":"view","path":"/memories/none"}`,
		`{"command":"view","path":"/etc"}`,
		`{"command":"create","path":"/memories/a","file_text":"far too large a text"}`,
		`{"command":"delete","path":"/memories"}`,
		`{"command":"touch"}`,
		`{`,
	} {
		if r := tool.Run(t.Context(), []byte(input)); r.Err != nil {
			t.Errorf("%s: Err is %v", input, r.Err)
		}
	}
	for _, cause := range []error{errors.New("the cable is cut"), memento.ErrUnavailable, memento.ErrNoSpace, memento.ErrUncertain} {
		s := memento.OpenNamed(broken{memstore.New(nil), cause}, memento.DefaultWorkspace, memento.StoreSpec{Name: "x"}, memories.Guarded())
		tool := memento.NewTool(s, nil)
		input := []byte(`{"command":"create","path":"/memories/notes.md","file_text":"x"}`)
		if r := tool.Run(t.Context(), input); !r.IsError || !errors.Is(r.Err, cause) {
			t.Errorf("Err is %v; want %v", r.Err, cause)
		}
		block := tool.RunBlock(t.Context(), input)
		if !block.IsError || !errors.Is(block.Err, cause) {
			t.Errorf("Err of the block is %v; want %v", block.Err, cause)
		}
		text, err := json.Marshal(block)
		if err != nil || strings.Contains(string(text), cause.Error()) {
			t.Errorf("the block is sent as %s, %v", text, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := tool.Run(ctx, []byte(`{"command":"view","path":"/memories"}`)); r.Err != nil {
		t.Errorf("after it was cancelled, Err is %v", r.Err)
	}
}

// A missing store is noticed when the tool is made, not when it is used.
func TestNewToolWithoutStore(t *testing.T) {
	defer func() {
		if text, ok := recover().(string); !ok || !strings.Contains(text, "the store is nil") {
			t.Errorf("the panic is %q", text)
		}
	}()
	memento.NewTool(nil, nil)
}

// A call of an interrupted conversation is executed only if it changes nothing.
func TestInterrupted(t *testing.T) {
	store := memories.New(memento.Limits{})
	memories.Put(t, store, "/a.md", "text\n")
	tool := memento.NewTool(store, nil)
	for _, tt := range []struct{ input, want string }{
		{`{"command":"view","path":"/memories/a.md"}`, "Here's the content of /memories/a.md with line numbers:\n     1\ttext"},
		{`{"command":"delete","path":"/memories/a.md"}`, "Error: The command was cancelled before it finished. View /memories/a.md to see whether it took effect."},
		{`{"command":"rename","old_path":"/memories/a.md","new_path":"/memories/b.md"}`, "Error: The command was cancelled before it finished. View /memories/b.md to see whether it took effect."},
		{`{"command":"create","path":"/memories/c.md"}`, "Error: Missing required field `file_text` for command `create`."},
	} {
		c, _ := memento.ParseCall([]byte(tt.input))
		r := tool.Interrupted(t.Context(), c)
		if r.Content != tt.want || r.IsError != strings.HasPrefix(tt.want, "Error: ") || r.Type != "tool_result" {
			t.Errorf("%s: %+v", tt.input, r)
		}
	}
	if m, err := store.Get(t.Context(), memento.ByPath("/a.md")); err != nil || m.Content != "text\n" {
		t.Errorf("%q, %v", m.Content, err)
	}
}

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
		opts := &memento.ToolOptions{ViewChars: 500}
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

var update = flag.Bool("update", false, "rewrite the answers in testdata/tool")

// A transcript in testdata/tool is a conversation with the tool, one section a
// turn. Its sections are
//
//	mount NAME       what follows, up to the next one, is of the store mounted as NAME
//	mount NAME ro    the same, the mount being read-only
//	store            limits of the store, as JSON
//	settings         settings of the store, as JSON; what is left out is the default
//	tool             options of the tool, as JSON
//	profile NAME     the profile of the tool
//	put P            a memory that is there already, at the store's path P
//	put P xN         the same, its text N times
//	archive          the store is archived here
//	input            what the agent sends
//	result           the answer to it
//	error            the answer to it, marked as an error
//
// Without mounts the tool is on one store. The line end before the next section
// is not part of an answer.
func TestTranscripts(t *testing.T) {
	for _, file := range transcripts(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			conversation, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			play(t, conversation)
			if !*update {
				return
			}
			if err := os.WriteFile(file, txtar.Format(conversation), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func transcripts(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/tool/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	return files
}

// play goes through a conversation and compares the answers; with -update it
// writes them into it.
func play(t *testing.T, conversation *txtar.Archive) {
	t.Helper()
	var (
		st   = newStage()
		last memento.Result
	)
	for i := range conversation.Files {
		section := &conversation.Files[i]
		if st.set(t, section) {
			continue
		}
		switch section.Name {
		case "input":
			last = st.tool(t).Run(t.Context(), section.Data)
			checkAnswer(t, last)
		case "result", "error":
			got := "result"
			if last.IsError {
				got = "error"
			}
			if *update {
				section.Name, section.Data = got, []byte(last.Content+"\n")
				continue
			}
			if diff := cmp.Diff(answerText(section), last.Content); section.Name != got || diff != "" {
				t.Errorf("section %d, answer to %s: got %s (-want +got):\n%s", i+1, conversation.Files[i-1].Data, got, diff)
			}
		default:
			t.Fatalf("section %d: unknown name %q", i+1, section.Name)
		}
	}
}

func answerText(section *txtar.File) string {
	return strings.TrimSuffix(string(section.Data), "\n")
}

func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
}

// checkAnswer checks what holds for every answer.
func checkAnswer(t *testing.T, r memento.Result) {
	t.Helper()
	switch {
	case r.Content == "":
		t.Error("the answer is empty")
	case !utf8.ValidString(r.Content):
		t.Errorf("the answer is not valid UTF-8: %q", r.Content)
	}
}

// input returns a command as an agent sends it. args are names and values.
func input(command string, args ...any) []byte {
	object := map[string]any{"command": command}
	for i := 0; i < len(args); i += 2 {
		object[fmt.Sprint(args[i])] = args[i+1]
	}
	raw, err := json.Marshal(object)
	if err != nil {
		panic(err) // only strings and numbers go in
	}
	return raw
}
