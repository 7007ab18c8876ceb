package contextedit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"memento/claude/claudetest"
	"memento/claude/contextedit"
)

// upstream plays turns and returns its handler and a sender to it.
func upstream(t *testing.T, turns ...claudetest.Turn) (*claudetest.Server, contextedit.Sender) {
	t.Helper()
	s := claudetest.New(claudetest.Script(turns...), nil)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, func(ctx context.Context, body []byte) ([]byte, error) {
		request, err := http.NewRequestWithContext(ctx, "POST", server.URL+"/v1/messages", bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		request.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {"k"}, "Anthropic-Version": {"2023-06-01"}}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		answer, err := io.ReadAll(response.Body)
		if err == nil && response.StatusCode != 200 {
			err = fmt.Errorf("%d: %s", response.StatusCode, answer)
		}
		return answer, err
	}
}

// A conversation that is summarized continues after the summary, on an upstream that
// knows nothing of compaction.
func TestCompaction(t *testing.T) {
	s, send := upstream(t, claudetest.Turn{Say: "Ignored.<summary>\nThe port is 7421.\n</summary>"}, claudetest.Turn{Say: "The port is 7421."})
	c := newTalk(0)
	c.add("assistant", []string{textOf("Hello.")})
	c.user(textOf("Which port is it?"))
	// The script counts the answers: the summary is its first turn.
	c.history = c.history[:1]
	compaction, err := contextedit.Compact{}.Run(t.Context(), c.body(c.history), send)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(compaction.Block), `{"type":"compaction","content":"The port is 7421."}`; got != want {
		t.Errorf("the block is %s, want %s", got, want)
	}
	asked := s.Requests()[0]
	if !bytes.Contains(asked.Body, []byte("Write inside <summary> tags")) || bytes.Contains(asked.Body, []byte("context_management")) {
		t.Errorf("asked with %s", asked.Body)
	}
	if u := compaction.Usage; u.Type != "compaction" || u.InputTokens != asked.InputTokens || u.OutputTokens == 0 {
		t.Errorf("the usage is %+v; the prompt had %d tokens", u, asked.InputTokens)
	}

	messages := contextedit.Expand(compaction.Continue([]json.RawMessage{json.RawMessage(`{"role":"user","content":"Which port is it?"}`)}))
	if err := claudetest.Check(c.body(messages), nil); err != nil {
		t.Error(err)
	}
	answer, err := send(t.Context(), c.body(messages))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := compaction.Prepend(answer)
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Content []struct{ Type string }
		Usage   struct {
			Input      int `json:"input_tokens"`
			Iterations []contextedit.Iteration
		}
	}
	if err := json.Unmarshal(whole, &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Content) != 2 || m.Content[0].Type != "compaction" || m.Content[1].Type != "text" {
		t.Errorf("the answer is %s", whole)
	}
	if n := len(m.Usage.Iterations); n != 2 || m.Usage.Iterations[1].InputTokens != m.Usage.Input || m.Usage.Iterations[1].Model != c.model {
		t.Errorf("the usage is %+v", m.Usage)
	}
}

// A long conversation is summarized as a whole. Only the last words of the user stay
// beside the summary, and a second summary begins at the first one.
func TestCompactionOfManyMessages(t *testing.T) {
	read := claudetest.Turn{Say: "(said in the history)"}
	s, send := upstream(t,
		// The script counts the answers that it sees: none after a summary.
		claudetest.Turn{Say: `You ask "{{find "(Which .*)"}}": it is {{find "port is ([0-9]+)"}}.`},
		claudetest.Turn{Say: "<summary>The port is 7421, and it was asked for.</summary>"},
		read,
		claudetest.Turn{Say: "<summary>The port is 7421.</summary>"})
	c := newTalk(2)
	c.add("assistant", []string{textOf("I have read both files.")})
	c.user(textOf("Which port is it?"))

	compaction, err := contextedit.Compact{}.Run(t.Context(), c.body(c.history), send)
	if err != nil {
		t.Fatal(err)
	}
	var asked struct {
		Messages   []json.RawMessage
		ToolChoice struct{ Type string } `json:"tool_choice"`
	}
	if err := json.Unmarshal(s.Requests()[0].Body, &asked); err != nil {
		t.Fatal(err)
	}
	if n := len(c.history); len(asked.Messages) != n+1 || !bytes.Contains(asked.Messages[n], []byte("Write inside")) || asked.ToolChoice.Type != "none" {
		t.Errorf("asked with %d messages and the tool choice %q, want all %d and the instructions", len(asked.Messages), asked.ToolChoice.Type, n)
	}

	short := compaction.Continue(c.history)
	if len(short) != 2 || string(short[1]) != string(c.history[len(c.history)-1]) {
		t.Fatalf("it goes on with %s", short)
	}
	answer, err := send(t.Context(), c.body(contextedit.Expand(short)))
	if err != nil {
		t.Fatal(err)
	}
	if want := `You ask \"Which port is it?\": it is 7421.`; !bytes.Contains(answer, []byte(want)) {
		t.Errorf("the answer is %s, want %s", answer, want)
	}

	// The client keeps its whole history; what the block replaced is not sent again.
	c.add("assistant", []string{string(compaction.Block), textOf("It is 7421.")})
	c.user(textOf("Thank you."))
	again, err := contextedit.Compact{}.Run(t.Context(), c.body(c.history), send)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(again.Block); !strings.Contains(got, "and it was asked for") {
		t.Errorf("the second summary is %s", got)
	}
	if body := s.Requests()[2].Body; bytes.Contains(body, []byte("Begin.")) || !bytes.Contains(body, []byte("The port is 7421.")) {
		t.Errorf("the second summary was asked for with %s", body)
	}
}

// Results of tools have lost their calls after a compaction, and are in the summary.
func TestContinueAfterResults(t *testing.T) {
	c := newTalk(3)
	compaction := contextedit.Compaction{Block: contextedit.NewBlock("Three files were read.")}
	short := compaction.Continue(c.history)
	if len(short) != 1 {
		t.Fatalf("it goes on with %s", short)
	}
	if err := claudetest.Check(c.body(contextedit.Expand(short)), nil); err != nil {
		t.Error(err)
	}
}

func TestCompactionFails(t *testing.T) {
	_, send := upstream(t, claudetest.Turn{Say: "Too long.", Stop: "max_tokens"})
	c := newTalk(0)
	if _, err := (contextedit.Compact{}).Run(t.Context(), c.body(c.history), send); !errors.Is(err, contextedit.ErrCompaction) {
		t.Errorf("a summary that was cut off: %v", err)
	}
	c.add("assistant", []string{`{"type":"tool_use","id":"open","name":"read","input":{}}`})
	if _, err := (contextedit.Compact{}).Run(t.Context(), c.body(c.history), send); !errors.Is(err, contextedit.ErrCompaction) || !strings.Contains(err.Error(), "open") {
		t.Errorf("a call without a result: %v", err)
	}
}

func TestPaused(t *testing.T) {
	compaction := contextedit.Compaction{Block: contextedit.NewBlock("x"), Usage: contextedit.Iteration{Type: "compaction", InputTokens: 9}}
	var m map[string]any
	if err := json.Unmarshal(compaction.Paused("msg_1", "claude-sonnet-4-6"), &m); err != nil {
		t.Fatal(err)
	}
	usage := m["usage"].(map[string]any)
	if m["stop_reason"] != "compaction" || len(m["content"].([]any)) != 1 || usage["input_tokens"] != 0.0 || len(usage["iterations"].([]any)) != 1 {
		t.Errorf("got %v", m)
	}
}

// On demand, by the API's rules: not with edits, and only with its one type.
func TestOnDemand(t *testing.T) {
	r, err := contextedit.ParseRequest([]byte(`{"messages":[],"compaction":{"type":"summarize"}}`))
	if err != nil || !r.OnDemand {
		t.Errorf("OnDemand is false, %v", err)
	}
	for _, body := range []string{
		`{"messages":[],"compaction":{"type":"shorten"}}`,
		`{"messages":[],"compaction":{"type":"summarize","x":1}}`,
		`{"messages":[],"compaction":{"type":"summarize"},"context_management":{}}`,
	} {
		if _, err := contextedit.ParseRequest([]byte(body)); !errors.Is(err, contextedit.ErrConfig) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestParseConfig(t *testing.T) {
	for _, tt := range []struct {
		edits string
		want  string // in the error; "" if it is valid
	}{
		{`[]`, ""},
		{`[{"type":"clear_tool_uses_20250919"}]`, ""},
		{`[{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":5},"keep":{"type":"tool_uses","value":0},"clear_at_least":{"type":"input_tokens","value":10},"exclude_tools":["memory"],"clear_tool_inputs":["read"]}]`, ""},
		{`[{"type":"clear_tool_uses_20250919","trigger":null,"keep":null,"clear_at_least":null,"exclude_tools":null,"clear_tool_inputs":null}]`, ""},
		{`[{"type":"clear_thinking_20251015","keep":"all"},{"type":"clear_tool_uses_20250919"}]`, ""},
		{`[{"type":"clear_thinking_20251015","keep":{"type":"thinking_turns","value":2}}]`, ""},
		{`[{"type":"compact_20260112","trigger":{"type":"input_tokens","value":50000},"pause_after_compaction":true,"instructions":"x"}]`, ""},
		{`[{"type":"clear_tool_uses_20250919"},{"type":"clear_thinking_20251015"}]`, "edits.1: clear_thinking_20251015 must be the first edit"},
		{`[{"type":"clear_tool_uses_20250919"},{"type":"clear_tool_uses_20250919"}]`, "is there twice"},
		{`[{"type":"clear_tool_uses_20250919","trigger":{"type":"words","value":5}}]`, "trigger.type must be one of"},
		{`[{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":0}}]`, "trigger.value must be at least 1"},
		{`[{"type":"clear_tool_uses_20250919","instructions":"x"}]`, "has no member instructions"},
		{`[{"type":"clear_thinking_20251015","trigger":{"type":"tool_uses","value":1}}]`, "has no member trigger"},
		{`[{"type":"clear_thinking_20251015","keep":{"type":"thinking_turns","value":0}}]`, "keep.value must be at least 1"},
		{`[{"type":"compact_20260112","trigger":{"type":"input_tokens","value":49999}}]`, "trigger.value must be at least 50000"},
		{`[{"type":"other"}]`, `the type "other" is not known`},
		{`[{"typ":"x"}]`, "unknown field"},
	} {
		_, err := contextedit.ParseConfig(json.RawMessage(`{"edits":` + tt.edits + `}`))
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.edits, err)
		case tt.want != "" && (!errors.Is(err, contextedit.ErrConfig) || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", tt.edits, err, tt.want)
		}
	}
}

// The transport edits messages and nothing else.
func TestTransport(t *testing.T) {
	var bodies [][]byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, body)
	}))
	defer server.Close()
	client := &http.Client{Transport: &contextedit.Transport{Config: contextedit.Config{ClearToolUses: &contextedit.ClearToolUses{Trigger: contextedit.Trigger{ToolUses: 4}}}}}
	c := newTalk(5)
	for _, path := range []string{"/v1/messages", "/proxy/v1/messages", "/v1/messages/count_tokens", "/v1/other"} {
		response, err := client.Post(server.URL+path, "application/json", bytes.NewReader(c.body(c.history)))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
	}
	for i, edited := range []bool{true, true, false, false} {
		if bytes.Contains(bodies[i], []byte(contextedit.Placeholder)) != edited {
			t.Errorf("request %d is edited: %t", i, !edited)
		}
	}
	own := `{"messages":` + string(mustList(t, c.history)) + `,"context_management":{"edits":[]}}`
	response, err := client.Post(server.URL+"/v1/messages", "application/json", strings.NewReader(own))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if bytes.Contains(bodies[4], []byte(contextedit.Placeholder)) || bytes.Contains(bodies[4], []byte("context_management")) {
		t.Error("the edits of the request do not count")
	}
	if _, err := client.Post(server.URL+"/v1/messages", "application/json", strings.NewReader("{")); !errors.Is(err, contextedit.ErrMessages) {
		t.Errorf("a body that is no JSON: %v", err)
	}
}

func mustList(t *testing.T, messages []json.RawMessage) []byte {
	t.Helper()
	list, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
