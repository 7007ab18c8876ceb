package claudetest

import (
	"encoding/json"
	"fmt"

	"memento/claude/contextedit"
)

// A managed prompt is what the model sees of a request.
type managed struct {
	visible          []message
	tokens, original int // of the prompt after edits, and before

	clearedToolUses, clearedThinkingTurns int
	applied                               []any // applied_edits
	warned                                bool
	transformations                       []any // input_transformations

	compaction map[string]any // the block that begins the answer, or nil
	paused     bool           // the answer is that block alone
}

// response returns the member context_management of the answer, or nil.
func (m managed) response() any {
	if m.applied == nil {
		return nil
	}
	return map[string]any{"applied_edits": m.applied}
}

// manage makes the edits of the request, and leaves out what a compaction replaced.
func (r *request) manage() (managed, *Error) {
	visible, dropped := r.dropMismatches(fromCompaction(r.messages))
	m := managed{visible: visible, transformations: dropped}
	m.original = r.countFrame() + countMessages(m.visible)
	m.tokens = m.original
	config, err := contextedit.ParseConfig(encode(r.fields["context_management"]))
	if err != nil {
		return m, invalid("%v", err) // the rules have refused it already
	}
	if config.ClearToolUses == nil && config.ClearThinking == nil {
		return m, nil
	}
	m.applied = []any{}
	result, err := config.Edit(r.prompt(visible), &contextedit.Options{Estimate: r.countPart, ServerSide: true})
	if err != nil {
		return m, invalid("%v", err)
	}
	m.visible = decodeMessages(result.Messages)
	m.tokens = r.countFrame() + countMessages(m.visible)
	m.warned = result.Warned
	for _, a := range result.Applied {
		m.applied = append(m.applied, a)
		m.clearedToolUses += a.ClearedToolUses
		m.clearedThinkingTurns += a.ClearedThinkingTurns
	}
	return m, nil
}

// prompt returns the prompt with other messages, as JSON.
func (r *request) prompt(messages []message) contextedit.Prompt {
	p := contextedit.Prompt{Model: r.model, Tools: json.RawMessage("[]")}
	if r.fields["tools"] != nil {
		p.Tools = encode(r.fields["tools"])
	}
	for _, m := range messages {
		p.Messages = append(p.Messages, encode(map[string]any{"role": m.role, "content": m.blocks}))
	}
	return p
}

// countPart counts what [contextedit] asks for: the frame, or a content block.
func (r *request) countPart(part json.RawMessage) int {
	if len(part) > 0 && part[0] == '[' {
		return r.countFrame() // the tools; the system prompt is counted with them
	}
	b, err := decode(part)
	if err != nil {
		return 0
	}
	return countBlock(b)
}

// decodeMessages returns messages that were encoded by prompt.
func decodeMessages(list []json.RawMessage) []message {
	messages := make([]message, len(list))
	for i, raw := range list {
		object, err := decode(raw)
		if err != nil {
			panic("claudetest: " + err.Error())
		}
		messages[i].role = text(object, "role")
		blocks, _ := object["content"].([]any)
		for _, b := range blocks {
			messages[i].blocks = append(messages[i].blocks, b.(map[string]any))
		}
	}
	return messages
}

// fromCompaction returns the messages from the last compaction block on.
func fromCompaction(messages []message) []message {
	for i := len(messages) - 1; i >= 0; i-- {
		for j := len(messages[i].blocks) - 1; j >= 0; j-- {
			if messages[i].blocks[j]["type"] == "compaction" {
				rest := append([]message{{role: messages[i].role, blocks: messages[i].blocks[j:]}}, messages[i+1:]...)
				return rest
			}
		}
	}
	return messages
}

// dropMismatches leaves out thinking that is bound to another conversation, if the
// request asks for that.
func (r *request) dropMismatches(visible []message) ([]message, []any) {
	if !r.dropsMismatches() {
		return visible, nil
	}
	prefixes := r.newPrefixes()
	offset := len(r.messages) - len(visible)
	var dropped []any
	kept := make([]message, len(visible))
	for i, m := range visible {
		kept[i] = message{role: m.role}
		for j, b := range m.blocks {
			if encoded, thought, ok := thoughtOf(b); ok {
				if s, ok := parseSignature(encoded, thought); !ok || s.prefix != prefixes.before(offset+i) {
					dropped = append(dropped, map[string]any{
						"type": "thinking_dropped", "path": fmt.Sprintf("messages.%d.content.%d", offset+i, j), "reason": "prefix_binding_mismatch",
					})
					continue
				}
			}
			kept[i].blocks = append(kept[i].blocks, b)
		}
	}
	return kept, dropped
}
