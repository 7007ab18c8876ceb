package claude

import "github.com/anthropics/anthropic-sdk-go/v2"

// What models read that do not know memory_20250818.
const description = "Text files below /memories that stay between conversations. " +
	"view shows a file, or a directory two levels deep; view_range [start, end] shows lines, with -1 for the last. " +
	"create makes a file with file_text. str_replace replaces the only occurrence of old_str by new_str. " +
	"insert puts insert_text after line insert_line, 0 being the top. delete removes a file or a directory. " +
	"rename moves old_path to new_path. View /memories before anything else, and save progress there as you work: " +
	"the context may be reset at any moment."

func inputSchema() anthropic.BetaToolInputSchemaParam {
	text := map[string]any{"type": "string"}
	number := map[string]any{"type": "integer"}
	return anthropic.BetaToolInputSchemaParam{
		Properties: map[string]any{
			"command":     map[string]any{"type": "string", "enum": []string{"view", "create", "str_replace", "insert", "delete", "rename"}},
			"path":        text,
			"view_range":  map[string]any{"type": "array", "items": number},
			"file_text":   text,
			"old_str":     text,
			"new_str":     text,
			"insert_line": number,
			"insert_text": text,
			"old_path":    text,
			"new_path":    text,
		},
		Required: []string{"command"},
	}
}
