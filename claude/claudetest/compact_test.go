package claudetest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"memento/claude/claudetest"
)

// Headers with the betas of compact_20260112, and of a summary on demand.
var (
	compacting = http.Header{"Anthropic-Beta": {"compact-2026-01-12"}}
	onDemand   = http.Header{"Anthropic-Beta": {"compact-2026-09-04"}}
)

// long is more than the lowest trigger of a compaction.
var long = strings.Repeat("word ", 60_000)

// compactScript is a conversation whose third answer needs the user's last words.
func compactScript(t *testing.T) *claudetest.Scenario {
	t.Helper()
	s, err := claudetest.Load([]byte(`
name: compaction
model: claude-opus-4-6
conversations:
  - id: port
    summary: 'The port is {{find "port is ([0-9]+)"}}.'
    turns:
      - user: Remember this
        calls:
          - tool: memory
            input: {command: view, path: /memories}
      - say: I know it.
      - user: Which one
        say: 'You say {{find "Which one, ([a-z]+)"}}.'
      - user: And then
        say: Then nothing.
`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// compactEdit returns members of a request with compact_20260112.
func compactEdit(pause bool, m ...any) map[string]any {
	members := edits(map[string]any{"type": "compact_20260112", "trigger": map[string]any{"type": "input_tokens", "value": 50_000}, "pause_after_compaction": pause})
	members["messages"] = m
	return members
}

// decode reads v into another shape.
func decode(t *testing.T, v, into any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

type compacted struct {
	Content []struct {
		Type, Text, Content string
		Encrypted           string `json:"encrypted_content"`
	}
	StopReason string `json:"stop_reason"`
	Usage      struct {
		Input      int `json:"input_tokens"`
		Output     int `json:"output_tokens"`
		Iterations []struct {
			Type, Model string
			Input       int `json:"input_tokens"`
			Output      int `json:"output_tokens"`
		}
	}
}

// history is the conversation before the compaction.
var history = []any{
	user("Remember this: the port is 7421. " + long),
	assistant(blocks(map[string]any{"type": "tool_use", "id": "toolu_port_0000_0", "name": "memory", "input": map[string]any{"command": "view"}})),
	user(blocks(result("toolu_port_0000_0"))),
	assistant("I know it."),
}

// The API summarizes beyond the trigger, and the model goes on with the summary and the
// last words of the user.
func TestCompaction(t *testing.T) {
	upstream, url := start(t, compactScript(t), nil)
	question := user("Which one, please?")

	status, answer := post(t, url, with(compactEdit(false, append(history, question)...)), compacting)
	if status != 200 {
		t.Fatal(answer)
	}
	var m compacted
	decode(t, answer, &m)
	if len(m.Content) != 2 || m.Content[0].Type != "compaction" || m.StopReason != "end_turn" {
		t.Fatalf("the answer is %v", answer)
	}
	if c := m.Content[0]; !strings.HasPrefix(c.Content, "The port is 7421.") || c.Encrypted == "" {
		t.Errorf("the block is %+v", c)
	}
	if got, want := m.Content[1].Text, "You say please."; got != want {
		t.Errorf("the model says %q, want %q", got, want)
	}
	// The summary is billed in the iterations alone.
	i := m.Usage.Iterations
	if len(i) != 2 || i[0].Type != "compaction" || i[0].Input < 50_000 || i[0].Output == 0 || i[0].Model != "" ||
		i[1].Type != "message" || i[1].Model == "" || i[1].Input != m.Usage.Input || m.Usage.Input > 1000 {
		t.Errorf("the usage is %+v", m.Usage)
	}
	if r := upstream.Requests()[0]; !r.Compacted || r.OriginalTokens < 50_000 || r.InputTokens > 1000 {
		t.Errorf("the request was recorded as %d tokens of %d, compacted: %t", r.InputTokens, r.OriginalTokens, r.Compacted)
	}

	// What comes back stands for everything before it.
	goOn := append(append([]any{}, history...), question, assistant(answer["content"]), user("And then?"))
	status, answer = post(t, url, with(compactEdit(false, goOn...)), compacting)
	decode(t, answer, &m)
	if status != 200 || len(m.Content) != 1 || m.Content[0].Text != "Then nothing." || m.Usage.Input > 1000 {
		t.Errorf("status %d: %v", status, answer)
	}
}

// Below the trigger nothing is summarized, and count_tokens never does that.
func TestNoCompaction(t *testing.T) {
	upstream, url := start(t, claudetest.Script(claudetest.Turn{Say: "Hello."}), nil)
	status, answer := post(t, url, with(compactEdit(false, user("Hello"))), compacting)
	var m compacted
	decode(t, answer, &m)
	if status != 200 || len(m.Content) != 1 || m.Content[0].Type != "text" || m.Usage.Iterations != nil {
		t.Errorf("status %d: %v", status, answer)
	}
	members := compactEdit(false, user(long))
	members["max_tokens"] = nil
	status, answer = post(t, url+"/count_tokens", with(members), compacting)
	if n, _ := answer["input_tokens"].(float64); status != 200 || n < 50_000 {
		t.Errorf("status %d: %v", status, answer)
	}
	if upstream.Requests()[1].Compacted {
		t.Error("count_tokens has summarized")
	}
}

// A pause after the compaction is an answer of that block alone, which the client sends
// back with what it wants to keep.
func TestPausedCompaction(t *testing.T) {
	_, url := start(t, compactScript(t), nil)
	question := user("Which one, please?")
	status, answer := post(t, url, with(compactEdit(true, append(history, question)...)), compacting)
	var m compacted
	decode(t, answer, &m)
	if status != 200 || len(m.Content) != 1 || m.Content[0].Type != "compaction" || m.StopReason != "compaction" {
		t.Fatalf("status %d: %v", status, answer)
	}
	if u := m.Usage; u.Input != 0 || u.Output != 0 || len(u.Iterations) != 1 || u.Iterations[0].Input < 50_000 {
		t.Errorf("the usage is %+v", m.Usage)
	}
	status, answer = post(t, url, with(compactEdit(true, assistant(answer["content"]), question)), compacting)
	decode(t, answer, &m)
	if status != 200 || len(m.Content) != 1 || m.Content[0].Text != "You say please." {
		t.Errorf("status %d: %v", status, answer)
	}
}

// A stream has the whole block in one delta.
func TestStreamedCompaction(t *testing.T) {
	_, url := start(t, compactScript(t), &claudetest.Options{ChunkRunes: 5})
	members := compactEdit(true, append(history, user("Which one, please?"))...)
	members["stream"] = true
	var deltas []map[string]any
	for _, e := range stream(t, url, with(members), compacting) {
		if d, ok := e["delta"].(map[string]any); ok && e["type"] == "content_block_delta" {
			deltas = append(deltas, d)
		}
	}
	if len(deltas) != 1 || deltas[0]["type"] != "compaction_delta" || !strings.HasPrefix(deltas[0]["content"].(string), "The port is 7421.") || deltas[0]["encrypted_content"] == nil {
		t.Errorf("the deltas are %v", deltas)
	}
}

// A summary that the client asks for is one block with a signature.
func TestCompactionOnDemand(t *testing.T) {
	_, url := start(t, compactScript(t), nil)
	members := messages(history...)
	members["compaction"] = map[string]any{"type": "summarize"}
	if status, answer := post(t, url, with(members), nil); status != 400 {
		t.Errorf("without its beta: status %d: %v", status, answer)
	}
	status, answer := post(t, url, with(members), onDemand)
	if status != 200 || answer["stop_reason"] != "compaction" {
		t.Fatalf("status %d: %v", status, answer)
	}
	block, _ := answer["content"].([]any)[0].(map[string]any)
	if content, _ := block["content"].(string); block["type"] != "compaction" || !strings.HasPrefix(content, "The port is 7421.") || block["signature"] == nil || block["encrypted_content"] != nil {
		t.Errorf("the block is %v", block)
	}
}
