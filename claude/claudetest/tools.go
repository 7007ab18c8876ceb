package claudetest

import (
	"slices"

	"memento/internal/models"
)

// common are fields that every tool has.
var common = shape{
	"cache_control": cacheControl, "allowed_callers": orNull(listOf(isString)), "defer_loading": orNull(isBool),
	"input_examples": orNull(listOf(isObject)), "strict": orNull(isBool), "eager_input_streaming": orNull(isBool),
}

var customTool = common.with(shape{
	"type": orNull(oneOf("custom")), "name": must(matching(`^[a-zA-Z0-9_-]{1,128}$`)), "description": optional(isString),
	"input_schema": must(func(at string, v any) *Error {
		object, ok := v.(map[string]any)
		if !ok {
			return invalid("%s: Input should be a valid dictionary", at)
		}
		if object["type"] != "object" {
			return invalid("%s.type: Input should be 'object'", at)
		}
		return nil
	}),
})

// named returns the rule of a tool whose type and name are fixed.
func named(name string, more ...shape) rule {
	s := common.with(shape{"type": must(anything), "name": must(oneOf(name))})
	for _, m := range more {
		s = s.with(m)
	}
	return s.check
}

// serverTool is the rule of a tool that the API executes: no scenario calls one.
func serverTool(at string, v any) *Error { return isObject(at, v) }

// typedTools are the tools with a type other than "custom".
var typedTools = map[string]rule{
	"memory_20250818":                 named("memory"),
	"bash_20250124":                   named("bash"),
	"text_editor_20250728":            named("str_replace_based_edit_tool", shape{"max_characters": orNull(isInt(1))}),
	"web_search_20250305":             serverTool,
	"web_fetch_20250910":              serverTool,
	"code_execution_20250825":         serverTool,
	"code_execution_20260120":         serverTool,
	"code_execution_20260521":         serverTool,
	"tool_search_tool_regex_20251119": serverTool,
	"tool_search_tool_bm25_20251119":  serverTool,
	"mcp_toolset":                     serverTool,
}

// tools is the rule of the member "tools".
func tools(at string, v any) *Error {
	return listOf(func(at string, v any) *Error {
		object, ok := v.(map[string]any)
		if !ok {
			return invalid("%s: Input should be a valid dictionary", at)
		}
		kind := text(object, "type")
		if kind == "" || kind == "custom" {
			return customTool.check(at+".custom", v)
		}
		r, ok := typedTools[kind]
		if !ok {
			return invalid("%s: Input tag '%s' found using 'type' does not match any of the expected tags", at, kind)
		}
		return r(at+"."+kind, v)
	})(at, v)
}

// checkTools checks what concerns several tools, and the choice among them.
func (r *request) checkTools(Options) *Error {
	names := r.toolNames()
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return invalid("tools: Tool names must be unique.")
		}
	}
	choice, _ := r.fields["tool_choice"].(map[string]any)
	if choice == nil {
		return nil
	}
	kind := text(choice, "type")
	if len(names) == 0 && kind != "none" {
		return invalid("tool_choice: tool_choice may only be specified while providing tools")
	}
	if kind == "tool" && !slices.Contains(names, text(choice, "name")) {
		return invalid("Tool '%s' not found in provided tools", text(choice, "name"))
	}
	forced := kind == "any" || kind == "tool"
	switch {
	case forced && r.thinks():
		return invalid("Thinking may not be enabled when tool_choice forces tool use.")
	case forced && models.SupportOf(r.model).BindsThinking:
		return invalid("tool_choice: forced tool use is not supported on this model")
	}
	return nil
}

// toolNames returns the names of the declared tools, in order.
func (r *request) toolNames() []string {
	list, _ := r.fields["tools"].([]any)
	names := make([]string, 0, len(list))
	for _, t := range list {
		if name := text(t.(map[string]any), "name"); name != "" {
			names = append(names, name)
		}
	}
	return names
}
