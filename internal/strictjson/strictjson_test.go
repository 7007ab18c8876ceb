package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func scan(text string, loose bool) error {
	s := Scanner{Text: []byte(text), MaxDepth: 4, MaxItems: 10, Loose: loose}
	if _, err := s.Value(0); err != nil {
		return err
	}
	return s.End()
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]error{
		`{"a":[1,-2.5e+10,"x",true,false,null]}`: nil,
		` [ ] `:                                  nil,
		`"\ud83d\ude00\"\\\/\b\f\n\r\t\u00e4"`:   nil,
		"\"ä\x7f\"":                              nil,
		`[[[[]]]]`:                               nil,
		`[[[[[]]]]]`:                             ErrDepth,
		`{"a":{"a":{"a":{"a":{}}}}}`:             ErrDepth,
		`[1,2,3,4,5,6,7,8,9,10]`:                 nil,
		`[1,2,3,4,5,6,7,8,9,10,11]`:              ErrItems,
		`[[1,2,3,4],[1,2,3,4],1]`:                ErrItems,
		"\"\xff\"":                               ErrUTF8,
		"\"1234567\xff\"":                        ErrUTF8,
		"\"\xed\xa0\x80\"":                       ErrUTF8,
		`"\ud83d"`:                               ErrSurrogate,
		`"\ude00"`:                               ErrSurrogate,
		`"\ud83dx"`:                              ErrSurrogate,
		`"\ude00\ud83d"`:                         ErrSurrogate,
		`"\ud83d\n"`:                             ErrSurrogate,
		`{"\ud83d":1}`:                           ErrSurrogate,
		``:                                       ErrSyntax,
		`"`:                                      ErrSyntax,
		`"abcdefgh`:                              ErrSyntax,
		`"\`:                                     ErrSyntax,
		`"\x"`:                                   ErrSyntax,
		`"\u12g4"`:                               ErrSyntax,
		`"\u12`:                                  ErrSyntax,
		"\"a\nb\"":                               ErrSyntax,
		"\"1234567890\x1f\"":                     ErrSyntax,
		`[1,]`:                                   ErrSyntax,
		`[1 2]`:                                  ErrSyntax,
		`[,1]`:                                   ErrSyntax,
		`{"a"}`:                                  ErrSyntax,
		`{"a":}`:                                 ErrSyntax,
		`{a:1}`:                                  ErrSyntax,
		`01`:                                     ErrSyntax,
		`1.`:                                     ErrSyntax,
		`+1`:                                     ErrSyntax,
		`1e`:                                     ErrSyntax,
		`nul`:                                    ErrSyntax,
		`1 1`:                                    ErrSyntax,
		"\xef\xbb\xbf1":                          ErrSyntax,
		"\"" + strings.Repeat("a", 40) + "\x00\"":  ErrSyntax,
		"\"" + strings.Repeat("ä", 40) + "\\q\"":   ErrSyntax,
		"\"" + strings.Repeat("a", 39) + "\xc3\"":  ErrUTF8,
		"\"" + strings.Repeat("a", 40) + "\xc3\" ": ErrUTF8,
	} {
		if err := scan(text, false); err != want {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
		if want == ErrUTF8 || want == ErrSurrogate {
			want = nil
		}
		if err := scan(text, true); err != want {
			t.Errorf("%q, loosely: %v, want %v", text, err, want)
		}
	}
}

func TestObject(t *testing.T) {
	for _, tt := range []struct {
		text    string
		members string // before the error
		err     error
	}{
		{`{}`, `{}`, nil},
		{` {"a" : 1 , "b" : {"a":[2]} } `, `{"a":1,"b":{"a":[2]}}`, nil},
		{`{"\u0061":1}`, `{"a":1}`, nil},
		{`{"a":1,"b":2,"c":3,"d":4}`, `{"a":1,"b":2,"c":3}`, ErrManyMembers},
		{`{"a":1} 2`, `{"a":1}`, ErrTrailing},
		{`{"a":1,"b":`, `{"a":1}`, ErrSyntax},
		{`{"a":1,"b":"\ud800"}`, `{"a":1}`, ErrSurrogate},
		{`[`, `{}`, ErrNotObject},
		{`"a"`, `{}`, ErrNotObject},
		{`"a`, `{}`, ErrSyntax},
		{``, `{}`, ErrSyntax},
	} {
		s := Scanner{Text: []byte(tt.text), MaxDepth: 9}
		members, err := s.Object(3)
		if got, _ := json.Marshal(members); string(got) != tt.members || err != tt.err {
			t.Errorf("%q: %s, %v; want %s, %v", tt.text, got, err, tt.members, tt.err)
		}
	}
	s := Scanner{Text: []byte(`{"a":1,"b":2,"\u0061"`), MaxDepth: 9}
	members, err := s.Object(3)
	if e, ok := errors.AsType[*DuplicateError](err); !ok || e.Name != "a" || len(members) != 2 {
		t.Errorf("a name that is there twice: %s, %v", members, err)
	}
}

// What is accepted is what encoding/json accepts, except what that would change; and a
// string has the value that it has there.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[1,"a",{"b":null}]`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00\ud83d\ude00"`, "\"\xff\"", `"abcdefghijklmnop\nq"`, `"äöüäöüäöü\u00e4"`,
		"\"1234567\x00\"", `-0.1e5`, `{"a":1,"a":2}`, "\"12345678\x80\"", `"\\\"\/"`, `tru`, `["x","\u0000"]`, strings.Repeat("[", 99), strings.Repeat("[", 110) + strings.Repeat("]", 110),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		read := func(loose bool) ([]byte, error) {
			s := Scanner{Text: text, MaxDepth: 100, Loose: loose}
			raw, err := s.Value(0)
			if err == nil {
				err = s.End()
			}
			return raw, err
		}
		raw, err := read(false)
		_, looseErr := read(true)
		valid := json.Valid(text)
		switch {
		case looseErr == ErrDepth: // less than encoding/json's
		case valid != (looseErr == nil):
			t.Fatalf("%q: %v; valid for encoding/json: %v", text, looseErr, valid)
		case valid && (err == nil) != (utf8.Valid(text) && unchanged(t, text)):
			t.Fatalf("%q: %v", text, err)
		case !valid && err == nil:
			t.Fatalf("%q is accepted", text)
		}
		if err != nil || raw[0] != '"' {
			return
		}
		var want string
		if err := json.Unmarshal(raw, &want); err != nil || Unquote(raw) != want {
			t.Fatalf("%s is read as %q; want %q, %v", raw, Unquote(raw), want, err)
		}
	})
}

// unchanged reports whether encoding/json reads every string of a valid text as it is: one
// more U+FFFD than the text has is half of a pair.
func unchanged(t *testing.T, text []byte) bool {
	replaced := bytes.Count(text, []byte("\ufffd")) + len(escapedReplacement(text))
	found := 0
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.Token()
		if err != nil {
			return found == replaced
		}
		if s, ok := token.(string); ok {
			found += strings.Count(s, "\ufffd")
		}
	}
}

// escapedReplacement returns the places where valid JSON escapes U+FFFD.
func escapedReplacement(text []byte) (places []int) {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		if i+6 <= len(text) && strings.EqualFold(string(text[i:i+6]), `\ufffd`) && text[i+1] == 'u' {
			places = append(places, i)
		}
		i++
	}
	return places
}

// What Quote writes is JSON that Unquote reads, and has only the escapes that it needs.
func TestQuote(t *testing.T) {
	for s, want := range map[string]string{
		"":                       `""`,
		"a <b> & 'c' / ä 😀 \x7f": "\"a <b> & 'c' / ä 😀 \x7f\"",
		"\"\\\n\r\t\x00":         `"\"\\\n\r\t\u0000"`,
		"\xff":                   `"\ufffd"`,
	} {
		got := Quote(s)
		if string(got) != want {
			t.Errorf("%q is written as %s, want %s", s, got, want)
		}
		if !json.Valid(got) || Unquote(got) != strings.ToValidUTF8(s, "\ufffd") {
			t.Errorf("%s is read as %q, want %q", got, Unquote(got), s)
		}
	}
}
