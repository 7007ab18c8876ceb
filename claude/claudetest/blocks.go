package claudetest

// cacheControl is the member cache_control.
var cacheControl = orNull(shape{
	"type": must(oneOf("ephemeral")),
	"ttl":  optional(oneOf("5m", "1h")),
}.check)

var toolUseID = matching(`^[a-zA-Z0-9_-]+$`)

// A role that a block may stand in; "" is either.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
)

// kinds are the content blocks of messages.
var kinds = map[string]struct {
	role string
	rule rule
}{
	"text":              {"", textBlock.check},
	"image":             {roleUser, imageBlock.check},
	"document":          {roleUser, documentBlock.check},
	"search_result":     {roleUser, searchResult.check},
	"thinking":          {roleAssistant, shape{"type": must(anything), "thinking": must(isString), "signature": must(isString)}.check},
	"redacted_thinking": {roleAssistant, shape{"type": must(anything), "data": must(isString)}.check},
	"tool_use": {roleAssistant, shape{
		"type": must(anything), "id": must(toolUseID), "name": must(matching(`^[a-zA-Z0-9_-]{1,200}$`)), "input": must(isObject),
		"cache_control": cacheControl, "caller": orNull(isObject), "toolset_name": orNull(isString),
	}.check},
	"tool_result": {roleUser, shape{
		"type": must(anything), "tool_use_id": must(toolUseID), "content": orNull(resultContent), "is_error": orNull(isBool),
		"cache_control": cacheControl, "toolset_name": orNull(isString),
	}.check},
	"compaction": {roleAssistant, shape{
		"type": must(anything), "content": orNull(isString), "encrypted_content": orNull(isString), "signature": orNull(isString),
		"cache_control": cacheControl, "tool_changes": orNull(anything),
	}.check},

	// Blocks of server tools, which no scenario calls: their insides are not checked.
	"server_tool_use":                        {roleAssistant, isObject},
	"web_search_tool_result":                 {roleAssistant, isObject},
	"web_fetch_tool_result":                  {roleAssistant, isObject},
	"code_execution_tool_result":             {roleAssistant, isObject},
	"bash_code_execution_tool_result":        {roleAssistant, isObject},
	"text_editor_code_execution_tool_result": {roleAssistant, isObject},
	"tool_search_tool_result":                {roleAssistant, isObject},
	"mcp_tool_use":                           {roleAssistant, isObject},
	"mcp_tool_result":                        {roleAssistant, isObject},
}

var (
	textBlock = shape{"type": must(anything), "text": must(isString), "citations": orNull(listOf(isObject)), "cache_control": cacheControl}

	imageBlock    = shape{"type": must(anything), "source": must(source), "cache_control": cacheControl, "transformations": orNull(anything)}
	documentBlock = shape{
		"type": must(anything), "source": must(source), "cache_control": cacheControl,
		"title": orNull(isString), "context": orNull(isString), "citations": orNull(isObject),
	}
	searchResult = shape{
		"type": must(anything), "source": must(isString), "title": must(isString), "content": must(listOf(textBlock.check)),
		"citations": orNull(isObject), "cache_control": cacheControl,
	}
	source = union(map[string]rule{
		"base64":  shape{"type": must(anything), "media_type": must(isString), "data": must(isString)}.check,
		"url":     shape{"type": must(anything), "url": must(isString)}.check,
		"file":    shape{"type": must(anything), "file_id": must(isString)}.check,
		"text":    shape{"type": must(anything), "media_type": must(oneOf("text/plain")), "data": must(isString)}.check,
		"content": shape{"type": must(anything), "content": must(anything)}.check,
	})
)

// resultContent is the content of a tool_result: a text, or blocks.
func resultContent(at string, v any) *Error {
	if _, ok := v.(string); ok {
		return nil
	}
	return listOf(union(map[string]rule{
		"text": textBlock.check, "image": imageBlock.check, "document": documentBlock.check, "search_result": searchResult.check,
		"tool_reference": isObject,
	}))(at, v)
}

// checkBlock checks one content block of a message of role.
func checkBlock(at, role string, v any) *Error {
	object, ok := v.(map[string]any)
	if !ok {
		return invalid("%s: Input should be a valid dictionary", at)
	}
	name, ok := object["type"].(string)
	if !ok {
		return invalid("%s.type: Field required", at)
	}
	kind, ok := kinds[name]
	if !ok {
		return invalid("%s: Input tag '%s' found using 'type' does not match any of the expected tags", at, name)
	}
	if kind.role != "" && kind.role != role {
		return invalid("%s: `%s` blocks can only be in `%s` messages", at, name, kind.role)
	}
	return kind.rule(at+"."+name, object)
}
