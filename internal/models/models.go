// Package models says what each of Claude's models supports, as far as memory and
// context management go. It is shared by what sends requests and by what edits contexts.
package models

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// Support is what a model supports.
type Support struct {
	// Memory is whether the model has the memory tool, memory_20250818.
	Memory bool
	// ContextEditing is whether clear_tool_uses_20250919 and clear_thinking_20251015
	// can be used with it.
	ContextEditing bool
	// Compaction is whether compact_20260112 can be used with it.
	Compaction bool
	// KeepsThinking is whether the thinking of all turns stays in the context unless
	// a request asks for something else. With other models only the thinking of the
	// last turn does.
	KeepsThinking bool
	// ForcedTools is whether tool_choice may be any or tool.
	ForcedTools bool
	// BindsThinking is whether a thinking block is valid only after the same system
	// prompt, tools and messages.
	BindsThinking bool
	// ThinkingBudget is whether thinking may be "enabled" with budget_tokens; other
	// models take "adaptive" only.
	ThinkingBudget bool
	// Prefill is whether a request may end with the beginning of the answer.
	Prefill bool
}

// A row is what a family supports from a version on.
type row struct {
	family       string
	major, minor int
	support      Support
}

// Rows of one family, oldest first. A version between two rows has what the older
// one says; a version after the last row has what the last row says. Source: the
// documents "Memory tool", "Context editing", "Compaction" and "Preserved thinking".
var rows = []row{
	{"opus", 4, 0, Support{Memory: true, ContextEditing: true, ForcedTools: true, ThinkingBudget: true, Prefill: true}},
	{"opus", 4, 5, Support{Memory: true, ContextEditing: true, KeepsThinking: true, ForcedTools: true, ThinkingBudget: true, Prefill: true}},
	{"opus", 4, 6, Support{Memory: true, ContextEditing: true, Compaction: true, KeepsThinking: true, ForcedTools: true, ThinkingBudget: true}},
	{"opus", 4, 7, Support{Memory: true, ContextEditing: true, Compaction: true, KeepsThinking: true, ForcedTools: true}},
	{"opus", 5, 5, Support{Memory: true, ContextEditing: true, Compaction: true, KeepsThinking: true, BindsThinking: true}},

	{"sonnet", 4, 0, Support{Memory: true, ContextEditing: true, ForcedTools: true, ThinkingBudget: true, Prefill: true}},
	{"sonnet", 4, 6, Support{Memory: true, ContextEditing: true, Compaction: true, KeepsThinking: true, ForcedTools: true, ThinkingBudget: true}},
	{"sonnet", 5, 0, Support{Memory: true, ContextEditing: true, Compaction: true, KeepsThinking: true, ForcedTools: true}},

	{"haiku", 4, 5, Support{Memory: true, ContextEditing: true, ForcedTools: true, ThinkingBudget: true, Prefill: true}},

	{"fable", 5, 0, Support{Memory: true, ContextEditing: true, Compaction: true, KeepsThinking: true, ForcedTools: true}},
	{"fable", 5, 1, Support{Memory: true, ContextEditing: true, Compaction: true, KeepsThinking: true, BindsThinking: true}},

	{"mythos", 0, 0, Support{Memory: true, ContextEditing: true, Compaction: true, KeepsThinking: true, ForcedTools: true}},
}

// name finds the family and the version in a model's name, also in the names that
// cloud platforms use, such as "us.anthropic.claude-opus-4-5-20251101-v1:0". A date is
// no version.
var name = regexp.MustCompile(`claude-(?:([a-z]+)-(?:(\d{1,2})(?:[-.](\d{1,2}))?)?|(\d)(?:[-.](\d))?-([a-z]+))(?:\D|$)`)

// SupportOf returns what the model with the name supports. The name may have a date or
// the affixes of a cloud platform. Of a model whose family is not known it says true,
// except for BindsThinking: the API has the last word. Of models older than Claude 4 it
// returns the zero Support.
func SupportOf(model string) Support {
	family, major, minor, ok := parse(model)
	if !ok {
		return unknown
	}
	var support Support
	known := false
	for _, r := range rows {
		if r.family != family {
			continue
		}
		known = true
		if cmp.Or(cmp.Compare(r.major, major), cmp.Compare(r.minor, minor)) <= 0 {
			support = r.support
		}
	}
	if !known {
		return unknown
	}
	return support
}

// unknown is what a model is assumed to support whose name says nothing.
var unknown = Support{Memory: true, ContextEditing: true, Compaction: true, KeepsThinking: true, ForcedTools: true, ThinkingBudget: true, Prefill: true}

// parse returns the family and version of a model: "opus", 4, 5.
func parse(model string) (family string, major, minor int, ok bool) {
	m := name.FindStringSubmatch(strings.ToLower(model))
	if m == nil {
		return "", 0, 0, false
	}
	number := func(a, b string) int {
		n, _ := strconv.Atoi(cmp.Or(a, b, "0")) // at most two digits
		return n
	}
	return cmp.Or(m[1], m[6]), number(m[2], m[4]), number(m[3], m[5]), true
}
