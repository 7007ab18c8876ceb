// Package memorytool describes the memory tool to models that do not know
// memory_20250818. It is shared by what declares the tool as an ordinary one.
package memorytool

// Description is the description of the tool.
const Description = "Text files below /memories that stay between conversations. " +
	"view shows a file, or a directory two levels deep; view_range [start, end] shows lines, with -1 for the last. " +
	"create makes a file with file_text. str_replace replaces the only occurrence of old_str by new_str. " +
	"insert puts insert_text after line insert_line, 0 being the top. delete removes a file or a directory. " +
	"rename moves old_path to new_path. View /memories before anything else, and save progress there as you work: " +
	"the context may be reset at any moment."

// Schema is the JSON schema of the input.
const Schema = `{"type":"object","properties":{` +
	`"command":{"type":"string","enum":["view","create","str_replace","insert","delete","rename"]},` +
	`"path":{"type":"string"},` +
	`"view_range":{"type":"array","items":{"type":"integer"}},` +
	`"file_text":{"type":"string"},` +
	`"old_str":{"type":"string"},` +
	`"new_str":{"type":"string"},` +
	`"insert_line":{"type":"integer"},` +
	`"insert_text":{"type":"string"},` +
	`"old_path":{"type":"string"},` +
	`"new_path":{"type":"string"}` +
	`},"required":["command"]}`

// Protocol is the text that the API adds to the system prompt for the tool. Source: the
// document "Memory tool".
const Protocol = `IMPORTANT: ALWAYS VIEW YOUR MEMORY DIRECTORY BEFORE DOING ANYTHING ELSE.
MEMORY PROTOCOL:
1. Use the ` + "`view` command of your `memory`" + ` tool to check for earlier progress.
2. ... (work on the task) ...
   - As you make progress, record status / progress / thoughts etc in your memory.
ASSUME INTERRUPTION: Your context window might be reset at any moment, so you risk losing any progress that is not recorded in your memory directory.`
