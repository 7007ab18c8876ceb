package chat

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"memento"
)

// maxNote is the maximum length of a part of a note, in characters.
const maxNote = 100

// describeCall says on one line what a call did: its command and paths and, if it was
// refused, why.
func describeCall(name string, input any, result memento.ResultBlock) string {
	note := name
	if name == memento.ToolName {
		var call struct{ Command, Path, OldPath, NewPath string }
		if text, err := json.Marshal(input); err == nil {
			var fields map[string]any
			_ = json.Unmarshal(text, &fields) // what is no object has no command
			call.Command, _ = fields["command"].(string)
			call.Path, _ = fields["path"].(string)
			call.OldPath, _ = fields["old_path"].(string)
			call.NewPath, _ = fields["new_path"].(string)
		}
		note = strings.TrimSpace("memory: " + oneLine(call.Command) + " " + oneLine(call.Path))
		if call.OldPath != "" || call.NewPath != "" {
			note += fmt.Sprintf(" %s to %s", oneLine(call.OldPath), oneLine(call.NewPath))
		}
	}
	if result.IsError {
		note += ": " + oneLine(strings.TrimPrefix(result.Content, "Error: "))
	}
	return note
}

// oneLine returns the first line of a text that is not empty, shortened.
func oneLine(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if utf8.RuneCountInString(text) > maxNote {
		text = string([]rune(text)[:maxNote-1]) + "…"
	}
	return text
}
