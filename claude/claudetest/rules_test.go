package claudetest_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"memento/claude/claudetest"
)

// with returns a valid request with members replaced; nil removes one.
func with(members map[string]any) []byte {
	request := map[string]any{
		"model": "claude-sonnet-4-5", "max_tokens": 1000,
		"messages": []any{user("Hello")},
		"tools":    []any{map[string]any{"type": "memory_20250818", "name": "memory"}},
	}
	for name, v := range members {
		if request[name] = v; v == nil {
			delete(request, name)
		}
	}
	data, err := json.Marshal(request)
	if err != nil {
		panic(err)
	}
	return data
}

func user(content any) map[string]any { return map[string]any{"role": "user", "content": content} }
func assistant(content any) map[string]any {
	return map[string]any{"role": "assistant", "content": content}
}
func say(s string) map[string]any { return map[string]any{"type": "text", "text": s} }
func use(id string) map[string]any {
	return map[string]any{"type": "tool_use", "id": id, "name": "memory", "input": map[string]any{"command": "view"}}
}
func result(id string) map[string]any {
	return map[string]any{"type": "tool_result", "tool_use_id": id, "content": "ok"}
}

func messages(m ...any) map[string]any { return map[string]any{"messages": blocks(m...)} }

// blocks returns a list that is not null when it is empty.
func blocks(b ...any) []any { return append([]any{}, b...) }

func edits(e ...any) map[string]any {
	return map[string]any{"context_management": map[string]any{"edits": e}}
}

func TestRules(t *testing.T) {
	cached := map[string]any{"type": "text", "text": "x", "cache_control": map[string]any{"type": "ephemeral"}}
	compaction := map[string]any{"type": "compaction", "content": "summary"}
	for _, tt := range []struct {
		name    string
		members map[string]any
		want    string // the beginning of the message, or "" if the request is valid
	}{
		{"plain", nil, ""},
		{"no model", map[string]any{"model": nil}, "model: Field required"},
		{"other model", map[string]any{"model": "gpt-4"}, "model: gpt-4"},
		{"no max_tokens", map[string]any{"max_tokens": nil}, "max_tokens: Field required"},
		{"max_tokens 0", map[string]any{"max_tokens": 0}, "max_tokens: Input should be greater than or equal to 1"},
		{"unknown field", map[string]any{"max_token": 5}, "max_token: Extra inputs are not permitted"},
		{"unknown field in a block", messages(user(blocks(map[string]any{"type": "text", "text": "a", "txt": "b"}))), "messages.0.content.0.text.txt: Extra inputs are not permitted"},
		{"unknown block", messages(user(blocks(map[string]any{"type": "smell"}))), "messages.0.content.0: Input tag 'smell' found using 'type' does not match"},
		{"temperature beyond 1", map[string]any{"temperature": 1.5}, "temperature: range: 0..1"},

		{"no messages", messages(), "messages: at least one message is required"},
		{"empty text", messages(user(blocks(say("")))), "messages: text content blocks must be non-empty"},
		{"blank text", messages(user(blocks(say(" \n")))), "messages: text content blocks must contain non-whitespace text"},
		{"empty content", messages(user("")), "messages.0: user messages must have non-empty content"},
		{"empty answer in the middle", messages(user("a"), assistant(blocks()), user("b")), "messages.1: all messages must have non-empty content"},
		{"assistant first", messages(assistant("a"), user("b")), "messages: first message must use the \"user\" role"},
		{"role", messages(map[string]any{"role": "system", "content": "x"}), "messages.0.role: Input should be 'user' or 'assistant'"},
		{"same role twice", messages(user("a"), user("b")), ""},
		{"prefill", messages(user("a"), assistant("b")), ""},
		{"prefill with a space", messages(user("a"), assistant("b ")), "messages: final assistant content cannot end with trailing whitespace"},
		{"prefill on a newer model", map[string]any{"model": "claude-opus-4-8", "messages": []any{user("a"), assistant("b")}}, "This model does not support assistant message prefill"},

		{"call and result", messages(user("a"), assistant(blocks(use("t1"))), user(blocks(result("t1")))), ""},
		{"text after the result", messages(user("a"), assistant(blocks(use("t1"))), user(blocks(result("t1"), say("b")))), ""},
		{"text before the result", messages(user("a"), assistant(blocks(use("t1"))), user(blocks(say("b"), result("t1")))), "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: t1."},
		{"no result", messages(user("a"), assistant(blocks(use("t1"))), user("b")), "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1."},
		{"no message after a call", messages(user("a"), assistant(blocks(use("t1")))), "messages.1: "},
		{"one of two results", messages(user("a"), assistant(blocks(use("t1"), use("t2"))), user(blocks(result("t2")))), "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1."},
		{"results in two messages", messages(user("a"), assistant(blocks(use("t1"), use("t2"))), user(blocks(result("t1"))), user(blocks(result("t2")))), "messages.1: `tool_use` ids were found without"},
		{"result without a call", messages(user(blocks(result("t1")))), "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t1."},
		{"result twice", messages(user("a"), assistant(blocks(use("t1"))), user(blocks(result("t1"), result("t1")))), "messages.2.content.1: each tool_use must have a single result."},
		{"ID twice", messages(user("a"), assistant(blocks(use("t1"))), user(blocks(result("t1"))), assistant(blocks(use("t1"))), user(blocks(result("t1")))), "messages.3.content.0: `tool_use` ids must be unique"},
		{"call of the user", messages(user(blocks(use("t1")))), "messages.0.content.0: `tool_use` blocks can only be in `assistant` messages"},
		{"result of the assistant", messages(user("a"), assistant(blocks(result("t1"))), user("b")), "messages.1.content.0: `tool_result` blocks can only be in `user` messages"},
		{"input is no object", messages(user("a"), assistant(blocks(map[string]any{"type": "tool_use", "id": "t1", "name": "memory", "input": "x"})), user(blocks(result("t1")))), "messages.1.content.0.tool_use.input: Input should be a valid dictionary"},
		{"forged thinking", messages(user("a"), assistant(blocks(map[string]any{"type": "thinking", "thinking": "x", "signature": "c2ln"})), user("b")), "messages.1.content.0: Invalid `signature` in `thinking` block."},

		{"tools of one name", map[string]any{"tools": []any{map[string]any{"type": "memory_20250818", "name": "memory"}, map[string]any{"name": "memory", "input_schema": map[string]any{"type": "object"}}}}, "tools: Tool names must be unique."},
		{"memory by another name", map[string]any{"tools": []any{map[string]any{"type": "memory_20250818", "name": "notes"}}}, "tools.0.memory_20250818.name: Input should be 'memory'"},
		{"tool without a schema", map[string]any{"tools": []any{map[string]any{"name": "a"}}}, "tools.0.custom.input_schema: Field required"},
		{"choice of an unknown tool", map[string]any{"tool_choice": map[string]any{"type": "tool", "name": "a"}}, "Tool 'a' not found in provided tools"},
		{"choice without tools", map[string]any{"tools": nil, "tool_choice": map[string]any{"type": "auto"}}, "tool_choice: tool_choice may only be specified while providing tools"},
		{"forced choice with thinking", map[string]any{"tool_choice": map[string]any{"type": "any"}, "max_tokens": 2000, "thinking": map[string]any{"type": "enabled", "budget_tokens": 1024}}, "Thinking may not be enabled when tool_choice forces tool use."},
		{"thinking beyond max_tokens", map[string]any{"thinking": map[string]any{"type": "enabled", "budget_tokens": 1024}}, "`max_tokens` must be greater than `thinking.budget_tokens`."},
		{"call without thinking", map[string]any{"max_tokens": 2000, "thinking": map[string]any{"type": "enabled", "budget_tokens": 1024}, "messages": []any{user("a"), assistant(blocks(use("t1"))), user(blocks(result("t1")))}}, "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."},
		{"five breakpoints", messages(user(blocks(cached, cached, cached, cached, cached))), "A maximum of 4 blocks with cache_control may be provided. Found 5."},
		{"four breakpoints", messages(user(blocks(cached, cached, cached, cached))), ""},

		{"clearing", edits(map[string]any{"type": "clear_tool_uses_20250919", "exclude_tools": []any{"memory"}}), ""},
		{"clearing from tokens", edits(map[string]any{"type": "clear_tool_uses_20250919", "keep": map[string]any{"type": "input_tokens", "value": 3}}), "context_management.edits.0.keep: Input tag 'input_tokens'"},
		{"unknown edit", edits(map[string]any{"type": "clear_all"}), "context_management.edits.0: Input tag 'clear_all' found using 'type'"},
		{"thinking cleared second", map[string]any{"thinking": map[string]any{"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2000,
			"context_management": map[string]any{"edits": []any{map[string]any{"type": "clear_tool_uses_20250919"}, map[string]any{"type": "clear_thinking_20251015"}}}}, "context_management.edits: `clear_thinking_20251015` strategy must be first"},
		{"thinking cleared without thinking", edits(map[string]any{"type": "clear_thinking_20251015"}), "`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive"},
		{"compaction too early", edits(map[string]any{"type": "compact_20260112", "trigger": map[string]any{"type": "input_tokens", "value": 100}}), "context_management.edits.0.trigger.value: Input should be greater than or equal to 50000"},
		{"compaction by tool uses", edits(map[string]any{"type": "compact_20260112", "trigger": map[string]any{"type": "tool_uses", "value": 100000}}), "context_management.edits.0.trigger: Input tag 'tool_uses'"},
		{"on demand with edits", map[string]any{"compaction": map[string]any{"type": "summarize"}, "context_management": map[string]any{"edits": []any{}}}, "compaction: cannot be combined"},
		{"on demand with an open call", map[string]any{"compaction": map[string]any{"type": "summarize"}, "messages": []any{user("a"), assistant(blocks(use("t1")))}}, "messages.1: `tool_use` ids were found without"},
		{"compaction block first", messages(assistant(blocks(compaction)), user("b")), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := claudetest.Check(with(tt.members), nil)
			if tt.want == "" {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			var refusal *claudetest.Error
			if !errors.As(err, &refusal) {
				t.Fatalf("accepted; want %q", tt.want)
			}
			if !strings.HasPrefix(refusal.Message, tt.want) {
				t.Errorf("got  %q\nwant %q", refusal.Message, tt.want)
			}
		})
	}
}
