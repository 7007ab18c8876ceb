package claudetest

import "fmt"

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

// manage returns the prompt without what a compaction replaced.
func (r *request) manage() (managed, *Error) {
	visible := fromCompaction(r.messages)
	visible, dropped := r.dropMismatches(visible)
	m := managed{visible: visible, transformations: dropped}
	m.original = r.countFrame() + countMessages(m.visible)
	m.tokens = m.original
	return m, nil
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
