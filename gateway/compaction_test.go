package gateway_test

import (
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

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
}
