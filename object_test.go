package memento

import (
	"encoding/json"
	"maps"
	"testing"
)

// FuzzParseObject holds the quick way of reading objects against the careful one.
func FuzzParseObject(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` { } `, `{"a":1}`, `{"a":{"b":[1,"}",{"c":null}]},"d":"\"}"}`, `{"\u0061":"x","b":true}`,
		`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a":"\ud800"}`, `{"a":-1.5e3 , "b" : [ ] }`, `[]`, `"x"`, `1`, ``, `{"a":1}x`, `{"a"`,
		"{\"a\":\"\xff\"}", "{\n\t\"a\"\r:\n{\"b\":[[],{}]}\n}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		quick, ok := parseValid(raw)
		careful, err := parseFaulty(raw)
		if ok != (err == nil) {
			t.Fatalf("%q: quick %v, careful %v", raw, ok, err)
		}
		if ok && !maps.EqualFunc(quick, careful, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
			t.Errorf("%q: quick %s, careful %s", raw, quick, careful)
		}
	})
}
