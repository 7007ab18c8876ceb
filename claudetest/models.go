package claudetest

import "strings"

// bindsThinking reports whether a model binds thinking to the conversation before it.
func bindsThinking(model string) bool {
	return strings.HasPrefix(model, "claude-opus-5-5") || strings.HasPrefix(model, "claude-fable-5-1")
}

// older reports whether a model is of the families up to 4.5, and 4.6 with 46.
func older(model string, with46 bool) bool {
	for _, v := range []string{"-4-20", "-4-0", "-4-1", "-4-5"} {
		if strings.Contains(model, v) {
			return true
		}
	}
	return strings.HasPrefix(model, "claude-3") || with46 && strings.Contains(model, "-4-6")
}

// adaptiveOnly reports whether a model refuses a thinking budget.
func adaptiveOnly(model string) bool { return !older(model, true) }

// allowsPrefill reports whether a model continues an assistant message.
func allowsPrefill(model string) bool { return older(model, false) }
