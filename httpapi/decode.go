package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"memento"
)

// decode reads a JSON object into v, a pointer to a struct. A body that is absent, or
// null, is an empty object. A field that is null counts as absent, one that v does
// not have is refused: a misspelt precondition must not go unnoticed.
func (c *call) decode(v any) error {
	_, err := c.decodeGiven(v)
	return err
}

// decodeGiven is decode, and tells which fields there are.
func (c *call) decodeGiven(v any) (fields, error) {
	text, err := c.read()
	if err != nil {
		return nil, err
	}
	return decode(text, v)
}

// fields are the members of a JSON object, still encoded.
type fields map[string]json.RawMessage

// has reports whether a field is there and not null.
func (f fields) has(name string) bool { return f[name] != nil && string(f[name]) != null }

func decode(text []byte, v any) (fields, error) {
	text = bytes.Trim(text, jsonSpace)
	if len(text) == 0 || string(text) == null {
		return nil, nil
	}
	if err := checkText(text); err != nil {
		return nil, err
	}
	f, err := objectFields(text, "")
	if err != nil {
		return nil, err
	}
	return f, setFields(reflect.ValueOf(v).Elem(), f, "")
}

const (
	jsonSpace = " \t\r\n"
	null      = "null"
)

// checkText refuses texts that encoding/json would change in reading them.
func checkText(text []byte) error {
	switch {
	case !utf8.Valid(text):
		return invalid("the body is not valid UTF-8")
	case !json.Valid(text):
		return invalid("the body is not valid JSON")
	case hasLoneSurrogate(text):
		return invalid("the body has an escape for half of a surrogate pair, which is no character")
	}
	return nil
}

// hasLoneSurrogate reports whether a string in valid JSON escapes half of a
// surrogate pair, which encoding/json would replace by U+FFFD.
func hasLoneSurrogate(text []byte) bool {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return false
		}
		text = text[i:]
		switch high, ok := escapedUnit(text); {
		case !ok:
			text = text[2:] // another escape
		case high < 0xd800 || high > 0xdfff:
			text = text[6:]
		default:
			if low, ok := escapedUnit(text[6:]); high >= 0xdc00 || !ok || low < 0xdc00 || low > 0xdfff {
				return true
			}
			text = text[12:]
		}
	}
}

// escapedUnit reads a \uXXXX at the start of text.
func escapedUnit(text []byte) (uint64, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return n, err == nil
}

// objectFields returns the members of valid JSON, which must be an object, each but
// once; at is where it is in the body, "" for the whole.
func objectFields(text []byte, at string) (fields, error) {
	if text[0] != '{' {
		if at == "" {
			return nil, invalid("the body must be a JSON object")
		}
		return nil, invalid("%s: must be an object", at)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	_, _ = d.Token() // the brace; there are no errors in what is valid
	f := fields{}
	for d.More() {
		name, _ := d.Token()
		var value json.RawMessage
		_ = d.Decode(&value)
		key, _ := name.(string)
		if f[key] != nil {
			return nil, invalid("%s: is there more than once", within(at, key))
		}
		f[key] = value
	}
	return f, nil
}

// within is the name of a field of the object at a place.
func within(at, name string) string {
	name = printable(name)
	if at == "" || name == "" {
		return at + name
	}
	return at + "." + name
}

// setFields sets the fields of a struct from the members of an object.
func setFields(to reflect.Value, f fields, at string) error {
	known := map[string]reflect.Value{}
	for i := range to.NumField() {
		if name, _, _ := strings.Cut(to.Type().Field(i).Tag.Get("json"), ","); name != "" {
			known[name] = to.Field(i)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		field, ok := known[name]
		if !ok {
			return invalid("%s: extra inputs are not permitted", within(at, name))
		}
		if err := setValue(field, f[name], within(at, name)); err != nil {
			return err
		}
	}
	return nil
}

// setValue sets a value from JSON. Null leaves it as it is.
func setValue(to reflect.Value, text json.RawMessage, at string) error {
	if string(text) == null {
		return nil
	}
	switch kind := to.Kind(); {
	case kind == reflect.Pointer:
		if to.IsNil() {
			to.Set(reflect.New(to.Type().Elem()))
		}
		return setValue(to.Elem(), text, at)
	case kind == reflect.Struct && !decodesItself(to.Type()):
		f, err := objectFields(text, at)
		if err != nil {
			return err
		}
		return setFields(to, f, at)
	case kind == reflect.Map:
		f, err := objectFields(text, at)
		if err != nil {
			return err
		}
		to.Set(reflect.MakeMap(to.Type()))
		for _, name := range slices.Sorted(maps.Keys(f)) {
			value := reflect.New(to.Type().Elem()).Elem()
			if err := setValue(value, f[name], within(at, name)); err != nil {
				return err
			}
			to.SetMapIndex(reflect.ValueOf(name), value)
		}
		return nil
	case kind == reflect.Slice && to.Type().Elem().Kind() == reflect.Struct:
		var items []json.RawMessage
		if err := json.Unmarshal(text, &items); err != nil {
			return undecoded(err, to.Type(), at)
		}
		to.Set(reflect.MakeSlice(to.Type(), len(items), len(items)))
		for i, item := range items {
			if err := setValue(to.Index(i), item, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
		return nil
	}
	if names := ownFields[to.Type()]; names != nil {
		f, err := objectFields(text, at)
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(f)) {
			if !slices.Contains(names, name) {
				return invalid("%s: extra inputs are not permitted", within(at, name))
			}
		}
	}
	if err := json.Unmarshal(text, to.Addr().Interface()); err != nil {
		return undecoded(err, to.Type(), at)
	}
	return nil
}

func decodesItself(t reflect.Type) bool { return reflect.PointerTo(t).Implements(unmarshaler) }

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// ownFields are the fields of objects that decode themselves, and do not mind
// others.
var ownFields = map[reflect.Type][]string{
	reflect.TypeFor[memento.Condition](): {"type", "content_sha256", "memory_version_id"},
	reflect.TypeFor[memento.Expiry]():    {"after", "keep"},
	reflect.TypeFor[memento.Retention](): {"age", "versions"},
}

// undecoded says what is wrong with the field at a place, in terms of JSON.
func undecoded(err error, t reflect.Type, at string) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return invalid("%s: must be %s, not %s", within(at, e.Field), jsonType(e.Type), printable(e.Value))
	}
	switch {
	case errors.Is(err, memento.ErrInvalid):
		return fieldFault(at, err)
	case t == reflect.TypeFor[time.Time]():
		return invalid("%s: must be a time such as 2026-09-26T12:00:00Z", at)
	case ownFields[t] != nil:
		return invalid(`%s: must have durations such as "720h0m0s", or "forever"`, at)
	}
	return invalid("%s: is not of the form that it must have", at)
}

func jsonType(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "a whole number"
}

// required refuses a field that is absent.
func required[T any](name string, v *T) (T, error) {
	if v == nil {
		var none T
		return none, invalid("%s: field required", name)
	}
	return *v, nil
}

// pathID returns an ID from the path. What is no ID names nothing.
func (c *call) pathID(name, prefix, what string) (string, error) {
	id := c.r.PathValue(name)
	if !isID(id, prefix) {
		return "", missing(what)
	}
	return id, nil
}

const maxIDBytes = 128

// isID reports whether s could be an ID with a prefix: IDs from elsewhere may come
// with an import, so only what is safe anywhere is asked for.
func isID(s, prefix string) bool {
	if !strings.HasPrefix(s, prefix) || len(s) > maxIDBytes {
		return false
	}
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-') {
			return false
		}
	}
	return true
}

func fieldFault(name string, err error) error { return invalid("%s: %s", name, plain(err)) }
