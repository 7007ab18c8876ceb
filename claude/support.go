package claude

import (
	"github.com/anthropics/anthropic-sdk-go/v2"

	"memento/internal/models"
)

// Support is what a model supports. The fields are as documented: Memory (the memory
// tool), ContextEditing (clear_tool_uses_20250919 and clear_thinking_20251015),
// Compaction (compact_20260112), KeepsThinking (the thinking of all turns stays in the
// context by default), ForcedTools (tool_choice any and tool), BindsThinking (thinking
// is valid only after the same system prompt, tools and messages).
type Support = models.Support

// SupportOf returns what a model supports, whose name may have a date or the affixes of
// a cloud platform. A model that is not known counts as one that supports everything.
func SupportOf(model anthropic.Model) Support { return models.SupportOf(string(model)) }
