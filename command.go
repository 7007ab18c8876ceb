package memento

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"
)

// fields are the members of one JSON object, still encoded.
type fields map[string]json.RawMessage

// parseObject reads exactly one JSON object. It is stricter than encoding/json
// where leniency would store other text than the agent sent, or guess which of
// two values was meant. With an error it returns the fields that came before it.
func parseObject(raw []byte) (fields, error) {
	f := fields{}
	refuse := func(why string) (fields, error) {
		return f, &ToolError{Text: fmt.Sprintf(textNoJSON, why), Err: ErrInvalid}
	}
	if !utf8.Valid(raw) {
		return refuse(faultNotUTF8)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	switch open, err := d.Token(); {
	case err != nil:
		return refuse(faultSyntax)
	case open != json.Delim('{'):
		return refuse(faultNotObject)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return refuse(faultSyntax)
		}
		name := key.(string) // the decoder accepts no other keys
		if _, seen := f[name]; seen {
			return refuse(fmt.Sprintf(faultDuplicateKey, name))
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return refuse(faultSyntax)
		}
		f[name] = value
	}
	if _, err := d.Token(); err != nil {
		return refuse(faultSyntax)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return refuse(faultTrailing)
	}
	if hasLoneSurrogate(raw) {
		return refuse(faultLoneSurrogate)
	}
	return f, nil
}

// hasLoneSurrogate reports whether a string in valid JSON escapes half of a
// surrogate pair, which encoding/json would replace by U+FFFD.
func hasLoneSurrogate(raw []byte) bool {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return false
		}
		raw = raw[i:]
		high, ok := escapedUnit(raw)
		switch {
		case !ok:
			raw = raw[2:] // another escape
		case high < 0xd800 || high > 0xdfff:
			raw = raw[6:]
		default:
			low, ok := escapedUnit(raw[6:])
			if high >= 0xdc00 || !ok || low < 0xdc00 || low > 0xdfff {
				return true
			}
			raw = raw[12:]
		}
	}
}

// escapedUnit reads a \uXXXX at the start of raw.
func escapedUnit(raw []byte) (uint64, bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	return n, err == nil
}

// has reports whether a field is there and not null.
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
	return s, json.Unmarshal(v, &s) == nil
}

// An args reads the fields of one command, and keeps the first thing wrong.
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
