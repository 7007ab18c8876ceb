package claudetest

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A rule checks the value at a place such as "messages.0.content.1.text".
type rule func(at string, v any) *Error

// A member is a field of an object.
type member struct {
	required bool
	rule     rule
}

// A shape is a JSON object with a fixed set of fields.
type shape map[string]member

// check refuses fields that the shape lacks, and missing ones, in order of name.
func (s shape) check(at string, v any) *Error {
	object, ok := v.(map[string]any)
	if !ok {
		return invalid("%s: Input should be a valid dictionary", at)
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if _, ok := object[name]; !ok && s[name].required {
			return invalid("%s: Field required", join(at, name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		m, ok := s[name]
		if !ok {
			return invalid("%s: Extra inputs are not permitted", join(at, name))
		}
		if err := m.rule(join(at, name), object[name]); err != nil {
			return err
		}
	}
	return nil
}

// with returns s with the members of more in addition.
func (s shape) with(more shape) shape {
	all := maps.Clone(s)
	maps.Copy(all, more)
	return all
}

func must(r rule) member     { return member{required: true, rule: r} }
func optional(r rule) member { return member{rule: r} }

// orNull accepts null, too.
func orNull(r rule) member {
	return optional(func(at string, v any) *Error {
		if v == nil {
			return nil
		}
		return r(at, v)
	})
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func index(at string, i int) string { return join(at, strconv.Itoa(i)) }

func anything(string, any) *Error { return nil }

func isString(at string, v any) *Error {
	if _, ok := v.(string); !ok {
		return invalid("%s: Input should be a valid string", at)
	}
	return nil
}

func isBool(at string, v any) *Error {
	if _, ok := v.(bool); !ok {
		return invalid("%s: Input should be a valid boolean", at)
	}
	return nil
}

func isObject(at string, v any) *Error {
	if _, ok := v.(map[string]any); !ok {
		return invalid("%s: Input should be a valid dictionary", at)
	}
	return nil
}

// isInt accepts whole numbers of at least min.
func isInt(min int64) rule {
	return func(at string, v any) *Error {
		n, ok := number(v)
		if !ok {
			return invalid("%s: Input should be a valid integer", at)
		}
		if n < min {
			return invalid("%s: Input should be greater than or equal to %d", at, min)
		}
		return nil
	}
}

// isShare accepts numbers between 0 and 1.
func isShare(at string, v any) *Error {
	n, ok := v.(json.Number)
	if !ok {
		return invalid("%s: Input should be a valid number", at)
	}
	if f, err := n.Float64(); err != nil || f < 0 || f > 1 {
		return invalid("%s: range: 0..1", at)
	}
	return nil
}

func oneOf(values ...string) rule {
	return func(at string, v any) *Error {
		if s, ok := v.(string); ok && slices.Contains(values, s) {
			return nil
		}
		quoted := make([]string, len(values))
		for i, value := range values {
			quoted[i] = "'" + value + "'"
		}
		if n := len(quoted); n > 1 {
			quoted = []string{strings.Join(quoted[:n-1], ", ") + " or " + quoted[n-1]}
		}
		return invalid("%s: Input should be %s", at, quoted[0])
	}
}

func matching(pattern string) rule {
	re := regexp.MustCompile(pattern)
	return func(at string, v any) *Error {
		s, ok := v.(string)
		if !ok {
			return invalid("%s: Input should be a valid string", at)
		}
		if !re.MatchString(s) {
			return invalid("%s: String should match pattern '%s'", at, pattern)
		}
		return nil
	}
}

func listOf(r rule) rule {
	return func(at string, v any) *Error {
		list, ok := v.([]any)
		if !ok {
			return invalid("%s: Input should be a valid list", at)
		}
		for i, item := range list {
			if err := r(index(at, i), item); err != nil {
				return err
			}
		}
		return nil
	}
}

// union checks an object by its member "type".
func union(kinds map[string]rule) rule {
	names := slices.Sorted(maps.Keys(kinds))
	return func(at string, v any) *Error {
		object, ok := v.(map[string]any)
		if !ok {
			return invalid("%s: Input should be a valid dictionary", at)
		}
		kind, ok := object["type"].(string)
		if !ok {
			return invalid("%s.type: Field required", at)
		}
		r, ok := kinds[kind]
		if !ok {
			return invalid("%s: Input tag '%s' found using 'type' does not match any of the expected tags: '%s'", at, kind, strings.Join(names, "', '"))
		}
		return r(at, v)
	}
}

// number returns v as a whole number.
func number(v any) (int64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	i, err := n.Int64()
	return i, err == nil
}

// decode parses one JSON object, with numbers as they are written.
func decode(body []byte) (map[string]any, *Error) {
	if !utf8.Valid(body) {
		return nil, invalid("The request body is not valid JSON: it is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, invalid("The request body is not valid JSON: %v", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, invalid("The request body is not valid JSON: there is more after its end")
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, invalid("Input should be a valid dictionary or object to extract fields from")
	}
	return object, nil
}

func text(object map[string]any, name string) string {
	s, _ := object[name].(string)
	return s
}
