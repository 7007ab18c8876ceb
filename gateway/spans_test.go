package gateway

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzObject compares edits of a text with the same edits of a decoded object.
func FuzzObject(f *testing.F) {
	for _, seed := range []string{`{}`, ` { } `, `{"a":1}`, `{"a" : [1, {"b":null}] , "c":"}\"{"}`, `{"\u0061":1,"b":{"a":2}}`, `{"a":1,"b":2,"c":3}` + "\n", `{"{":"}"}`, `{"a":1,"a":2}`} {
		f.Add([]byte(seed), "a")
		f.Add([]byte(seed), "new\n")
	}
	f.Fuzz(func(t *testing.T, text []byte, name string) {
		o, err := parseObject(text)
		if err != nil || !json.Valid(text) {
			return
		}
		name = unquoted(quote(name)) // valid UTF-8
		before := bytes.Clone(text)
		decode := func(data []byte) map[string]any {
			var m map[string]any
			if err := json.Unmarshal(data, &m); err != nil {
				t.Fatalf("%q: %v", data, err)
			}
			return m
		}
		want := decode(text)
		set := o.set(name, []byte(`[1.50,"x"]`))
		want[name] = []any{1.5, "x"}
		if got := decode(set.text); !reflect.DeepEqual(got, want) {
			t.Errorf("set: %q is %v, want %v", set.text, got, want)
		}
		if got := string(set.get(name)); got != `[1.50,"x"]` {
			t.Errorf("get: %q of %q", got, set.text)
		}
		for _, m := range o.members {
			if string(set.get(m.name)) != string(o.get(m.name)) && m.name != name {
				t.Errorf("the member %q of %q has changed", m.name, set.text)
			}
		}
		delete(want, name)
		if got := decode(set.without(name).text); !reflect.DeepEqual(got, want) {
			t.Errorf("without: %v, want %v", got, want)
		}
		if !bytes.Equal(text, before) {
			t.Errorf("the text itself was changed to %q", text)
		}
	})
}

func unquoted(raw []byte) (s string) {
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func TestSum(t *testing.T) {
	for _, test := range [][3]string{
		{`{"input_tokens":1,"x":null}`, `{"input_tokens":2,"x":5}`, `{"input_tokens":3,"x":5}`},
		{`{"a":{"b":1},"l":[1],"s":"old"}`, `{"a":{"b":2,"c":3},"l":[2],"s":"new","a2":null}`, `{"a":{"b":3,"c":3},"l":[1,2],"s":"new"}`},
		{``, `{"a":1}`, `{"a":1}`},
		{`{"a":1}`, `null`, `{"a":1}`},
		{`{"a":1.5}`, `{"a":2}`, `{"a":2}`},
	} {
		if got := string(sum([]byte(test[0]), []byte(test[1]))); got != test[2] {
			t.Errorf("%s and %s: %s, want %s", test[0], test[1], got, test[2])
		}
	}
	if got := string(overlay([]byte(`{"a":1,"b":2}`), []byte(`{"a":null,"b":3,"c":4}`))); got != `{"a":1,"b":3,"c":4}` {
		t.Errorf("overlay: %s", got)
	}
}
