package mcpserver

import (
	"encoding/json"
	"strings"

	"memento/internal/memorytool"
	"memento/internal/strictjson"
)

// A command is one of the six of the memory tool, as clients see it.
type command struct {
	name        string
	title       string
	description string
	required    []string
	optional    []string

	readOnly    bool
	destructive bool // whether it may remove what is there
	idempotent  bool // whether a repetition changes nothing more
}

var commands = []command{
	{
		name: "view", title: "View memory", readOnly: true, idempotent: true,
		description: "Show a memory file with line numbers, or list a directory two levels deep. View /memories before anything else. A long file is cut off: go on with view_range.",
		required:    []string{"path"}, optional: []string{"view_range"},
	},
	{
		name: "create", title: "Create memory", idempotent: true,
		description: "Create a memory file. It refuses a path that exists: change a file with str_replace or insert.",
		required:    []string{"path", "file_text"},
	},
	{
		name: "str_replace", title: "Edit memory", destructive: true,
		description: "Replace the only occurrence of old_str in a memory file by new_str. Without new_str it is removed.",
		required:    []string{"path", "old_str"}, optional: []string{"new_str"},
	},
	{
		name: "insert", title: "Insert into memory",
		description: "Insert text into a memory file after the line insert_line; 0 inserts it at the top.",
		required:    []string{"path", "insert_line", "insert_text"},
	},
	{
		name: "delete", title: "Delete memory", destructive: true, idempotent: true,
		description: "Delete a memory file, or a directory with everything in it.",
		required:    []string{"path"},
	},
	{
		name: "rename", title: "Rename memory", destructive: true,
		description: "Rename or move a memory file or a directory. It never overwrites.",
		required:    []string{"old_path", "new_path"},
	},
}

// properties are the arguments of commands, by name.
var properties = map[string]string{
	"path":        `{"type":"string","description":"path of a file or directory, such as /memories/notes.md"}`,
	"view_range":  `{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":2,"description":"first and last line to show, from 1; -1 is the last line of the file"}`,
	"file_text":   `{"type":"string","description":"text of the new file"}`,
	"old_str":     `{"type":"string","description":"text to replace, exactly as in the file; it must occur once"}`,
	"new_str":     `{"type":"string","description":"text that replaces it"}`,
	"insert_line": `{"type":"integer","minimum":0,"description":"line after which the text is inserted; 0 is the top"}`,
	"insert_text": `{"type":"string","description":"text to insert"}`,
	"old_path":    `{"type":"string","description":"path of the file or directory to rename"}`,
	"new_path":    `{"type":"string","description":"its new path, which must not exist"}`,
}

// schema returns the input schema of a command's own tool.
func (c *command) schema() json.RawMessage {
	var fields []string
	for _, list := range [][]string{c.required, c.optional} {
		for _, name := range list {
			fields = append(fields, string(strictjson.Quote(name))+":"+properties[name])
		}
	}
	return json.RawMessage(`{"type":"object","properties":{` + strings.Join(fields, ",") + `},"required":[` + quoteAll(c.required) + `]}`)
}

// oneSchema returns the input schema of the tool that has all commands, or only those that
// read, and its description.
func oneSchema(readOnly bool) (schema json.RawMessage, description string) {
	if !readOnly {
		return json.RawMessage(memorytool.Schema), memorytool.Description
	}
	view := commands[0]
	text := strings.Replace(string(view.schema()), `"properties":{`, `"properties":{"command":{"type":"string","enum":["view"]},`, 1)
	return json.RawMessage(strings.Replace(text, `"required":[`, `"required":["command",`, 1)), view.description
}

func quoteAll(list []string) string {
	var quoted []string
	for _, s := range list {
		quoted = append(quoted, string(strictjson.Quote(s)))
	}
	return strings.Join(quoted, ",")
}
