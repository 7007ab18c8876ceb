package memento

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// parsePlainly is parseObject in terms of encoding/json. It returns the reason of an error.
func parsePlainly(raw []byte) (f fields, reason string) {
	f = fields{}
	if !utf8.Valid(raw) {
		return f, reasonNotUTF8
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	switch open, err := d.Token(); {
	case err != nil:
		return f, reasonSyntax
	case open != json.Delim('{'):
		return f, reasonNotObject
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return f, reasonSyntax
		}
		name := key.(string) // the decoder accepts no other keys
		if _, seen := f[name]; seen {
			return f, fmt.Sprintf(reasonDuplicateKey, name)
		}
		if len(f) == maxKeys {
			return f, reasonManyKeys
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return f, reasonSyntax
		}
		f[name] = value
	}
	if _, err := d.Token(); err != nil {
		return f, reasonSyntax
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return f, reasonTrailing
	}
	if escapesLoneSurrogate(raw) {
		return f, reasonLoneSurrogate
	}
	return f, ""
}

var escapeSequence = regexp.MustCompile(`\\(u[0-9a-fA-F]{4}|.)`)

// escapesLoneSurrogate reports whether a string in valid JSON escapes half of a pair.
func escapesLoneSurrogate(raw []byte) bool {
	after := 0 // the place after an upper half
	for _, at := range escapeSequence.FindAllIndex(raw, -1) {
		unit := uint64(0)
		if at[1]-at[0] == 6 {
			unit, _ = strconv.ParseUint(string(raw[at[0]+2:at[1]]), 16, 16)
		}
		low := unit >= 0xdc00 && unit <= 0xdfff
		if (after > 0) != (low && at[0] == after) {
			return true
		}
		if after = 0; unit >= 0xd800 && unit < 0xdc00 {
			after = at[1]
		}
	}
	return after > 0
}

// What the agent reads about a malformed input, and which fields are known nevertheless,
// is what a plain reading of the input gives.
func FuzzParseObject(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` { } `, `{"a":1}`, `{"a":{"b":[1,"}",{"c":null}]},"d":"\"}"}`, `{"\u0061":"x","b":true}`,
		`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a":"\ud800"}`, `{"a":-1.5e3 , "b" : [ ] }`, `[]`, `"x"`, `1`, ``, `{"a":1}x`, `{"a"`,
		"{\"a\":\"\xff\"}", "{\n\t\"a\"\r:\n{\"b\":[[],{}]}\n}\n", `{"a":"\ud83d\ude00","b":"\ude00\ud83d"}`, `{"\ud800":1,"\ud801":2}`,
		`{"a":"\ud800","a":1}`, `{"a":"\ud800"} x`, `{"a":"\ud800",`, `{"a":1,"a"`, `{"a":1,}`, `{"a":01}`, `1x`, `nullx`, `[1,`, `{"a":tru}`, `"`,
		"{\"a\":\"\x01\"}", `{"a":"\x"}`, `{"a":"\u12"}`, "\xef\xbb\xbf{}", `{"id":"x","type":"tool_use","input":{"a":1,"a":2}}`,
		`{"a":"\\ud800"}`, `{"a":"\\\ud800"}`, `{"text":"` + strings.Repeat("äöü\\n", 30) + `"}`, manyKeys(100), manyKeys(101), manyKeys(101)[:300],
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := parseObject(raw)
		want, reason := parsePlainly(raw)
		text := ""
		if reason != "" {
			text = fmt.Sprintf(textNoJSON, reason)
		}
		switch e, ok := errors.AsType[*ToolError](err); {
		case ok && e.Text != text, ok != (text != ""):
			t.Errorf("%q: %v; want %q", raw, err, text)
		case !maps.EqualFunc(got, want, func(a, b json.RawMessage) bool { return string(a) == string(b) }):
			t.Errorf("%q: fields %s; want %s", raw, got, want)
		}
	})
}

// manyKeys returns an object with n members.
func manyKeys(n int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = fmt.Sprintf(`"k%d":%d`, i, i)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// BenchmarkParseCall parses the creation of a note of 64 kB.
func BenchmarkParseCall(b *testing.B) {
	for _, tt := range []struct{ name, line string }{
		{"ascii", "A line of some fifty bytes, as the notes have them.\n"},
		{"german", "Eine Zeile, wie sie in Notizen über Gärten steht: äöü.\n"},
		{"japanese", "メモリの行は、ノートにあるように五十バイトほどです。\n"},
	} {
		text, err := json.Marshal(strings.Repeat(tt.line, 64<<10/len(tt.line)))
		if err != nil {
			b.Fatal(err)
		}
		block := []byte(`{"type":"tool_use","id":"toolu_1","name":"memory","input":{"command":"create","path":"/memories/a.md","file_text":` + string(text) + `}}`)
		b.Run(tt.name, func(b *testing.B) {
			b.SetBytes(int64(len(block)))
			b.ReportAllocs()
			for b.Loop() {
				if c, err := ParseCall(block); err != nil || !c.Writes() {
					b.Fatal(err)
				}
			}
		})
	}
}
