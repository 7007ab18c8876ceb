package claudetest_test

import (
	"maps"
	"strings"
	"testing"

	"memento/claude/claudetest"
)

// On models that bind thinking, every change before a thinking block is found, and
// what is not part of the binding is not.
func TestThinkingIsBoundToWhatIsBefore(t *testing.T) {
	call := claudetest.Call{Tool: "memory", Input: map[string]any{"command": "view", "path": "/memories"}}
	scenario := claudetest.Script(
		claudetest.Turn{Thinking: "First.", Calls: []claudetest.Call{call}},
		claudetest.Turn{Thinking: "Second.", Calls: []claudetest.Call{call}},
		claudetest.Turn{Thinking: "Third.", Say: "Done."},
	)
	_, url := start(t, scenario, nil)
	base := map[string]any{"model": "claude-fable-5-1", "thinking": map[string]any{"type": "adaptive"}, "system": "Be brief."}
	history := []any{user("Begin.")}
	ask := func(change func(request map[string]any)) (int, map[string]any) {
		request := maps.Clone(base)
		request["messages"] = history
		if change != nil {
			change(request)
		}
		return post(t, url, with(request), nil)
	}
	for range 2 {
		status, answer := ask(nil)
		if status != 200 {
			t.Fatal(answer)
		}
		content := answer["content"].([]any)
		id := content[1].(map[string]any)["id"].(string)
		history = append(history, assistant(content), user(blocks(result(id))))
	}
	replace := func(i int, m any) func(map[string]any) {
		return func(request map[string]any) {
			list := append([]any{}, history...)
			list[i] = m
			request["messages"] = list
		}
	}
	second := history[3].(map[string]any)["content"].([]any)
	first := history[1].(map[string]any)["content"].([]any)
	otherResult := result(first[1].(map[string]any)["id"].(string))
	otherResult["content"] = "[cleared]"
	for _, tt := range []struct {
		name    string
		change  func(map[string]any)
		refused string // the place of the block that is refused, or ""
	}{
		{"nothing", nil, ""},
		{"another limit", func(r map[string]any) { r["max_tokens"] = 77 }, ""},
		{"a text as a block with a breakpoint", replace(0, user(blocks(map[string]any{"type": "text", "text": "Begin.", "cache_control": map[string]any{"type": "ephemeral"}}))), ""},
		{"the first thinking left out", replace(1, assistant(first[1:])), ""},
		{"another system prompt", func(r map[string]any) { r["system"] = "Be long." }, "messages.1.content.0"},
		{"another tool", func(r map[string]any) {
			r["tools"] = []any{map[string]any{"type": "memory_20250818", "name": "memory"}, map[string]any{"type": "bash_20250124", "name": "bash"}}
		}, "messages.1.content.0"},
		{"another beginning", replace(0, user("Begin!")), "messages.1.content.0"},
		{"a cleared result", replace(2, user(blocks(otherResult))), "messages.3.content.0"},
		{"a changed thought", replace(3, assistant(blocks(map[string]any{"type": "thinking", "thinking": "Other.", "signature": second[0].(map[string]any)["signature"]}, second[1]))), "messages.3.content.0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, answer := ask(tt.change)
			if tt.refused == "" {
				if status != 200 {
					t.Fatalf("refused: %v", answer)
				}
				return
			}
			inner, _ := answer["error"].(map[string]any)
			message, _ := inner["message"].(string)
			if status != 400 || !strings.HasPrefix(message, tt.refused+": Invalid `signature` in `thinking` block.") {
				t.Errorf("status %d: %v", status, answer)
			}
		})
	}

	t.Run("dropped on request", func(t *testing.T) {
		request := maps.Clone(base)
		request["messages"] = append([]any{user("Begin!")}, history[1:]...)
		request["thinking"] = map[string]any{"type": "adaptive", "block_binding": map[string]any{"prefix_mismatch_behavior": "drop_block"}}
		status, answer := post(t, url, with(request), map[string][]string{"Anthropic-Beta": {"thinking-binding-controls-2026-08-01"}})
		if status != 200 {
			t.Fatal(answer)
		}
		if dropped, _ := answer["input_transformations"].([]any); len(dropped) != 2 {
			t.Errorf("dropped %v, want the thinking of both turns", dropped)
		}
	})
}
