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
	"memento/internal/strictjson"
)

// decode reads the body, a JSON object, into v, a pointer to a struct. A body that is
// absent or null is an empty object. A field that is null counts as absent. A field that
// v does not have is an error: a misspelt precondition must not be ignored.
func (c *call) decode(v any) error {
	_, err := c.decodeGiven(v)
	return err
}

// decodeGiven is decode, and returns the fields that the body has.
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

// decode reads the members of a JSON object into a struct, in one pass. It ends at the
// first name that is unknown or repeated.
func decode(text []byte, v any) (fields, error) {
	return decodeWithin(text, v, func(int64) error { return nil })
}

// decodeWithin is decode with a limit of memory: it calls charge for the bytes that
// lists take beyond those of the text. An error of charge ends it.
func decodeWithin(text []byte, v any, charge func(int64) error) (fields, error) {
	d := decoder{Scanner: scannerOf(bytes.Trim(text, jsonSpace)), charge: charge}
	if len(d.Text) == 0 || string(d.Text) == null {
		return nil, nil
	}
	given := fields{}
	if err := d.object(reflect.ValueOf(v).Elem(), "", 1, given); err != nil {
		return nil, bodyError(err)
	}
	return given, bodyError(d.End())
}

const (
	jsonSpace = " \t\r\n"
	null      = "null"
)

const (
	maxNesting = 100            // levels of lists and objects
	maxItems   = maxChanges + 1 // of one list; one more than any may have, so that its own check says how many are too many
)

func scannerOf(text []byte) strictjson.Scanner {
	return strictjson.Scanner{Text: text, MaxDepth: maxNesting, MaxItems: maxItems}
}

var (
	errNotJSON   = invalid("the body is not valid JSON")
	errNotUTF8   = invalid("the body is not valid UTF-8")
	errSurrogate = invalid("the body has an escape for an unpaired surrogate")
	errNesting   = invalid("the body nests arrays and objects more than %d levels deep", maxNesting)
	errItems     = invalid("the body has an array or object with more than %d entries", maxItems)
)

// bodyError returns the client's error for one of a scanner; others it returns unchanged.
func bodyError(err error) error {
	switch err {
	case strictjson.ErrSyntax:
		return errNotJSON
	case strictjson.ErrUTF8:
		return errNotUTF8
	case strictjson.ErrSurrogate:
		return errSurrogate
	case strictjson.ErrDepth:
		return errNesting
	case strictjson.ErrItems:
		return errItems
	}
	return err
}

// checkText returns an error if a text is not JSON, or if encoding/json would change it
// in decoding.
func checkText(text []byte) error {
	s := scannerOf(text)
	if _, err := s.Value(0); err != nil {
		return bodyError(err)
	}
	return bodyError(s.End())
}

// A decoder reads values of known types. Its methods return errors of the scanner, too:
// see bodyError.
type decoder struct {
	strictjson.Scanner
	charge func(int64) error
}

// fieldPath returns the path of a field in the body, for an error: at is the path of the
// object, name that of the field in it.
func fieldPath(at, name string) string {
	name = printable(name)
	if at == "" || name == "" {
		return at + name
	}
	return at + "." + name
}

// begin passes over the start of an object; at is its path in the body, "" for the
// whole.
func (d *decoder) begin(at string, depth int) error {
	if d.Peek() == '{' {
		d.At++
		return nil
	}
	if _, err := d.Value(depth); err != nil {
		return err
	}
	if at != "" {
		return invalid("%s: must be an object", at)
	}
	if err := d.End(); err != nil {
		return err
	}
	return invalid("the body must be a JSON object")
}

// name reads the name of a member.
func (d *decoder) name() (string, error) {
	raw, err := d.Key()
	if err != nil {
		return "", err
	}
	return strictjson.Unquote(raw), nil
}

// object sets the fields of a struct from the members of an object. A repeated member is
// an error. The members are added to given, unless that is nil.
func (d *decoder) object(to reflect.Value, at string, depth int, given fields) error {
	if err := d.begin(at, depth-1); err != nil {
		return err
	}
	known, seen := fieldsOf(to.Type()), uint64(0)
	for n := 0; ; n++ {
		more, err := d.Next('}', n)
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
			return invalid("%s: must not be repeated", fieldPath(at, name))
		}
		seen |= 1 << i
		d.Peek()
		start := d.At
		if err := d.into(to.Field(i), fieldPath(at, name), depth); err != nil {
			return err
		}
		if given != nil {
			given[name] = d.Text[start:d.At:d.At]
		}
	}
}

// fieldsOf returns the JSON names of a struct's fields; "" for fields without one.
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

// into decodes the next value of the text into a Go value. Null leaves it unchanged.
func (d *decoder) into(to reflect.Value, at string, depth int) error {
	first := d.Peek()
	if first == 'n' {
		return d.Word()
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
	d.Items = 0
	raw, err := d.Value(depth)
	if err != nil {
		return err
	}
	if names := ownFields[t]; names != nil {
		if err := checkFields(raw, names, at); err != nil {
			return err
		}
	}
	if t.Kind() == reflect.String && first == '"' && !decodesItself(t) {
		to.SetString(strictjson.Unquote(raw))
		return nil
	}
	if t.Kind() == reflect.Slice && first == '[' {
		if err := d.charge(int64(d.Items) * itemCost); err != nil {
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
		more, err := d.Next('}', n)
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
			return invalid("%s: must not be repeated", fieldPath(at, name))
		}
		value := reflect.New(to.Type().Elem()).Elem()
		if err := d.into(value, fieldPath(at, name), depth); err != nil {
			return err
		}
		to.SetMapIndex(key, value)
	}
}

const (
	maxMembers  = 1000 // of a map; every rule allows fewer
	itemCost    = 64   // estimated bytes of memory of an entry of a list
	structCost  = 512  // the same of an entry that is an object, with the values made from it
	chargedOnce = 128  // number of entries between two calls of charge
)

var rawList = reflect.TypeFor[[]json.RawMessage]()

// list makes a slice from a list.
func (d *decoder) list(to reflect.Value, at string, depth int) error {
	d.At++
	to.Set(reflect.MakeSlice(to.Type(), 0, 0))
	for n := 0; ; n++ {
		more, err := d.Next(']', n)
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
			d.Items = 0
			raw, err := d.Value(depth)
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

// checkFields returns an error if an object has a field that is not in names, or has one
// twice.
func checkFields(text []byte, names []string, at string) error {
	d := decoder{Scanner: scannerOf(text)}
	if err := d.begin(at, 0); err != nil {
		return err
	}
	var seen []string
	for n := 0; ; n++ {
		more, err := d.Next('}', n)
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
			return invalid("%s: must not be repeated", fieldPath(at, name))
		}
		seen = append(seen, name)
		if _, err := d.Value(1); err != nil {
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

// ownFields lists the fields of objects that decode themselves and ignore unknown
// fields.
var ownFields = map[reflect.Type][]string{
	reflect.TypeFor[memento.Condition](): {"type", "content_sha256", "memory_version_id"},
	reflect.TypeFor[memento.Expiry]():    {"after", "keep"},
	reflect.TypeFor[memento.Retention](): {"age", "versions"},
}

// decodeError returns the error of a field whose value cannot be decoded, in terms of
// JSON; at is the path of the field.
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
	return invalid("%s: has an invalid form", at)
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

// required returns the value of a field, or an error if the field is absent.
func required[T any](name string, v *T) (T, error) {
	if v == nil {
		var none T
		return none, invalid("%s: field required", name)
	}
	return *v, nil
}

// pathID returns an ID from the path of the URL. An invalid ID is answered with not
// found.
func (c *call) pathID(name, prefix, what string) (string, error) {
	id := c.r.PathValue(name)
	if !isID(id, prefix) {
		return "", notFoundErr(what)
	}
	return id, nil
}

const maxIDBytes = 128

// isID reports whether s could be an ID with a prefix. Imports may bring IDs from
// elsewhere, so it only checks the characters and the length.
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
