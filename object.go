package memento

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// fields are the members of one JSON object, still encoded.
type fields map[string]json.RawMessage

// maxKeys is the largest number of members of an object. No command has as many, and
// each takes much more memory than its text.
const maxKeys = 100

// parseObject reads exactly one JSON object. It is stricter than encoding/json where
// leniency would store another text than the agent sent, or choose one of two values.
// With an error it returns the fields before the place of the error.
func parseObject(raw []byte) (fields, error) {
	if f, ok := parseValid(raw); ok {
		return f, nil
	}
	return parseFaulty(raw)
}

// parseNested is parseObject for a value of an object that parseObject has read, or
// for nil: only its members remain to be checked.
func parseNested(raw []byte) (fields, error) {
	if f, ok := members(raw); ok {
		return f, nil
	}
	return parseFaulty(raw)
}

// parseValid is parseObject for objects in which nothing is wrong, which nearly all
// are: it takes a fifth of the time. Of others it returns only ok == false.
func parseValid(raw []byte) (f fields, ok bool) {
	if !json.Valid(raw) || !utf8.Valid(raw) || hasLoneSurrogate(raw) {
		return nil, false
	}
	return members(raw)
}

// parseFaulty is parseObject for texts in which something is wrong: it finds out what.
func parseFaulty(raw []byte) (fields, error) {
	f := fields{}
	refuse := func(why string) (fields, error) {
		return f, &ToolError{Text: fmt.Sprintf(textNoJSON, why), Err: ErrInvalid}
	}
	if !utf8.Valid(raw) {
		return refuse(reasonNotUTF8)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	switch open, err := d.Token(); {
	case err != nil:
		return refuse(reasonSyntax)
	case open != json.Delim('{'):
		return refuse(reasonNotObject)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return refuse(reasonSyntax)
		}
		name := key.(string) // the decoder accepts no other keys
		if _, seen := f[name]; seen {
			return refuse(fmt.Sprintf(reasonDuplicateKey, name))
		}
		if len(f) == maxKeys {
			return refuse(reasonManyKeys)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return refuse(reasonSyntax)
		}
		f[name] = value
	}
	if _, err := d.Token(); err != nil {
		return refuse(reasonSyntax)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return refuse(reasonTrailing)
	}
	if hasLoneSurrogate(raw) {
		return refuse(reasonLoneSurrogate)
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

// members returns the members of an object in valid JSON. ok is false if it is no
// object, has a key twice, or has too many.
func members(raw []byte) (f fields, ok bool) {
	i := skipSpace(raw, 0)
	if i == len(raw) || raw[i] != '{' {
		return nil, false
	}
	f = fields{}
	for i = skipSpace(raw, i+1); raw[i] != '}'; {
		end := skipString(raw, i)
		name, err := memberName(raw[i:end])
		if err != nil {
			return nil, false
		}
		if _, seen := f[name]; seen || len(f) == maxKeys {
			return nil, false
		}
		i = skipSpace(raw, skipSpace(raw, end)+1) // after the colon
		end = skipValue(raw, i)
		f[name] = raw[i:end:end]
		if i = skipSpace(raw, end); raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
	return f, true
}

// memberName decodes a string.
func memberName(quoted []byte) (name string, err error) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1]), nil
	}
	err = json.Unmarshal(quoted, &name)
	return name, err
}

// The functions that follow find ends in JSON that is known to be valid.

func skipSpace(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the end of the string that starts at i.
func skipString(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// skipValue returns the end of the value that starts at i.
func skipValue(raw []byte, i int) int {
	for depth := 0; i < len(raw); {
		switch raw[i] {
		case '"':
			i = skipString(raw, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\n', '\t', '\r':
			i++
			continue
		default: // a number, or a word
			for i < len(raw) && strings.IndexByte(",]} \n\t\r", raw[i]) < 0 {
				i++
			}
		}
		if depth == 0 {
			break
		}
	}
	return i
}
