package claudetest

import "slices"

// Types of context edits.
const (
	editToolUses = "clear_tool_uses_20250919"
	editThinking = "clear_thinking_20251015"
	editCompact  = "compact_20260112"
)

// minCompactTrigger is the lowest trigger of compact_20260112, in tokens.
const minCompactTrigger = 50_000

var (
	inputTokens = func(min int64) rule {
		return union(map[string]rule{"input_tokens": shape{"type": must(anything), "value": must(isInt(min))}.check})
	}
	edits = union(map[string]rule{
		editToolUses: shape{
			"type": must(anything),
			"trigger": orNull(union(map[string]rule{
				"input_tokens": shape{"type": must(anything), "value": must(isInt(1))}.check,
				"tool_uses":    shape{"type": must(anything), "value": must(isInt(1))}.check,
			})),
			"keep":              orNull(union(map[string]rule{"tool_uses": shape{"type": must(anything), "value": must(isInt(0))}.check})),
			"clear_at_least":    orNull(inputTokens(1)),
			"exclude_tools":     orNull(listOf(isString)),
			"clear_tool_inputs": orNull(boolOrNames),
		}.check,
		editThinking: shape{
			"type": must(anything),
			"keep": orNull(func(at string, v any) *Error {
				if v == "all" {
					return nil
				}
				return union(map[string]rule{
					"thinking_turns": shape{"type": must(anything), "value": must(isInt(1))}.check,
					"all":            shape{"type": must(anything)}.check,
				})(at, v)
			}),
		}.check,
		editCompact: shape{
			"type": must(anything), "trigger": orNull(inputTokens(minCompactTrigger)),
			"pause_after_compaction": orNull(isBool), "instructions": orNull(isString),
		}.check,
	})
	contextManagement = shape{"edits": optional(listOf(edits))}.check
)

func boolOrNames(at string, v any) *Error {
	if _, ok := v.(bool); ok {
		return nil
	}
	return listOf(isString)(at, v)
}

// editList returns the edits of a request.
func (r *request) editList() []map[string]any {
	object, _ := r.fields["context_management"].(map[string]any)
	list, _ := object["edits"].([]any)
	var all []map[string]any
	for _, e := range list {
		if e, ok := e.(map[string]any); ok {
			all = append(all, e)
		}
	}
	return all
}

// checkEdits checks context_management and compaction, and their betas.
func (r *request) checkEdits(o Options) *Error {
	if v := r.fields["context_management"]; v != nil {
		// The documents show clearing with its beta and without it.
		if o.RequireEditBeta && !r.hasBeta(betaContextManagement) && !r.hasBeta(betaCompact) {
			return invalid("context_management: Extra inputs are not permitted")
		}
		if err := contextManagement("context_management", v); err != nil {
			return err
		}
	}
	var seen []string
	for i, e := range r.editList() {
		at, kind := index("context_management.edits", i), text(e, "type")
		switch {
		case slices.Contains(seen, kind):
			return invalid("context_management.edits: Duplicate strategy `%s`", kind)
		case kind == editThinking && i > 0:
			return invalid("context_management.edits: `%s` strategy must be first in the list of edits", kind)
		case kind == editThinking && !r.thinks():
			return invalid("`%s` strategy requires `thinking` to be enabled or adaptive", kind)
		case kind == editCompact && !r.hasBeta(betaCompact):
			return invalid("%s: Input tag '%s' found using 'type' does not match any of the expected tags: '%s', '%s'", at, kind, editThinking, editToolUses)
		}
		seen = append(seen, kind)
	}
	return r.checkOnDemand()
}

// checkOnDemand checks the member "compaction".
func (r *request) checkOnDemand() *Error {
	v := r.fields["compaction"]
	switch {
	case v == nil:
		return nil
	case !r.hasBeta(betaCompactOnDemand):
		return invalid("compaction: Extra inputs are not permitted")
	case r.fields["context_management"] != nil:
		return invalid("compaction: cannot be combined with `context_management`")
	}
	return shape{"type": must(oneOf("summarize"))}.check("compaction", v)
}
