package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"memento"
	"memento/claude/contextedit"
	"memento/gateway"
)

const summary = `{"id":"msg_s","type":"message","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"<summary>The port is \"4711\".</summary>"}],"stop_reason":"end_turn","usage":{"input_tokens":1000,"output_tokens":50}}`

// long is what a user says that makes a prompt large enough for a summary.
var long = strings.Repeat("Some words of a long conversation. ", 12_000)

// A conversation that has grown large is summarized by the upstream's own model. The
// summary is the first block of the answer, and what was before it is not sent again.
func TestEmulatedCompaction(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		answer := `{"id":"msg_2","type":"message","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"It is 4711."}],"stop_reason":"end_turn","usage":{"input_tokens":30,"output_tokens":5}}`
		if streaming {
			answer = events("message_start", start2, "content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
				"content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"It is 4711."}}`,
				"content_block_stop", `{"type":"content_block_stop","index":0}`, "message_delta", endTurn, "message_stop", stop)
		}
		up := &tape{answers: []string{summary, answer}}
		w := newWorld(t, up, emulating(gateway.Emulation{Compaction: true}))
		client := w.client()
		p := anthropic.BetaMessageNewParams{
			Model: "claude-opus-4-6", MaxTokens: 4000, Betas: []anthropic.AnthropicBeta{"compact-2026-01-12"},
			Messages: []anthropic.BetaMessageParam{
				anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("The port is 4711. " + long)),
				{OfAssistant: &anthropic.BetaAssistantMessageParam{Content: []anthropic.BetaContentBlockParamUnion{anthropic.NewBetaTextBlock("I see.")}}},
				anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("Which port?")),
			},
			ContextManagement: anthropic.BetaContextManagementConfigParam{Edits: []anthropic.BetaContextManagementConfigEditUnionParam{{
				OfCompact20260112: &anthropic.BetaCompact20260112EditParam{Trigger: anthropic.BetaInputTokensTriggerParam{Value: 50_000}},
			}}},
		}
		var m anthropic.BetaMessage
		if streaming {
			s := client.Beta.Messages.NewStreaming(t.Context(), p)
			for s.Next() {
				if err := m.Accumulate(s.Current()); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Err(); err != nil {
				t.Fatal(err)
			}
		} else {
			whole, err := client.Beta.Messages.New(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			m = *whole
		}
		if len(m.Content) != 2 || m.Content[0].Type != "compaction" || !strings.Contains(m.Content[0].RawJSON(), `The port is \"4711\".`) || m.Content[1].Text != "It is 4711." {
			t.Errorf("streaming=%v: the answer is %s", streaming, m.RawJSON())
		}
		if n := m.Usage.Iterations; len(n) != 2 || n[0].Type != "compaction" || n[0].InputTokens != 1000 || n[1].Type != "message" {
			t.Errorf("streaming=%v: the iterations are %v", streaming, m.Usage.RawJSON())
		}
		if body := up.bodies[1]; strings.Contains(body, "Some words") || !strings.Contains(body, `The port is \"4711\".`) || !strings.Contains(body, "Which port?") || strings.Contains(body, "context_management") {
			t.Errorf("streaming=%v: the second request is %.2000s", streaming, body)
		}
		// The next request has the block, which the upstream does not know.
		p.Messages = append(p.Messages, m.ToParam(), anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("Sure?")))
		p.ContextManagement = anthropic.BetaContextManagementConfigParam{}
		if streaming {
			s := client.Beta.Messages.NewStreaming(t.Context(), p)
			for s.Next() {
			}
			if err := s.Err(); err != nil {
				t.Fatal(err)
			}
		} else if _, err := client.Beta.Messages.New(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if body := up.bodies[2]; strings.Contains(body, "Some words") || strings.Contains(body, `"compaction"`) || !strings.Contains(body, `The port is \"4711\".`) || !strings.Contains(body, "Sure?") {
			t.Errorf("streaming=%v: the third request is %.2000s", streaming, body)
		}
	}
}

// A summary alone, on demand, is a message of its own, in both forms; and an upstream that
// refuses is heard.
func TestEmulatedCompactionOnDemand(t *testing.T) {
	const body = `{"model":"claude-opus-4-6","max_tokens":10,"compaction":{"type":"summarize"},"messages":[{"role":"user","content":"x"}]}`
	w := newWorld(t, &tape{answers: []string{summary}}, emulating(gateway.Emulation{Compaction: true}))
	_, got := w.post("/v1/messages", body)
	if !strings.Contains(got, `"stop_reason":"compaction"`) || !strings.Contains(got, `{"type":"compaction","content":"The port is \"4711\"."}`) {
		t.Errorf("got %s", got)
	}
	_, got = w.post("/v1/messages", strings.Replace(body, "{", `{"stream":true,`, 1))
	for _, want := range []string{`event: message_start`, `"delta":{"type":"compaction_delta","content":"The port is \"4711\"."}`, `"stop_reason":"compaction"`, "event: message_stop"} {
		if !strings.Contains(got, want) {
			t.Errorf("the stream lacks %s: %s", want, got)
		}
	}
	w = newWorld(t, &tape{answers: []string{`{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`}}, emulating(gateway.Emulation{Compaction: true}))
	if response, got := w.post("/v1/messages", body); response.StatusCode != 429 || !strings.Contains(got, "slow down") {
		t.Errorf("got %d %s", response.StatusCode, got)
	}
	// A temporary error can be repeated by the application, too.
	w = newWorld(t, failing(529), emulating(gateway.Emulation{Compaction: true}))
	if response, got := w.post("/v1/messages", body); response.StatusCode != 529 || response.Header.Get("X-Should-Retry") != "true" || response.Header.Get("Retry-After") != "1" {
		t.Errorf("got %d %v %s", response.StatusCode, response.Header, got)
	}
}

// A conversation that grows too large between two rounds is summarized there: the block is
// between what the model said in them, and the model goes on after it, now and later.
func TestEmulatedCompactionBetweenRounds(t *testing.T) {
	words := "The port is 4711. "
	for contextedit.EstimateText(words) < 45_000 {
		words += strings.Repeat("Some words of a long conversation. ", 100)
	}
	usage := `"usage":{"input_tokens":45000,"output_tokens":10}`
	view := `{"type":"tool_use","id":"toolu_%d","name":"memory","input":{"command":"view","path":"/memories/large.md"}}`
	looks := `{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"I look."},` +
		fmt.Sprintf(view, 1) + "," + fmt.Sprintf(view, 2) + "," + fmt.Sprintf(view, 3) + `],"stop_reason":"tool_use",` + usage + `}`
	says := `{"id":"msg_2","type":"message","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"It is 4711."}],"stop_reason":"end_turn","usage":{"input_tokens":30,"output_tokens":5}}`
	var contents []string
	for _, streaming := range []bool{false, true} {
		answers := []string{looks, summary, says}
		if streaming {
			answers = []string{streamOf(t, looks), summary, streamOf(t, says)}
		}
		up := &tape{answers: append(answers, answers[2])}
		w := newWorld(t, up, emulating(gateway.Emulation{Compaction: true}))
		s := memento.OpenNamed(w.backend, memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, &w.config.Stores)
		if _, err := s.Apply(t.Context(), memento.Actor{Kind: memento.ActorUser, ID: "ann"}, memento.Put{Path: "/large.md", Content: strings.Repeat("many words of a memory\n", 800)}); err != nil {
			t.Fatal(err)
		}
		client := w.client()
		p := anthropic.BetaMessageNewParams{
			Model: "claude-opus-4-6", MaxTokens: 4000, Betas: []anthropic.AnthropicBeta{"compact-2026-01-12", "files-api-2025-04-14"},
			Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(words))},
			ContextManagement: anthropic.BetaContextManagementConfigParam{Edits: []anthropic.BetaContextManagementConfigEditUnionParam{{
				OfCompact20260112: &anthropic.BetaCompact20260112EditParam{Trigger: anthropic.BetaInputTokensTriggerParam{Value: 50_000}},
			}}},
		}
		ask := func() (m anthropic.BetaMessage) {
			if !streaming {
				whole, err := client.Beta.Messages.New(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				return *whole
			}
			s := client.Beta.Messages.NewStreaming(t.Context(), p)
			for s.Next() {
				if err := m.Accumulate(s.Current()); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Err(); err != nil {
				t.Fatal(err)
			}
			return m
		}
		m := ask()
		if len(m.Content) != 3 || m.Content[0].Text != "I look." || m.Content[1].Type != "compaction" || m.Content[2].Text != "It is 4711." {
			t.Fatalf("streaming=%v: the answer is %s", streaming, m.RawJSON())
		}
		var kinds []string
		for _, i := range m.Usage.Iterations {
			kinds = append(kinds, fmt.Sprint(i.Type, " ", i.InputTokens))
		}
		if got := strings.Join(kinds, ", "); got != "message 45000, compaction 1000, message 30" || m.Usage.InputTokens != 45_030 {
			t.Errorf("streaming=%v: %d input tokens, and the iterations are %s", streaming, m.Usage.InputTokens, got)
		}
		if body := up.bodies[1]; !strings.Contains(body, "many words of a memory") || !strings.Contains(body, "Some words") {
			t.Errorf("streaming=%v: the request for a summary is %.500s", streaming, body)
		}
		if betas := up.header[0].Get("Anthropic-Beta"); betas != "files-api-2025-04-14" {
			t.Errorf("the upstream got the betas %q", betas)
		}
		p.Messages = append(p.Messages, m.ToParam(), anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("Sure?")))
		ask()
		for _, body := range up.bodies[2:] {
			if strings.Contains(body, "Some words") || strings.Contains(body, "toolu_") || !strings.Contains(body, `The port is \"4711\".`) {
				t.Errorf("streaming=%v: a request after the summary is %.2000s", streaming, body)
			}
		}
		if len(up.bodies) != 4 || !strings.Contains(up.bodies[3], "Sure?") || !strings.Contains(up.bodies[3], "It is 4711.") {
			t.Errorf("streaming=%v: the last of %d requests is %.2000s", streaming, len(up.bodies), up.bodies[len(up.bodies)-1])
		}
		w.mu.Lock()
		if turn := w.turns[0]; turn.Compactions != 1 || turn.Rounds != 2 || turn.InputTokens != 45_030 || turn.OutputTokens != 15 || turn.MemoryCalls != 3 {
			t.Errorf("observed %+v", turn)
		}
		w.mu.Unlock()
		content, err := json.Marshal(m.ToParam())
		if err != nil {
			t.Fatal(err)
		}
		contents = append(contents, string(content))
	}
	if contents[0] != contents[1] {
		t.Errorf("whole %s\nstreamed %s", contents[0], contents[1])
	}
}

// streamOf returns the stream of a message whose blocks are texts and calls.
func streamOf(t *testing.T, whole string) string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(whole), &m); err != nil {
		t.Fatal(err)
	}
	text := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	blocks, reason := m["content"].([]any), m["stop_reason"]
	m["content"], m["stop_reason"] = []any{}, nil
	stream := events("message_start", text(map[string]any{"type": "message_start", "message": m}))
	for i, b := range blocks {
		block := b.(map[string]any)
		delta := map[string]any{"type": "text_delta", "text": block["text"]}
		if block["type"] == "tool_use" {
			delta = map[string]any{"type": "input_json_delta", "partial_json": text(block["input"])}
			block["input"] = map[string]any{}
		} else {
			block["text"] = ""
		}
		stream += events("content_block_start", text(map[string]any{"type": "content_block_start", "index": i, "content_block": block}),
			"content_block_delta", text(map[string]any{"type": "content_block_delta", "index": i, "delta": delta}),
			"content_block_stop", text(map[string]any{"type": "content_block_stop", "index": i}))
	}
	return stream + events("message_delta", text(map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": reason}, "usage": m["usage"]}), "message_stop", stop)
}
