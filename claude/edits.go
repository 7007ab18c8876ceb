package claude

import (
	"slices"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"memento"
)

// An Edit is something that the API does to a context that has grown large. The edits
// that the functions below return can be changed before they are passed on.
type Edit = anthropic.BetaContextManagementConfigEditUnionParam

// ClearToolUses returns clear_tool_uses_20250919, which removes the oldest tool results,
// but not those of the memory tool. The rest is the API's default: from 100,000 input
// tokens on, all but the last 3.
func ClearToolUses() Edit {
	return Edit{OfClearToolUses20250919: &anthropic.BetaClearToolUses20250919EditParam{
		ExcludeTools: []string{memento.ToolName},
	}}
}

// ClearThinking returns clear_thinking_20251015, which removes the thinking of all turns
// but the last ones. If turns is less than 1, the thinking of all turns stays, which
// keeps the prompt cache. A request with it must have thinking on.
func ClearThinking(turns int64) Edit {
	edit := &anthropic.BetaClearThinking20251015EditParam{}
	if turns > 0 {
		edit.Keep.OfThinkingTurns = &anthropic.BetaThinkingTurnsParam{Value: turns}
	} else {
		edit.Keep.OfAllThinkingTurns = &anthropic.BetaAllThinkingTurnsParam{}
	}
	return Edit{OfClearThinking20251015: edit}
}

// Compact returns compact_20260112, which replaces the conversation by a summary, by
// default from 150,000 input tokens on.
func Compact() Edit {
	return Edit{OfCompact20260112: &anthropic.BetaCompact20260112EditParam{}}
}

// A kind is a type of edit. The API wants thinking cleared first; the rest of the order
// is fixed so that requests are alike.
type kind int

const (
	unknownKind kind = iota
	clearThinking
	clearToolUses
	compact
)

func kindOf(edit Edit) kind {
	switch {
	case edit.OfClearThinking20251015 != nil:
		return clearThinking
	case edit.OfClearToolUses20250919 != nil:
		return clearToolUses
	case edit.OfCompact20260112 != nil:
		return compact
	}
	return unknownKind // of a newer SDK, or overridden
}

// beta returns the beta that requests with the edit need.
func (k kind) beta() anthropic.AnthropicBeta {
	if k == compact {
		return anthropic.AnthropicBetaCompact2026_01_12
	}
	return anthropic.AnthropicBetaContextManagement2025_06_27
}

func (k kind) supported(s Support) bool {
	if k == compact {
		return s.Compaction
	}
	return s.ContextEditing
}

// withEdits returns the edits of have, and those of add that are of other kinds and
// supported, in the order that the API asks for.
func withEdits(have, add []Edit, support Support) []Edit {
	all := slices.Clone(have)
	for _, edit := range add {
		k := kindOf(edit)
		same := func(e Edit) bool { return kindOf(e) == k }
		if k.supported(support) && (k == unknownKind || !slices.ContainsFunc(all, same)) {
			all = append(all, edit)
		}
	}
	slices.SortStableFunc(all, func(a, b Edit) int { return int(kindOf(a)) - int(kindOf(b)) })
	return all
}
