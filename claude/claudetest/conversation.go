package claudetest

import (
	"slices"
	"strings"

	"memento/internal/models"
)

// maxBreakpoints is how many blocks of a request may have cache_control.
const maxBreakpoints = 4

// checkConversation checks what concerns the messages as a whole.
func (r *request) checkConversation(o Options) *Error {
	last := len(r.messages) - 1
	for i, m := range r.messages {
		at := index("messages", i)
		if len(m.blocks) == 0 && !(i == last && m.role == roleAssistant) {
			if m.role == roleUser {
				return invalid("%s: user messages must have non-empty content", at)
			}
			return invalid("%s: all messages must have non-empty content except for the optional final assistant message", at)
		}
		for _, b := range m.blocks {
			if err := checkTexts(b); err != nil {
				return err
			}
		}
	}
	if err := r.checkRoles(); err != nil {
		return err
	}
	if err := r.checkToolUses(); err != nil {
		return err
	}
	if err := r.checkLeadingThinking(); err != nil {
		return err
	}
	return r.checkSignatures(o)
}

// checkTexts refuses empty texts, in a block and in the content of a tool result.
func checkTexts(b map[string]any) *Error {
	if b["type"] == "text" {
		switch s := text(b, "text"); {
		case s == "" && b["cache_control"] != nil:
			return invalid("messages: cache_control cannot be set for empty text blocks")
		case s == "":
			return invalid("messages: text content blocks must be non-empty")
		case strings.TrimSpace(s) == "":
			return invalid("messages: text content blocks must contain non-whitespace text")
		}
	}
	inner, _ := b["content"].([]any)
	for _, c := range inner {
		if c := c.(map[string]any); c["type"] == "text" && text(c, "text") == "" {
			return invalid("messages: text content blocks must be non-empty")
		}
	}
	return nil
}

// checkRoles checks who speaks first and last.
func (r *request) checkRoles() *Error {
	if first := r.messages[0]; first.role != roleUser && !hasKind(first.blocks, "compaction") {
		return invalid("messages: first message must use the \"user\" role")
	}
	final := r.messages[len(r.messages)-1]
	if final.role != roleAssistant {
		return nil
	}
	// The answer to a turn that was paused, by the API or after a compaction.
	if hasKind(final.blocks, "compaction") || hasKind(final.blocks, "server_tool_use") {
		return nil
	}
	if !models.SupportOf(r.model).Prefill {
		return invalid("This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	if n := len(final.blocks); n > 0 && final.blocks[n-1]["type"] == "text" {
		if s := text(final.blocks[n-1], "text"); strings.TrimRight(s, " \t\r\n") != s {
			return invalid("messages: final assistant content cannot end with trailing whitespace")
		}
	}
	return nil
}

func hasKind(blocks []map[string]any, kind string) bool {
	return slices.ContainsFunc(blocks, func(b map[string]any) bool { return b["type"] == kind })
}

// checkToolUses checks that each tool_use has its tool_result at the beginning of
// the next message, and that there are no others. What stands before the last
// compaction block is not read by the API, so a result may have lost its call there.
func (r *request) checkToolUses() *Error {
	seen := map[string]bool{}
	for i, m := range r.messages {
		at := index("messages", i)
		for j, b := range m.blocks {
			if b["type"] != "tool_use" {
				continue
			}
			if id := text(b, "id"); seen[id] {
				return invalid("%s: `tool_use` ids must be unique", index(at+".content", j))
			}
			seen[text(b, "id")] = true
		}
		if m.role == roleUser {
			var before message
			if i > 0 {
				before = r.messages[i-1]
			}
			if err := checkResults(at, before, m); err != nil {
				return err
			}
			continue
		}
		var unanswered []string
		for _, id := range uses(m) {
			if i+1 == len(r.messages) || !slices.Contains(results(r.messages[i+1]), id) {
				unanswered = append(unanswered, id)
			}
		}
		if len(unanswered) > 0 {
			return invalid("%s: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
				at, strings.Join(unanswered, ", "))
		}
	}
	return nil
}

// checkResults checks the tool results of one user message.
func checkResults(at string, before, m message) *Error {
	asked := uses(before)
	var answered []string
	other := false // a block that is no tool result came already
	for j, b := range m.blocks {
		if b["type"] != "tool_result" {
			other = true
			continue
		}
		place, id := index(at+".content", j), text(b, "tool_use_id")
		switch {
		case !slices.Contains(asked, id):
			return invalid("%s: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", place, id)
		case slices.Contains(answered, id):
			return invalid("%s: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", place, id)
		case other:
			return invalid("%s: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", at, id)
		}
		answered = append(answered, id)
	}
	return nil
}

// uses returns the IDs of the calls in a message of the assistant.
func uses(m message) []string {
	var ids []string
	for _, b := range m.blocks {
		if b["type"] == "tool_use" {
			ids = append(ids, text(b, "id"))
		}
	}
	return ids
}

// results returns the IDs that a user message answers.
func results(m message) []string {
	var ids []string
	for _, b := range m.blocks {
		if b["type"] == "tool_result" {
			ids = append(ids, text(b, "tool_use_id"))
		}
	}
	return ids
}

// checkCacheControl counts the cache breakpoints.
func (r *request) checkCacheControl(Options) *Error {
	n := 0
	count := func(list []any) {
		for _, v := range list {
			object, _ := v.(map[string]any)
			if object["cache_control"] != nil {
				n++
			}
			inner, _ := object["content"].([]any)
			for _, c := range inner {
				if c, _ := c.(map[string]any); c["cache_control"] != nil {
					n++
				}
			}
		}
	}
	for _, name := range []string{"tools", "system", "messages"} {
		list, _ := r.fields[name].([]any)
		if name != "messages" {
			count(list)
			continue
		}
		for _, m := range list {
			blocks, _ := m.(map[string]any)["content"].([]any)
			count(blocks)
		}
	}
	if r.fields["cache_control"] != nil {
		n++
	}
	if n > maxBreakpoints {
		return invalid("A maximum of %d blocks with cache_control may be provided. Found %d.", maxBreakpoints, n)
	}
	return nil
}
