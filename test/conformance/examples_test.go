package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func TestCurlExample(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	out := s.runExample(t, "../../examples/curl", nil, "sh", "tour.sh")
	answers := map[string]string{} // by heading
	heading := ""
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "# ") {
			heading = strings.TrimSpace(line)
		} else {
			answers[heading] += line
		}
	}
	for _, tt := range []struct {
		heading string
		holds   []string
	}{
		{"# A store by", []string{`"type":"memory_store"`, `"name":"user 42"`}},
		{"# A call", []string{`"type":"tool_result"`, `"tool_use_id":"toolu_01"`, "File created successfully at: /memories/style.md"}},
		{"# Several calls", []string{`     2\tLikes short answers.`}},
		{"# The memories", []string{`"path":"/style.md"`, `"content":"Prefers tabs.\nLikes short answers.\n"`}},
		{"# What happened", []string{`"session_id":"sesn_01"`, `"operation":"created"`, `"operation":"modified"`}},
		{"# By words", []string{"style.md"}},
	} {
		found := ""
		for heading, answer := range answers {
			if strings.HasPrefix(heading, tt.heading) {
				found = answer
			}
		}
		for _, text := range tt.holds {
			if !strings.Contains(found, text) {
				t.Errorf("%s: %s does not hold %s", tt.heading, found, text)
			}
		}
	}
}

// conversation is what a model asks of its memory in one turn each, and what it is
// to be told.
var conversation = []struct {
	input  string
	result string
	failed bool
}{
	{`{"command":"view","path":"/memories"}`, "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n", false},
	{`{"command":"create","path":"/memories/style.md","file_text":"Prefers spaces.\n"}`, "File created successfully at: /memories/style.md", false},
	{`{"command":"create","path":"/memories/style.md","file_text":"again"}`, "Error: File /memories/style.md already exists", true},
	{`{"command":"str_replace","path":"/memories/style.md","old_str":"spaces","new_str":"tabs"}`, "The memory file has been edited.", false},
	{`{"command":"insert","path":"/memories/style.md","insert_line":1,"insert_text":"Likes short answers.\n"}`, "The file /memories/style.md has been edited.", false},
	{`{"command":"rename","old_path":"/memories/style.md","new_path":"/memories/prefs/style.md"}`, "Successfully renamed /memories/style.md to /memories/prefs/style.md", false},
	{`{"command":"create","path":"/memories/draft.md","file_text":""}`, "File created successfully at: /memories/draft.md", false},
	{`{"command":"delete","path":"/memories/draft.md"}`, "Successfully deleted /memories/draft.md", false},
}

func TestGoExample(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "go-client")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = "../../examples/go-client"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	testRemembers(t, "../../examples/go-client", program)
}

func TestTypeScriptExample(t *testing.T) {
	t.Parallel()
	const dir = "../../examples/typescript"
	if err := installPackages(dir); err != nil {
		t.Fatal(err)
	}
	// With its types, which check what the example does against the SDK's.
	build := exec.Command("npm", "run", "build")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	testRemembers(t, dir, "node", "dist/remember.js")
}

// testRemembers has a program talk to a model with a script.
func testRemembers(t *testing.T, dir string, program ...string) {
	s := startServer(t)
	m := startModel(t)
	env := []string{"ANTHROPIC_BASE_URL=" + m.url, "ANTHROPIC_API_KEY=of the model"}
	out := s.runExample(t, dir, env, append(program, "I prefer tabs.")...)
	const memory = `/prefs/style.md: "Prefers tabs.\nLikes short answers.\n"`
	if !strings.Contains(out, "I will remember that.\n"+memory+"\n") {
		t.Errorf("it printed %q", out)
	}
	m.check(t)

	// The next one finds what is there, in the same store.
	out = s.runExample(t, dir, append(env, "ANTHROPIC_BASE_URL="+startModel(t).url), append(program, "Hello again.")...)
	if !strings.Contains(out, memory) {
		t.Errorf("the second conversation printed %q", out)
	}
	c := newSDK2(s.url, s.key, nil)
	stores := must(c.Stores(t.Context(), storeQuery{}))(t)
	if names := storeNames(stores); !slices.Equal(names, []string{"user 42"}) {
		t.Errorf("there are stores %v, want one", names)
	}
}

// runExample runs a program with the server's address and key, and returns what it
// prints.
func (s *server) runExample(t *testing.T, dir string, env []string, program ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program[0], program[1:]...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "MEMENTO_URL="+s.url, "MEMENTO_KEY="+s.key), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
	return string(out)
}

// A model answers the Messages API as the conversation has it.
type model struct {
	url string

	mu       sync.Mutex
	requests int
	results  []toolResult
	tools    []string
	err      error
}

type toolResult struct {
	Type      string
	ToolUseID string `json:"tool_use_id"`
	Content   json.RawMessage
	IsError   bool `json:"is_error"`
}

func startModel(t *testing.T) *model {
	t.Helper()
	m := &model{}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	m.url = server.URL
	return m
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.requests++; m.requests > 2*len(conversation) {
		http.Error(w, "this conversation does not end", http.StatusBadRequest)
		return
	}
	var request struct {
		Tools    []struct{ Type, Name string }
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	body, err := io.ReadAll(r.Body)
	m.err = errors.Join(m.err, err, json.Unmarshal(body, &request))
	turn := 0 // told by the last result: a request may leave out what was sent before
	for _, message := range request.Messages {
		var blocks []toolResult
		if message.Role != "user" || json.Unmarshal(message.Content, &blocks) != nil {
			continue
		}
		for _, b := range blocks {
			if b.Type != "tool_result" {
				continue
			}
			asked, err := strconv.Atoi(strings.TrimPrefix(b.ToolUseID, "toolu_"))
			if err != nil || asked > len(m.results) {
				m.err = errors.Join(m.err, fmt.Errorf("a result for %q after %d results", b.ToolUseID, len(m.results)))
				continue
			}
			m.results = append(m.results[:asked], b)
			turn = asked + 1
		}
	}
	for _, tool := range request.Tools {
		m.tools = []string{tool.Type, tool.Name}
	}
	reply := map[string]any{
		"id": "msg_01", "type": "message", "role": "assistant", "model": "claude-sonnet-5-5",
		"stop_reason": "end_turn", "stop_sequence": nil, "usage": map[string]int{"input_tokens": 1, "output_tokens": 1},
		"content": []any{map[string]string{"type": "text", "text": "I will remember that."}},
	}
	if turn < len(conversation) {
		reply["stop_reason"] = "tool_use"
		reply["content"] = []any{map[string]any{
			"type": "tool_use", "id": fmt.Sprint("toolu_", turn), "name": "memory",
			"input": json.RawMessage(conversation[turn].input),
		}}
	}
	w.Header().Set("Content-Type", "application/json")
	m.err = errors.Join(m.err, json.NewEncoder(w).Encode(reply))
}

// check checks what the model was told.
func (m *model) check(t *testing.T) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		t.Error(m.err)
	}
	if !slices.Equal(m.tools, []string{"memory_20250818", "memory"}) {
		t.Errorf("the tool was declared as %q", m.tools)
	}
	if len(m.results) != len(conversation) {
		t.Fatalf("the model was told %d results, want %d", len(m.results), len(conversation))
	}
	for i, r := range m.results {
		text, want := r.text(), conversation[i]
		if !strings.HasPrefix(text, want.result) || r.IsError != want.failed {
			t.Errorf("%s: told %q, error %t, want %q, error %t", want.input, text, r.IsError, want.result, want.failed)
		}
	}
}

// text returns the result's text, which is a string or a list of one block.
func (r toolResult) text() (text string) {
	var blocks []struct{ Text string }
	if json.Unmarshal(r.Content, &text) != nil && json.Unmarshal(r.Content, &blocks) == nil && len(blocks) == 1 {
		text = blocks[0].Text
	}
	return text
}
