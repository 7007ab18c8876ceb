package httpapi

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"memento"
	"memento/backend/memstore"
)

// units are the UTF-16 of a JSON string, read in the plainest way: as it says, with no
// care for pairs.
func units(t *testing.T, raw []byte) (list []uint16) {
	t.Helper()
	text := string(raw[1 : len(raw)-1])
	for text != "" {
		if text[0] != '\\' {
			r, n := utf8.DecodeRuneInString(text)
			list, text = utf16.AppendRune(list, r), text[n:]
			continue
		}
		if text[1] == 'u' {
			n, err := strconv.ParseUint(text[2:6], 16, 16)
			if err != nil {
				t.Fatal(err)
			}
			list, text = append(list, uint16(n)), text[6:]
			continue
		}
		list = append(list, uint16(map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', '"': '"', '\\': '\\', '/': '/'}[text[1]]))
		text = text[2:]
	}
	return list
}

// FuzzDecode checks that what a body says is what is understood: nothing is changed,
// nothing read twice, nothing overlooked. What encoding/json refuses is refused.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"", "null", "{}", " {} ", "[]", `{"text":"a"}`, `{"text":null}`, `{"text":"\ud83d\ude00"}`, `{"text":"\ud83d"}`, `{"text":"\ude00\ud83d"}`, `{"text":"\\ud83d"}`, `{"text":"\\ufffd\ud800"}`, `{"text":"\ufffd"}`, "{\"text\":\"\xff\"}",
		`{"text":"a","text":"b"}`, `{"text":"a","Text":"b"}`, `{"text":"a"} x`, `{"texts":["a","\ud800"]}`, `{"map":{"a":"b","a":"c"}}`, `{"map":{"\ud800":"b"}}`, `{"map":{"a":null}}`, `{"inner":{"text":"a","other":1}}`, `{"number":1.5}`, `{"number":1e2}`, `{"number":9223372036854775808}`, `{"flag":"true"}`,
		`{"list":[{"text":"a"},{"text":"b"}]}`, `{"list":[{"text":"a"},null]}`, `{"list":{}}`, "\xef\xbb\xbf{}", `{"te\u0078t":"a"}`, strings.Repeat(`{"inner":`, 100),
	} {
		f.Add([]byte(seed))
	}
	type inner struct {
		Text *string `json:"text"`
	}
	type body struct {
		Text   *string            `json:"text"`
		Texts  []string           `json:"texts"`
		Map    map[string]*string `json:"map"`
		Inner  *inner             `json:"inner"`
		List   []inner            `json:"list"`
		Number int64              `json:"number"`
		Flag   bool               `json:"flag"`
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got body
		fields, err := decode(text, &got)
		trimmed := bytes.Trim(text, " \t\r\n")
		if err != nil {
			if message := err.Error(); !utf8.ValidString(message) || len(message) > 500 {
				t.Fatalf("an error of %d bytes: %.600q", len(message), message)
			}
			return
		}
		if len(trimmed) == 0 || string(trimmed) == "null" {
			if len(fields) > 0 {
				t.Fatalf("fields of nothing: %v", fields)
			}
			return
		}
		var want body
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&want); err != nil {
			t.Fatalf("accepted, but encoding/json says %v", err)
		}
		a, errA := json.Marshal(got)
		b, errB := json.Marshal(want)
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Fatalf("understood as %s; encoding/json reads %s", a, b)
		}
		if raw := fields["text"]; got.Text != nil && !slices.Equal(units(t, raw), utf16.Encode([]rune(*got.Text))) {
			t.Fatalf("%s was read as %q", raw, *got.Text)
		}
		for name := range fields { // a name is read as exactly one field's
			if !slices.Contains([]string{"text", "texts", "map", "inner", "list", "number", "flag"}, name) {
				t.Fatalf("the field %q was accepted", name)
			}
		}
		again, err := json.Marshal(fields)
		var second body
		if _, err2 := decode(again, &second); err != nil || err2 != nil {
			t.Fatalf("%s is not accepted again: %v, %v", again, err, err2)
		}
		if c, _ := json.Marshal(second); !bytes.Equal(a, c) {
			t.Fatalf("first %s, then %s", a, c)
		}
	})
}

// FuzzLoneSurrogate checks what is refused of escapes against reading strings the plainest way.
func FuzzLoneSurrogate(f *testing.F) {
	for _, seed := range []string{"", "a", `\\`, `\ud800`, `\udc00`, `\ud800\udc00`, `\ud800\ud800\udc00`, `\\ud800`, `\\\ud800`, `\ud800\n`, `\uD83D\uDE00`, `\ufffd`, "\uFFFD", `\"`, `\ud800\u0061`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, inside string) {
		raw := []byte(`"` + inside + `"`)
		var s string
		if !utf8.Valid(raw) || json.Unmarshal(raw, &s) != nil {
			return
		}
		changed := !slices.Equal(units(t, raw), utf16.Encode([]rune(s)))
		if got := checkText(raw) == errSurrogate; got != changed {
			t.Fatalf("%s, read as %q: lone surrogate %v; want %v", raw, s, got, changed)
		}
		if got := checkText([]byte(`[`+string(raw)+`,`+string(raw)+`]`)) == errSurrogate; got != changed {
			t.Fatalf("%s in a list: lone surrogate %v; want %v", raw, got, changed)
		}
	})
}

// FuzzCursor checks that cursors lead where they were made for, and that others are
// refused or harmless.
func FuzzCursor(f *testing.F) {
	for _, seed := range []string{"", "page_", "page_bS9hLm1k", "page_bS8", "page_c21lbXN0b3JlX3g", "page_djEy", "page_di0x", "page_dg==", "bS9hLm1k", "page_bf8", "page_bS8uLi8uLg", "page_bQA"} {
		f.Add(seed, "/a.md")
	}
	f.Fuzz(func(t *testing.T, page, item string) {
		read := func(page string) *query { return &query{values: url.Values{"page": {page}}} }
		checked := map[byte]func(*query) string{
			'm': func(q *query) string { return q.afterPath() },
			's': func(q *query) string { return string(q.afterStore()) },
			'v': func(q *query) string { return strconv.FormatInt(q.afterVersion(), 10) },
		}
		for kind, after := range checked {
			q := read(page)
			got := after(q)
			if page == "" || q.err != nil {
				continue
			}
			// What was accepted can be written, and leads to the same place.
			again := read(*pageAfter(kind, got))
			if second := after(again); again.err != nil || second != got {
				t.Fatalf("%q leads past %q; written again, past %q: %v", page, got, second, again.err)
			}
			switch kind {
			case 'm':
				if _, err := memento.ParseDir(got); err != nil {
					t.Fatalf("%q leads past the path %q", page, got)
				}
			case 's':
				if !isID(got, "memstore_") {
					t.Fatalf("%q leads past the store %q", page, got)
				}
			case 'v':
				if n, err := strconv.ParseInt(got, 10, 64); err != nil || n <= 0 {
					t.Fatalf("%q leads past the version %q", page, got)
				}
			}
			for other, after := range checked {
				if other == kind {
					continue
				}
				if q := read(page); after(q) != "" && q.err == nil {
					t.Fatalf("%q is a cursor of the listings %c and %c", page, kind, other)
				}
			}
		}
		if item == "" || !utf8.ValidString(item) || len(item) > memento.MaxPathBytes {
			return
		}
		if q := read(*pageAfter('m', item)); q.after('m') != item || q.err != nil {
			t.Fatalf("a cursor after %q leads past %q: %v", item, q.after('m'), q.err)
		}
	})
}

// FuzzParseCalls checks that calls of the tool are taken apart without a change, and
// that the tool has an answer to each.
func FuzzParseCalls(f *testing.F) {
	for _, seed := range []string{
		"", "null", "{}", "[]", "[{}]", `{"command":"view","path":"/memories"}`, `{"type":"tool_use","id":"toolu_1","name":"memory","input":{"command":"view","path":"/memories"}}`,
		`[{"command":"create","path":"/memories/a","file_text":"x"},{"command":"view","path":"/memories/a"}]`, `{"session_id":"sesn_1","calls":[{"command":"view","path":"/memories"}]}`, `{"calls":null}`, `{"calls":{}}`, `{"calls":[1,null,"x"]}`,
		`{"calls":[],"calls":[]}`, `{"calls":[],"other":1}`, `{"session_id":7,"command":"view"}`, `{"session_id":"\ud800","command":"view","path":"/memories"}`, `{"c\u0061lls":[]}`, `[` + strings.Repeat("{},", 100) + `{}]`, "[{}", `{"command":"view"} x`, "\xff",
	} {
		f.Add([]byte(seed))
	}
	backend := memstore.New(nil)
	f.Cleanup(func() { backend.Close() })
	settings := memento.DefaultSettings()
	settings.Sensitive.Mode = memento.Off
	store := memento.OpenNamed(backend, memento.DefaultWorkspace, memento.StoreSpec{Name: "fuzz", Settings: &settings}, nil)
	f.Fuzz(func(t *testing.T, text []byte) {
		calls, err := parseToolRequest(bytes.Clone(text))
		if err != nil {
			return
		}
		if len(calls.Calls) > maxCalls || calls.one && len(calls.Calls) != 1 || calls.one && calls.list {
			t.Fatalf("%d calls, one %v, list %v", len(calls.Calls), calls.one, calls.list)
		}
		if calls.one && !bytes.Equal(calls.Calls[0], bytes.TrimSpace(text)) {
			t.Fatalf("one call was changed: %q", calls.Calls[0])
		}
		if calls.list {
			var want []json.RawMessage
			if err := json.Unmarshal(text, &want); err != nil || len(want) != len(calls.Calls) {
				t.Fatalf("%d calls of a list that has %d: %v", len(calls.Calls), len(want), err)
			}
		}
		tool := memento.NewTool(store, nil)
		for _, call := range calls.Calls {
			if !bytes.Contains(text, call) {
				t.Fatalf("the call %q is not in the body", call)
			}
			parsed, err := memento.ParseCall(call)
			result := tool.RunCall(t.Context(), parsed)
			if err != nil && (parsed.Writes() || !result.IsError || result.Content != err.Error()) {
				t.Fatalf("%q was refused with %v; the answer is %+v", call, err, result)
			}
			if _, err := json.Marshal(result); err != nil || result.Type == "" || result.Content == "" && result.IsError || !utf8.ValidString(result.Content) {
				t.Fatalf("%q is answered with %+v, %v", call, result, err)
			}
			if result.IsError && strings.Contains(result.Content, "internal") {
				t.Fatalf("%q is answered with %q", call, result.Content)
			}
		}
	})
}
