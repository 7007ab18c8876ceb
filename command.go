package memento

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"memento/internal/strictjson"
)

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
