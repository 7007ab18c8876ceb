package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"memento/claude/claudetest"
	"memento/gateway"
)

// The refactoring of memento demo: more than 200 calls under a small context window, with
// a client that knows nothing of memory. The outcome is the same whether the upstream has
// the memory tool and clears, or the gateway does both.
func TestRefactoring(t *testing.T) {
	var outcomes []string
	for _, emulated := range []bool{false, true} {
		scenario := claudetest.Refactoring()
		up := claudetest.New(scenario, &claudetest.Options{ContextWindow: 40_000})
		w := newWorld(t, up, emulating(gateway.Emulation{Memory: emulated, ContextEditing: emulated}))
		calls, found, planted := playRefactoring(t, w, scenario, scenario.NewWorld(7))
		if calls < 150 || planted == 0 || found != planted {
			t.Errorf("emulated=%v: %d calls, %d of %d facts found", emulated, calls, found, planted)
		}
		largest, cleared := 0, 0
		for _, r := range up.Requests() {
			if r.Err != nil {
				t.Fatalf("emulated=%v: %v", emulated, r.Err)
			}
			largest, cleared = max(largest, r.InputTokens), max(cleared, r.ClearedToolUses)
		}
		if largest > 40_000 || emulated == (cleared > 0) {
			t.Errorf("emulated=%v: the largest prompt has %d tokens; the upstream cleared %d results", emulated, largest, cleared)
		}
		saved := int64(0)
		for _, turn := range w.turns {
			saved += turn.ClearedTokens
		}
		if saved < 100_000 {
			t.Errorf("emulated=%v: %d tokens are reported as saved", emulated, saved)
		}
		// When the model is warned depends on who counts the tokens.
		outcome := ""
		for line := range strings.Lines(w.file("/refactoring_progress.xml")) {
			if !strings.Contains(line, "<saved ") {
				outcome += line
			}
		}
		outcomes = append(outcomes, outcome)
	}
	if outcomes[0] != outcomes[1] || len(outcomes[0]) < 500 {
		t.Errorf("the progress differs:\n%s\nand\n%s", outcomes[0], outcomes[1])
	}
}

// playRefactoring plays the first conversation of the scenario.
func playRefactoring(t *testing.T, w *world, scenario *claudetest.Scenario, outside *claudetest.World) (calls, found, planted int) {
	t.Helper()
	client := w.client()
	p := anthropic.BetaMessageNewParams{
		Model: anthropic.Model(scenario.Model), MaxTokens: 4096, Betas: []anthropic.AnthropicBeta{"context-management-2025-06-27"},
		System: []anthropic.BetaTextBlockParam{{Text: scenario.System}},
		ContextManagement: anthropic.BetaContextManagementConfigParam{Edits: []anthropic.BetaContextManagementConfigEditUnionParam{{
			OfClearToolUses20250919: &anthropic.BetaClearToolUses20250919EditParam{
				Trigger:         anthropic.BetaClearToolUses20250919EditTriggerUnionParam{OfInputTokens: &anthropic.BetaInputTokensTriggerParam{Value: 25_000}},
				ClearAtLeast:    anthropic.BetaInputTokensClearAtLeastParam{Value: 5_000},
				ClearToolInputs: anthropic.BetaClearToolUses20250919EditClearToolInputsUnionParam{OfBool: anthropic.Bool(true)},
				ExcludeTools:    []string{"memory"},
			}}}},
	}
	for _, tool := range scenario.Tools {
		p.Tools = append(p.Tools, anthropic.BetaToolUnionParam{OfTool: &anthropic.BetaToolParam{
			Name: tool.Name, Description: anthropic.String(tool.Description), InputSchema: param.Override[anthropic.BetaToolInputSchemaParam](tool.InputSchema()),
		}})
	}
	for _, turn := range scenario.Conversations[0].Turns {
		if turn.User == "" {
			continue
		}
		p.Messages = append(p.Messages, anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(turn.User)))
		for {
			m, err := client.Beta.Messages.New(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			p.Messages = append(p.Messages, m.ToParam())
			if m.StopReason != "tool_use" {
				break
			}
			var results []anthropic.BetaContentBlockParamUnion
			for _, b := range m.Content {
				if b.Type != "tool_use" {
					continue
				}
				calls++
				input := json.RawMessage(b.JSON.Input.Raw())
				text, err := outside.Run(b.Name, input)
				if err != nil {
					t.Fatal(err)
				}
				var call struct{ Module, Anchor string }
				if b.Name == "finish_module" && json.Unmarshal(input, &call) == nil {
					planted++
					if call.Anchor == outside.Planted(call.Module+"/contract.go") {
						found++
					}
				}
				results = append(results, anthropic.NewBetaToolResultBlock(b.ID, text, false))
			}
			p.Messages = append(p.Messages, anthropic.NewBetaUserMessage(results...))
		}
	}
	return calls, found, planted
}
