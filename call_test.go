package memento_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

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
