package gateway_test

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"memento"
	"memento/claude/claudetest"
	"memento/gateway"
)

// shopping has turns with calls of the memory and of the application's own tool.
func shopping() []claudetest.Turn {
	weather := func(city string) claudetest.Call {
		return claudetest.Call{Tool: "weather", Input: map[string]any{"city": city}}
	}
	return []claudetest.Turn{
		{User: "Plan", Say: "I look.", Calls: []claudetest.Call{
			memoryCall("view", "path", "/memories"), weather("Rome"),
			memoryCall("create", "path", "/memories/plan.md", "file_text", "Rome\n")}},
		{Say: "Also Oslo.", Expect: []string{"created successfully", "sunny in Rome"}, Calls: []claudetest.Call{weather("Oslo")}},
		{Say: "Saved.", Calls: []claudetest.Call{memoryCall("insert", "path", "/memories/plan.md", "insert_line", 1, "insert_text", "Oslo")}},
		{Say: "Done."},
		{User: "And now?", Say: "Nothing."},
	}
}

func weatherParams() anthropic.MessageNewParams {
	p := params("Plan")
	p.Tools = []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{Name: "weather", InputSchema: anthropic.ToolInputSchemaParam{
		Properties: map[string]any{"city": map[string]any{"type": "string"}},
	}}}}
	return p
}

// converse answers the application's own calls until the model ends its turn.
func converse(ctx context.Context, client anthropic.Client, p *anthropic.MessageNewParams, streaming bool) (texts string, err error) {
	for {
		var m anthropic.Message
		if streaming {
			s := client.Messages.NewStreaming(ctx, *p)
			for s.Next() {
				if err := m.Accumulate(s.Current()); err != nil {
					return texts, err
				}
			}
			if err := s.Err(); err != nil {
				return texts, err
			}
		} else {
			whole, err := client.Messages.New(ctx, *p)
			if err != nil {
				return texts, err
			}
			m = *whole
		}
		texts += said(&m) + " "
		p.Messages = append(p.Messages, m.ToParam())
		if m.StopReason != "tool_use" {
			return texts, nil
		}
		var results []anthropic.ContentBlockParamUnion
		for _, b := range m.Content {
			if b.Type == "tool_use" {
				var input struct{ City string }
				if err := json.Unmarshal(b.Input, &input); err != nil {
					return texts, err
				}
				results = append(results, anthropic.NewToolResultBlock(b.ID, "sunny in "+input.City, false))
			}
		}
		p.Messages = append(p.Messages, anthropic.NewUserMessage(results...))
	}
}

// Memory calls beside the application's own: their results come with its results, also
// from another gateway on the same backend.
func TestMixedTurns(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		t.Run(fmt.Sprint("streaming=", streaming), func(t *testing.T) {
			up := scripted(shopping()...)
			w := newWorld(t, up)
			client := w.client()
			p := weatherParams()
			texts, err := converse(t.Context(), client, &p, streaming)
			if err != nil {
				t.Fatal(err)
			}
			if want := "I look. <weather> Also Oslo. <weather> Saved. Done. "; texts != want {
				t.Errorf("said %q, want %q", texts, want)
			}
			if got, want := w.file("/plan.md"), "Rome\nOslo\n"; got != want {
				t.Errorf("the memory is %q, want %q", got, want)
			}
			w.config.State = gateway.NewState(w.backend) // as after a restart
			w.start()
			p.Messages = append(p.Messages, anthropic.NewUserMessage(anthropic.NewTextBlock("And now?")))
			if texts, err = converse(t.Context(), w.client(), &p, streaming); err != nil || texts != "Nothing. " {
				t.Errorf("said %q, %v", texts, err)
			}
			requests := up.Requests()
			last := string(requests[len(requests)-1].Body)
			for _, want := range []string{"toolu_script_0000_0", "toolu_script_0000_2", "toolu_script_0002_0"} {
				if strings.Count(last, want) != 2 {
					t.Errorf("%s is not twice in the last request: %s", want, last)
				}
			}
			// What is kept is sealed.
			for info, err := range w.backend.ListStores(t.Context(), gateway.StateWorkspace, mementoAll) {
				if err != nil {
					t.Fatal(err)
				}
				for e, err := range openAll(t, w.backend, info) {
					if err != nil {
						t.Fatal(err)
					}
					sealed, err := base64.StdEncoding.DecodeString(e)
					if err != nil {
						t.Fatal(err)
					}
					// It is packed before it is sealed: neither at any place is it to be read.
					for i := range sealed {
						plain, _ := io.ReadAll(flate.NewReader(bytes.NewReader(sealed[i:]))) // as far as it goes
						if text := string(plain) + string(sealed); strings.Contains(text, "Rome") || strings.Contains(text, "memories") {
							t.Fatalf("a kept turn can be read: %q", text)
						}
					}
				}
			}
		})
	}
}

// Without state a turn has one call at a time, and nothing is written that the model
// does not learn of.
func TestWithoutState(t *testing.T) {
	turns := shopping()
	turns = []claudetest.Turn{
		{User: "Plan", Say: "I look.", Calls: turns[0].Calls[:1]},
		{Calls: turns[0].Calls[1:2]},
		{Calls: turns[0].Calls[2:], Expect: []string{"sunny in Rome"}},
		{Say: "Done."},
	}
	up := scripted(turns...)
	w := newWorld(t, up, func(c *gateway.Config) { c.State = nil })
	p := weatherParams()
	// The upstream finds its place by the last ID that it sees: the hidden one is gone, and so
	// the conversation goes on at the application's own call.
	texts, err := converse(t.Context(), w.client(), &p, false)
	if err != nil {
		t.Fatal(err)
	}
	if want := "I look. <weather> Done. "; texts != want || w.file("/plan.md") != "Rome\n" {
		t.Errorf("said %q, want %q; the memory is %q", texts, want, w.file("/plan.md"))
	}
	for _, r := range up.Requests() {
		if !strings.Contains(string(r.Body), `"disable_parallel_tool_use":true`) {
			t.Errorf("a round allows parallel calls: %s", r.Body)
		}
	}
	// An upstream that makes two calls all the same: none is executed.
	mixed := &tape{answers: []string{`{"id":"m","type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"memory","input":{"command":"create","path":"/memories/x.md","file_text":"x"}},{"type":"tool_use","id":"toolu_2","name":"weather","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":1}}`}}
	w = newWorld(t, mixed, func(c *gateway.Config) { c.State = nil })
	_, got := w.post("/v1/messages", `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"x"}]}`)
	if want := `{"id":"m","type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_2","name":"weather","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":1}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if n := w.versions(); n != 0 {
		t.Errorf("%d versions were made", n)
	}
}

// A call in an answer that did not end with tool_use is never executed: its input may be
// cut off, or the model has refused.
func TestUnfinishedCallsAreNotExecuted(t *testing.T) {
	for _, reason := range []string{"max_tokens", "refusal", "pause_turn", "model_context_window_exceeded", "reason_of_tomorrow"} {
		up := &tape{answers: []string{`{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"so"},{"type":"tool_use","id":"toolu_1","name":"memory","input":{"command":"create","path":"/memories/x.md","file_text":"x"}}],"stop_reason":"` + reason + `","usage":{"input_tokens":1}}`}}
		w := newWorld(t, up)
		_, got := w.post("/v1/messages", `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"x"}]}`)
		if want := `{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"so"}],"stop_reason":"` + reason + `","usage":{"input_tokens":1}}`; got != want {
			t.Errorf("%s: got %s, want %s", reason, got, want)
		}
		if n := w.versions(); n != 0 || len(up.bodies) != 1 {
			t.Errorf("%s: %d versions, %d rounds", reason, n, len(up.bodies))
		}
	}
}

// A model that never stops calling gets a last round without tools, with and without
// streaming.
func TestRoundsAreBounded(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		answer := `{"id":"m","type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"memory","input":{"command":"view","path":"/memories"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}`
		body := `{"model":"claude-sonnet-4-5","tool_choice":{"type":"any"},"messages":[{"role":"user","content":"x"}]}`
		if streaming {
			answer = events("message_start", start, "content_block_start", `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"memory","input":{}}}`,
				"content_block_delta", viewing, "content_block_stop", `{"type":"content_block_stop","index":1}`, "message_delta", calls, "message_stop", stop)
			body = strings.Replace(body, "{", `{"stream":true,`, 1)
		}
		up := &tape{answers: []string{answer}}
		w := newWorld(t, up, func(c *gateway.Config) { c.MaxRounds = 3 })
		_, got := w.post("/v1/messages", body)
		if !strings.Contains(got, `"stop_reason":"end_turn"`) || strings.Contains(got, "toolu_1") {
			t.Errorf("got %s", got)
		}
		if len(up.bodies) != 3 {
			t.Fatalf("%d rounds", len(up.bodies))
		}
		for i, want := range []string{`"tool_choice":{"type":"any"}`, `"tool_choice":{"type":"auto"}`, `"tool_choice":{"type":"none"}`} {
			if !strings.Contains(up.bodies[i], want) {
				t.Errorf("round %d lacks %s: %s", i+1, want, up.bodies[i])
			}
		}
	}
}

// What one caller's conversation hides is not put into the same conversation of another:
// neither with another store or workspace, nor with another key for the upstream.
func TestHiddenRoundsAreTheCallers(t *testing.T) {
	conversation := `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"x"}MORE]}`
	first := `{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"toolu_1","name":"memory","input":{"command":"view","path":"/memories"}}],"stop_reason":"tool_use","usage":{"input_tokens":1}}`
	last := `{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"Nothing."}],"stop_reason":"end_turn","usage":{"input_tokens":1}}`
	up := &tape{answers: []string{first, last}}
	workspace := memento.DefaultWorkspace
	w := newWorld(t, up, func(c *gateway.Config) {
		c.Identify = func(*http.Request) (gateway.Caller, error) {
			return gateway.Caller{Workspace: workspace, Store: "default"}, nil
		}
	})
	w.post("/v1/messages", strings.Replace(conversation, "MORE", "", 1))
	again := strings.Replace(conversation, "MORE", `,{"role":"assistant","content":"I look.Nothing."},{"role":"user","content":"y"}`, 1)
	sees := func(headers ...string) bool {
		w.post("/v1/messages", again, headers...)
		return strings.Contains(up.bodies[len(up.bodies)-1], "toolu_1")
	}
	if !sees() {
		t.Error("the caller's own hidden round is not put back")
	}
	if sees("Memento-Store", "other") {
		t.Error("it is put back with another store")
	}
	if sees("X-Api-Key", "another key") == sees() {
		t.Error("it is put back with another key")
	}
	if workspace = "other"; sees() {
		t.Error("it is put back in another workspace")
	}
}
