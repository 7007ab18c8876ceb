package memento

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"memento/internal/strictjson"
)

// How the Messages API calls the memory tool.
const (
	// ToolType is the type of the tool in a request's list of tools.
	ToolType = "memory_20250818"
	// ToolName is the name of the tool, in that list and in tool_use blocks.
	ToolName = "memory"
)

// A ResultBlock is a tool_result content block of the Messages API.
type ResultBlock struct {
	Type      string `json:"type"`                  // always "tool_result"
	ToolUseID string `json:"tool_use_id,omitempty"` // of the block answered; "" for a bare input
	Content   string `json:"content"`
	IsError   bool   `json:"is_error,omitempty"`

	// Err is as in [Result]. It is not sent to the agent.
	Err error `json:"-"`
}

// A Call is one call of the memory tool, parsed and checked: see [ParseCall].
type Call struct {
	ID string // of the tool_use block; "" for a bare input

	command string
	path    string                                       // that the call is about; of a rename, the new one
	run     func(context.Context, *Tool) (string, error) // nil if the call is refused
	refused error                                        // a *ToolError
}

// ParseCall parses a whole tool_use block, or a bare input as [Tool.Run] takes
// it. It checks everything that does not depend on a store: the JSON, the name of
// the tool, the command, and which fields it has.
//
// An error is a [*ToolError], whose text is the answer for the agent. The Call that
// is returned with it has the ID of the block, if that could be read, and
// [Tool.RunCall] answers it with that text. So a program that answers every call
// need not look at the error.
func ParseCall(raw []byte) (Call, error) {
	f, err := parseObject(raw)
	kind, _ := f.text("type")
	if kind != "tool_use" {
		if err != nil {
			return refusedCall("", err)
		}
		return parseInput("", f)
	}
	id, _ := f.text("id")
	if err != nil {
		return refusedCall(id, err)
	}
	if name, ok := f.text("name"); ok && name != ToolName {
		return refusedCall(id, refusal(ErrInvalid, textNoTool, truncated(name, 100)))
	}
	input, err := parseObject(f["input"])
	if err != nil {
		return refusedCall(id, err)
	}
	return parseInput(id, input)
}

// ParseInput parses the input of a tool_use block, as [Tool.Run] takes it, and never a whole
// block. The rest is as of [ParseCall].
func ParseInput(input []byte) (Call, error) {
	f, err := parseObject(input)
	if err != nil {
		return refusedCall("", err)
	}
	return parseInput("", f)
}

func refusedCall(id string, err error) (Call, error) {
	return Call{ID: id, refused: err}, err
}

// Command returns the command of the call: "view", "create", "str_replace", "insert",
// "delete" or "rename"; "" if the call was refused by ParseCall.
func (c Call) Command() string { return c.command }

// Writes reports whether the call may change memories. One that was refused by
// ParseCall changes nothing.
func (c Call) Writes() bool { return c.run != nil && c.command != "view" }

// RunCall executes a call and returns the block that answers it.
func (t *Tool) RunCall(ctx context.Context, c Call) ResultBlock {
	r := t.runCall(ctx, c)
	return ResultBlock{Type: "tool_result", ToolUseID: c.ID, Content: r.Content, IsError: r.IsError, Err: r.Err}
}

// Interrupted answers a call of which nobody knows whether it was executed, because the
// conversation was interrupted meanwhile. A call that changes nothing is executed. One
// that does is not: its answer is that it was cancelled, and how to see whether it took
// effect.
func (t *Tool) Interrupted(ctx context.Context, c Call) ResultBlock {
	if !c.Writes() {
		return t.RunCall(ctx, c)
	}
	return ResultBlock{Type: "tool_result", ToolUseID: c.ID, Content: t.opts.Profile.errorText(fmt.Sprintf(textCancelled, c.path)), IsError: true}
}

// RunBlock executes a whole tool_use block, or a bare input as [Tool.Run] takes
// it, and returns the block that answers it. It is [ParseCall] and [Tool.RunCall].
func (t *Tool) RunBlock(ctx context.Context, block []byte) ResultBlock {
	c, _ := ParseCall(block) // RunCall answers with the error
	return t.RunCall(ctx, c)
}

// TooLong answers a block that was not read because it has more than max bytes.
func TooLong(max int64) ResultBlock {
	return ResultBlock{Type: "tool_result", Content: fmt.Sprintf(textTooLong, groupDigits(max)), IsError: true}
}

// has reports whether a field is present and not null.
func (f fields) has(name string) bool {
	v, ok := f[name]
	return ok && string(v) != "null"
}

// text returns a string field; ok is false if it is absent or no string.
func (f fields) text(name string) (s string, ok bool) {
	v := f[name]
	if len(v) == 0 || v[0] != '"' {
		return "", false
	}
	return strictjson.Unquote(v), true
}

// parseInput parses the members of a tool_use block's input.
func parseInput(id string, f fields) (Call, error) {
	if !f.has("command") {
		return refusedCall(id, refusal(ErrInvalid, textNoCommand))
	}
	name, ok := f.text("command")
	if !ok {
		return refusedCall(id, refusal(ErrInvalid, textBadCommand, truncated(string(f["command"]), 100)))
	}
	a := &args{command: name, fields: f}
	c := Call{ID: id, command: name}
	switch name {
	case "view":
		path, lines := a.text("path"), a.lines("view_range")
		c.run = func(ctx context.Context, t *Tool) (string, error) { return t.view(ctx, path, lines) }
	case "create":
		path, text := a.text("path"), a.text("file_text")
		c.path = path
		c.run = func(ctx context.Context, t *Tool) (string, error) { return t.Create(ctx, path, text) }
	case "str_replace":
		path, old, new := a.text("path"), a.text("old_str"), a.optionalText("new_str")
		c.path = path
		c.run = func(ctx context.Context, t *Tool) (string, error) { return t.StrReplace(ctx, path, old, new) }
	case "insert":
		path, line, text := a.text("path"), a.integer("insert_line"), a.text("insert_text")
		c.path = path
		c.run = func(ctx context.Context, t *Tool) (string, error) { return t.Insert(ctx, path, line, text) }
	case "delete":
		path := a.text("path")
		c.path = path
		c.run = func(ctx context.Context, t *Tool) (string, error) { return t.Delete(ctx, path) }
	case "rename":
		from, to := a.text("old_path"), a.text("new_path")
		c.path = to
		c.run = func(ctx context.Context, t *Tool) (string, error) { return t.Rename(ctx, from, to) }
	default:
		a.fail(textBadCommand, truncated(name, 100))
	}
	if a.err != nil {
		return refusedCall(id, a.err)
	}
	return c, nil
}

// An args reads the fields of one command, and keeps the first error.
type args struct {
	command string
	fields  fields
	err     error
}

func (a *args) fail(format string, values ...any) {
	if a.err == nil {
		a.err = &ToolError{Text: fmt.Sprintf(format, values...), Err: ErrInvalid}
	}
}

// text returns a required string.
func (a *args) text(name string) string {
	if !a.fields.has(name) {
		a.fail(textMissingField, name, a.command)
		return ""
	}
	s, ok := a.fields.text(name)
	if !ok {
		a.fail(textBadField, name, a.command, wantString)
	}
	return s
}

// optionalText returns a string, "" if it is absent.
func (a *args) optionalText(name string) string {
	if !a.fields.has(name) {
		return ""
	}
	return a.text(name)
}

// integer returns a required whole number.
func (a *args) integer(name string) int {
	if !a.fields.has(name) {
		a.fail(textMissingField, name, a.command)
		return 0
	}
	n, ok := wholeNumber(a.fields[name])
	if !ok {
		a.fail(textBadField, name, a.command, wantInteger)
	}
	return n
}

// lines returns an optional pair of whole numbers.
func (a *args) lines(name string) (r *lineRange) {
	if !a.fields.has(name) {
		return nil
	}
	var items []json.RawMessage
	if json.Unmarshal(a.fields[name], &items) == nil && len(items) == 2 {
		start, ok1 := wholeNumber(items[0])
		end, ok2 := wholeNumber(items[1])
		if ok1 && ok2 {
			return &lineRange{start, end}
		}
	}
	a.fail(textBadField, name, a.command, wantRange)
	return nil
}

// wholeNumber reads a JSON number without a fraction, in any notation. One that
// is too large for an int becomes the largest or smallest: it is out of every range.
func wholeNumber(raw json.RawMessage) (int, bool) {
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, false
	}
	if n, err := strconv.Atoi(string(raw)); err == nil {
		return n, true
	}
	x, err := strconv.ParseFloat(string(raw), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || x != math.Trunc(x) {
		return 0, false
	}
	switch {
	case x >= math.MaxInt:
		return math.MaxInt, true
	case x <= math.MinInt:
		return math.MinInt, true
	}
	return int(x), true
}

// fields are the members of one JSON object, still encoded.
type fields map[string]json.RawMessage

const (
	// maxKeys is the largest number of members of an object. No command has as many, and
	// each takes much more memory than its text.
	maxKeys = 100
	// maxNesting is the largest number of levels of lists and objects, in members that no
	// command has: as many as encoding/json reads.
	maxNesting = 10_000
)

// parseObject reads exactly one JSON object. It is stricter than encoding/json where
// leniency would store another text than the agent sent, or choose one of two values.
// With an error it returns the fields before the place of the error.
func parseObject(raw []byte) (fields, error) {
	s := strictjson.Scanner{Text: raw, MaxDepth: maxNesting}
	f, err := s.Object(maxKeys)
	if err == nil {
		return f, nil
	}
	if !utf8.Valid(raw) {
		return fields{}, refusedObject(reasonNotUTF8)
	}
	reason := reasonSyntax
	if errors.Is(err, strictjson.ErrSurrogate) {
		// It concerns one string. What is wrong with the whole comes first.
		s := strictjson.Scanner{Text: raw, MaxDepth: maxNesting, Loose: true}
		f, err = s.Object(maxKeys)
	}
	var duplicate *strictjson.DuplicateError
	switch {
	case err == nil:
		reason = reasonLoneSurrogate
	case errors.As(err, &duplicate):
		reason = fmt.Sprintf(reasonDuplicateKey, duplicate.Name)
	case errors.Is(err, strictjson.ErrNotObject):
		reason = reasonNotObject
	case errors.Is(err, strictjson.ErrManyMembers):
		reason = reasonManyKeys
	case errors.Is(err, strictjson.ErrTrailing):
		reason = reasonTrailing
	}
	return f, refusedObject(reason)
}

func refusedObject(reason string) error {
	return &ToolError{Text: fmt.Sprintf(textNoJSON, reason), Err: ErrInvalid}
}
