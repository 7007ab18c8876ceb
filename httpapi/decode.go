package httpapi

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

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
	return decodeWithin(text, v, c.charge)
}

// fields are the members of a JSON object, still encoded.
type fields map[string]json.RawMessage

// has reports whether a field is there and not null.
func (f fields) has(name string) bool { return f[name] != nil && string(f[name]) != null }

// decode reads the members of a JSON object into a struct, in one pass: the first name
// that is not known, or is there twice, ends it.
func decode(text []byte, v any) (fields, error) {
	return decodeWithin(text, v, func(int64) error { return nil })
}

// decodeWithin is decode, with the bytes counted that lists take beyond those of
// the text. What charge returns ends it.
func decodeWithin(text []byte, v any, charge func(int64) error) (fields, error) {
	d := decoder{scanner: scanner{text: bytes.Trim(text, jsonSpace)}, charge: charge}
	if len(d.text) == 0 || string(d.text) == null {
		return nil, nil
	}
	given := fields{}
	if err := d.object(reflect.ValueOf(v).Elem(), "", 1, given); err != nil {
		return nil, err
	}
	return given, d.end()
}

const (
	jsonSpace = " \t\r\n"
	null      = "null"
)

// checkText refuses texts that are no JSON, or that encoding/json would change in
// reading them.
func checkText(text []byte) error {
	s := scanner{text: text}
	if _, err := s.value(0); err != nil {
		return err
	}
	return s.end()
}

// A decoder reads values of known types.
type decoder struct {
	scanner
	charge func(int64) error
}

// within is the name of a field of the object at a place.
func fieldPath(at, name string) string {
	name = printable(name)
	if at == "" || name == "" {
		return at + name
	}
	return at + "." + name
}

// begin passes over the start of an object; at is where it is in the body, "" for the whole.
func (d *decoder) begin(at string, depth int) error {
	if d.peek() == '{' {
		d.at++
		return nil
	}
	if _, err := d.value(depth); err != nil {
		return err
	}
	if at != "" {
		return invalid("%s: must be an object", at)
	}
	if err := d.end(); err != nil {
		return err
	}
	return invalid("the body must be a JSON object")
}

// name reads the name of a member.
func (d *decoder) name() (string, error) {
	raw, err := d.key()
	if err != nil {
		return "", err
	}
	return unquote(raw), nil
}

// unquote returns what a string, which is valid, says.
func unquote(raw []byte) (s string) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	_ = json.Unmarshal(raw, &s) // there are no errors in what is valid
	return s
}

// object sets the fields of a struct from the members of an object, each of which is
// there but once. It notes in given, unless that is nil, which there are.
func (d *decoder) object(to reflect.Value, at string, depth int, given fields) error {
	if err := d.begin(at, depth-1); err != nil {
		return err
	}
	known, seen := fieldsOf(to.Type()), uint64(0)
	for n := 0; ; n++ {
		more, err := d.next('}', n)
		if err != nil || !more {
			return err
		}
		name, err := d.name()
		if err != nil {
			return err
		}
		i := slices.Index(known, name)
		switch {
		case i < 0 || name == "":
			return invalid("%s: extra inputs are not permitted", fieldPath(at, name))
		case seen&(1<<i) != 0:
			return invalid("%s: is there more than once", fieldPath(at, name))
		}
		seen |= 1 << i
		d.peek()
		start := d.at
		if err := d.into(to.Field(i), fieldPath(at, name), depth); err != nil {
			return err
		}
		if given != nil {
			given[name] = d.text[start:d.at:d.at]
		}
	}
}

// fieldsOf returns the names in JSON of a struct's fields; "" is of those that have none.
func fieldsOf(t reflect.Type) []string {
	if known, ok := fieldNames.Load(t); ok {
		return known.([]string)
	}
	names := make([]string, t.NumField())
	for i := range names {
		names[i], _, _ = strings.Cut(t.Field(i).Tag.Get("json"), ",")
	}
	fieldNames.Store(t, names)
	return names
}

var fieldNames sync.Map // of reflect.Type: []string

// into sets a value from the next in the text. Null leaves it as it is.
func (d *decoder) into(to reflect.Value, at string, depth int) error {
	first := d.peek()
	if first == 'n' {
		return d.word()
	}
	t := to.Type()
	switch kind := t.Kind(); {
	case kind == reflect.Pointer:
		if to.IsNil() {
			to.Set(reflect.New(t.Elem()))
		}
		return d.into(to.Elem(), at, depth)
	case kind == reflect.Struct && !decodesItself(t):
		return d.object(to, at, depth+1, nil)
	case kind == reflect.Map:
		return d.mapping(to, at, depth+1)
	case kind == reflect.Slice && first == '[' && (t.Elem().Kind() == reflect.Struct || t == rawList):
		return d.list(to, at, depth+1)
	}
	d.items = 0
	raw, err := d.value(depth)
	if err != nil {
		return err
	}
	if names := ownFields[t]; names != nil {
		if err := checkFields(raw, names, at); err != nil {
			return err
		}
	}
	if t.Kind() == reflect.String && first == '"' && !decodesItself(t) {
		to.SetString(unquote(raw))
		return nil
	}
	if t.Kind() == reflect.Slice && first == '[' {
		if err := d.charge(int64(d.items) * itemCost); err != nil {
			return err
		}
	}
	if err := json.Unmarshal(raw, to.Addr().Interface()); err != nil {
		return decodeError(err, t, at)
	}
	return nil
}

// mapping makes a map from the members of an object.
func (d *decoder) mapping(to reflect.Value, at string, depth int) error {
	if err := d.begin(at, depth-1); err != nil {
		return err
	}
	to.Set(reflect.MakeMap(to.Type()))
	for n := 0; ; n++ {
		more, err := d.next('}', n)
		if err != nil || !more {
			return err
		}
		if n == maxMembers {
			return invalid("%s: has more than %d entries", at, maxMembers)
		}
		name, err := d.name()
		if err != nil {
			return err
		}
		key := reflect.ValueOf(name)
		if to.MapIndex(key).IsValid() {
			return invalid("%s: is there more than once", fieldPath(at, name))
		}
		value := reflect.New(to.Type().Elem()).Elem()
		if err := d.into(value, fieldPath(at, name), depth); err != nil {
			return err
		}
		to.SetMapIndex(key, value)
	}
}

const (
	maxMembers  = 1000 // of a map; no rule allows as many
	itemCost    = 64   // bytes in memory of an entry of a list, about
	structCost  = 512  // of one that is an object, and of what is made of it
	chargedOnce = 128  // entries
)

var rawList = reflect.TypeFor[[]json.RawMessage]()

// list makes a slice from a list.
func (d *decoder) list(to reflect.Value, at string, depth int) error {
	d.at++
	to.Set(reflect.MakeSlice(to.Type(), 0, 0))
	for n := 0; ; n++ {
		more, err := d.next(']', n)
		if err != nil || !more {
			return err
		}
		if n == maxItems {
			return invalid("%s: has more than %d entries", at, maxItems)
		}
		if n > 0 && n%chargedOnce == 0 {
			if err := d.charge(chargedOnce * structCost); err != nil {
				return err
			}
		}
		if to.Type() == rawList {
			d.items = 0
			raw, err := d.value(depth)
			if err != nil {
				return err
			}
			to.Set(reflect.Append(to, reflect.ValueOf(json.RawMessage(raw))))
			continue
		}
		if to.Len() == to.Cap() {
			to.Grow(1) // doubles
		}
		to.SetLen(n + 1)
		to.Index(n).SetZero()
		if err := d.into(to.Index(n), fmt.Sprintf("%s[%d]", at, n), depth); err != nil {
			return err
		}
	}
}

// checkFields refuses an object that has other fields than some, or one of them twice.
func checkFields(text []byte, names []string, at string) error {
	d := decoder{scanner: scanner{text: text}}
	if err := d.begin(at, 0); err != nil {
		return err
	}
	var seen []string
	for n := 0; ; n++ {
		more, err := d.next('}', n)
		if err != nil || !more {
			return err
		}
		name, err := d.name()
		switch {
		case err != nil:
			return err
		case !slices.Contains(names, name):
			return invalid("%s: extra inputs are not permitted", fieldPath(at, name))
		case slices.Contains(seen, name):
			return invalid("%s: is there more than once", fieldPath(at, name))
		}
		seen = append(seen, name)
		if _, err := d.value(1); err != nil {
			return err
		}
	}
}

func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(unmarshaler) || p.Implements(textUnmarshaler)
}

var (
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// ownFields are the fields of objects that decode themselves, and do not mind
// others.
var ownFields = map[reflect.Type][]string{
	reflect.TypeFor[memento.Condition](): {"type", "content_sha256", "memory_version_id"},
	reflect.TypeFor[memento.Expiry]():    {"after", "keep"},
	reflect.TypeFor[memento.Retention](): {"age", "versions"},
}

// undecoded says what is wrong with the field at a place, in terms of JSON.
func decodeError(err error, t reflect.Type, at string) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return invalid("%s: must be %s, not %s", fieldPath(at, e.Field), jsonType(e.Type), printable(e.Value))
	}
	switch {
	case errors.Is(err, memento.ErrInvalid):
		return invalidField(at, err)
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
		return "", notFoundErr(what)
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

func invalidField(name string, err error) error { return invalid("%s: %s", name, clientMessage(err)) }
