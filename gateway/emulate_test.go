package gateway_test

import (
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"memento/claude/claudetest"
	"memento/gateway"
)

func emulating(e gateway.Emulation) func(*gateway.Config) {
	return func(c *gateway.Config) { c.Emulate = e }
}

// An upstream that does not know the memory tool gets an ordinary one, and the
// instructions at the end of the system prompt. The application notices nothing.
func TestEmulatedMemory(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		up := claudetest.New(claudetest.Script(saving()...), &claudetest.Options{Models: []string{"local-model"}})
		w := newWorld(t, up, emulating(gateway.Emulation{Memory: true}))
		p := params("I like tea")
		p.Model = "local-model"
		p.System = []anthropic.TextBlockParam{{Text: "Be brief."}}
		texts, err := converse(t.Context(), w.client(), &p, streaming)
		if err != nil {
			t.Fatal(err)
		}
		if want := "Let me look. I note it. Noted: tea. "; texts != want || w.file("/tea.md") != "The user likes tea.\nGreen.\n" {
			t.Errorf("said %q, want %q; the memory is %q", texts, want, w.file("/tea.md"))
		}
		for _, r := range up.Requests() {
			body := string(r.Body)
			if strings.Contains(body, "memory_20250818") || !strings.Contains(body, `"input_schema":{"type":"object","properties":{"command"`) ||
				strings.Count(body, "ASSUME INTERRUPTION") != 1 || !strings.Contains(body, `{"text":"Be brief.","type":"text"},{"type":"text","text":"IMPORTANT`) {
				t.Errorf("the upstream got %s", body)
			}
		}
	}
}

// If the agent can search, the system prompt says so, whatever the upstream knows, and at the
// same place in every round.
func TestSearchGuidance(t *testing.T) {
	for _, emulated := range []bool{false, true} {
		for _, search := range []bool{false, true} {
			up := claudetest.New(claudetest.Script(saving()...), nil)
			w := newWorld(t, up, emulating(gateway.Emulation{Memory: emulated}), func(c *gateway.Config) { c.Tool.Search = search })
			p := params("I like tea")
			p.System = []anthropic.TextBlockParam{{Text: "Be brief."}}
			if _, err := converse(t.Context(), w.client(), &p, true); err != nil {
				t.Fatal(err)
			}
			want := 0
			if search {
				want = 1
			}
			requests := up.Requests()
			for _, r := range requests {
				if got := strings.Count(string(r.Body), "/memories/.search/what do we know"); got != want {
					t.Errorf("emulated %v, search %v: the guidance is %d times in %s", emulated, search, got, r.Body)
				}
			}
			if len(requests) < 2 {
				t.Errorf("there were %d rounds", len(requests))
			}
		}
	}
}

// An application that declares the native tool itself executes it itself, also if the
// upstream does not know it.
func TestEmulatedDeclaration(t *testing.T) {
	const call = `{"id":"m","type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"memory","input":{"command":"view","path":"/memories"}}],"stop_reason":"tool_use","usage":{"input_tokens":1}}`
	up := &tape{answers: []string{call}}
	w := newWorld(t, up, emulating(gateway.Emulation{Memory: true}))
	_, got := w.post("/v1/messages", `{"model":"m","system":"Be \"brief\".","tools":[{"type":"memory_20250818","name":"memory","cache_control":{"type":"ephemeral"}},{"name":"own","input_schema":{}}],"messages":[{"role":"user","content":"x"}]}`)
	if got != call || len(up.bodies) != 1 {
		t.Errorf("got %s after %d rounds", got, len(up.bodies))
	}
	for _, want := range []string{`"system":"Be \"brief\".\n\nIMPORTANT: ALWAYS`, `"required":["command"]},"cache_control":{"type":"ephemeral"}},{"name":"own","input_schema":{}}]`} {
		if !strings.Contains(up.bodies[0], want) {
			t.Errorf("the upstream got %s, without %s", up.bodies[0], want)
		}
	}
}

// longTask has eight calls of the application's tool with long results.
func longTask() []claudetest.Turn {
	turns := []claudetest.Turn{{User: "Plan", Say: "I begin.", Calls: []claudetest.Call{memoryCall("view", "path", "/memories")}}}
	for range 8 {
		turns = append(turns, claudetest.Turn{Calls: []claudetest.Call{{Tool: "weather", Input: map[string]any{"city": strings.Repeat("Rome and ", 200)}}}})
	}
	return append(turns, claudetest.Turn{Say: "Done."})
}

// Context editing that the upstream lacks: the old results are cleared from what it gets,
// the model is warned before, and the application is told what was cleared.
func TestEmulatedContextEditing(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		up := scripted(longTask()...)
		w := newWorld(t, up, emulating(gateway.Emulation{Memory: true, ContextEditing: true}))
		client := w.client()
		p := anthropic.BetaMessageNewParams{
			Model: "claude-sonnet-4-5", MaxTokens: 4000, Betas: []anthropic.AnthropicBeta{"context-management-2025-06-27"},
			Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("Plan"))},
			Tools:    []anthropic.BetaToolUnionParam{{OfTool: &anthropic.BetaToolParam{Name: "weather", InputSchema: anthropic.BetaToolInputSchemaParam{Properties: map[string]any{"city": map[string]any{"type": "string"}}}}}},
			ContextManagement: anthropic.BetaContextManagementConfigParam{Edits: []anthropic.BetaContextManagementConfigEditUnionParam{{
				OfClearToolUses20250919: &anthropic.BetaClearToolUses20250919EditParam{
					Trigger: anthropic.BetaClearToolUses20250919EditTriggerUnionParam{OfInputTokens: &anthropic.BetaInputTokensTriggerParam{Value: 6000}},
					Keep:    anthropic.BetaToolUsesKeepParam{Value: 2},
				}}}},
		}
		var last anthropic.BetaMessage
		for {
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
			last = m
			p.Messages = append(p.Messages, m.ToParam())
			if m.StopReason != "tool_use" {
				break
			}
			var results []anthropic.BetaContentBlockParamUnion
			for _, b := range m.Content {
				if b.Type == "tool_use" {
					results = append(results, anthropic.NewBetaToolResultBlock(b.ID, strings.Repeat("sunny ", 600), false))
				}
			}
			p.Messages = append(p.Messages, anthropic.NewBetaUserMessage(results...))
		}
		if edits := last.ContextManagement.AppliedEdits; len(edits) != 1 || edits[0].ClearedToolUses < 3 || edits[0].ClearedInputTokens < 1000 {
			t.Errorf("streaming=%v: the applied edits are %s", streaming, last.ContextManagement.RawJSON())
		}
		warned := false
		requests := up.Requests()
		for _, r := range requests {
			if strings.Contains(string(r.Body), "context_management") {
				t.Errorf("the upstream got %s", r.Body)
			}
			warned = warned || strings.Contains(string(r.Body), "<system_warning>Context is nearly full")
		}
		if body := string(requests[len(requests)-1].Body); !warned || !strings.Contains(body, "[Cleared by context management]") || strings.Count(body, "sunny sunny") > 3*300 {
			t.Errorf("warned: %v; the last request was %s", warned, body)
		}
		count := anthropic.BetaMessageCountTokensParams{Model: p.Model, Messages: p.Messages, ContextManagement: p.ContextManagement, Betas: p.Betas}
		count.Tools = []anthropic.BetaMessageCountTokensParamsToolUnion{{OfTool: p.Tools[0].OfTool}}
		counted, err := client.Beta.Messages.CountTokens(t.Context(), count)
		if err != nil {
			t.Fatal(err)
		}
		if after, before := counted.InputTokens, counted.ContextManagement.OriginalInputTokens; after < 100 || before < after+1000 {
			t.Errorf("counted %d tokens after and %d before the edits", after, before)
		}
	}
	w := newWorld(t, &tape{answers: []string{"{}"}}, emulating(gateway.Emulation{ContextEditing: true}))
	for body, want := range map[string]string{
		`{"model":"claude-sonnet-4-5","context_management":{"edits":[{"type":"compact_20260112"}]},"messages":[{"role":"user","content":"x"}]}`: "no compaction",
		`{"model":"claude-sonnet-4-5","context_management":{"edits":[{"type":"x"}]},"messages":[{"role":"user","content":"x"}]}`:                "context_management",
	} {
		if response, got := w.post("/v1/messages", body); response.StatusCode != 400 || !strings.Contains(got, want) {
			t.Errorf("%s got %d %s", body, response.StatusCode, got)
		}
	}
}
