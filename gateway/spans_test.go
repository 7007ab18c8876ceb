package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"memento/internal/strictjson"
)

// FuzzObject compares edits of a text with the same edits of a decoded object.
func FuzzObject(f *testing.F) {
	for _, seed := range []string{`{}`, ` { } `, `{"a":1}`, `{"a" : [1, {"b":null}] , "c":"}\"{"}`, `{"\u0061":1,"b":{"a":2}}`, `{"a":1,"b":2,"c":3}` + "\n", `{"{":"}"}`, `{"a":1,"a":2}`} {
		f.Add([]byte(seed), "a")
		f.Add([]byte(seed), "new\n")
	}
	f.Fuzz(func(t *testing.T, text []byte, name string) {
		o, err := parseObject(text)
		if err != nil || !json.Valid(text) || !utf8.Valid(text) {
			return // of invalid UTF-8, decoders make different names
		}
		name = unquoted(strictjson.Quote(name)) // valid UTF-8
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

// An object has at most maxMembers members, each once, and the cost of finding that out
// grows with their number only: a text of 4 MB would otherwise take minutes.
func TestManyMembers(t *testing.T) {
	of := func(n int, last string) []byte {
		var b bytes.Buffer
		b.WriteByte('{')
		for i := range n - 1 {
			fmt.Fprintf(&b, "\"a%d\":0,", i)
		}
		fmt.Fprintf(&b, "%q:0}", last)
		return b.Bytes()
	}
	for _, n := range []int{2, fewMembers, fewMembers + 1, fewMembers + 2, maxMembers} {
		if o, err := parseObject(of(n, "z")); err != nil || len(o.members) != n {
			t.Errorf("%d members: got %d, %v", n, len(o.members), err)
		}
		for _, twice := range []string{"a0", fmt.Sprintf("a%d", n-2)} {
			if _, err := parseObject(of(n, twice)); err != errDuplicate {
				t.Errorf("%d members, %s twice: got %v", n, twice, err)
			}
		}
	}
	for _, n := range []int{maxMembers + 1, 400_000} {
		if _, err := parseObject(of(n, "z")); err != errMembers {
			t.Errorf("%d members: got %v", n, err)
		}
	}
	list := []byte("[" + strings.Repeat("0,", maxElements-1) + "0]")
	if all, err := elements(list); err != nil || len(all) != maxElements {
		t.Errorf("got %d elements, %v", len(all), err)
	}
	if _, err := elements(appended(list, []byte("0"))); err != errElements {
		t.Errorf("one element too many: got %v", err)
	}
}

// Only whole events are worth waiting for before others are sent.
func TestPending(t *testing.T) {
	const whole = "event: a\ndata: {}\n\n"
	for rest, want := range map[string]bool{"": false, "event: b\ndata: {": false, "event: b\n": false, "event: b\n\n": true, "event: b\r\n\r\n": true, "event: b\r\n": false, "\n": true} {
		in := newFrameReader(strings.NewReader(whole + rest))
		if _, err := in.next(); err != nil {
			t.Fatal(err)
		}
		if got := in.pending(); got != want {
			t.Errorf("after %q: %v", rest, got)
		}
	}
}

// No ID of one user leads to the store of another.
func TestUserStoresAreDifferent(t *testing.T) {
	long := strings.Repeat("x", 1000)
	if copied := strings.TrimPrefix(UserStore(long), "user-"); UserStore(copied) == UserStore(long) {
		t.Errorf("%q has the store of another ID", copied)
	}
	if got := UserStore("u1"); got != "user-u1" {
		t.Errorf("got %q", got)
	}
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

// FuzzFrames reads any bytes as a stream: nothing is lost or made up, in whatever pieces
// they arrive, and what is replaced is the data alone.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{"", "\n", "event: a\ndata: {}\n\n", "data:{\"a\":1}\r\n\r\n", ": comment\n\nevent:x\nid: 1\ndata: a\ndata: b\n\n", "event: a\ndata: ", "data\n\n\n\n", "event: a\rdata: b\r\r"} {
		f.Add([]byte(seed), 1)
		f.Add([]byte(seed), 7)
	}
	f.Fuzz(func(t *testing.T, stream []byte, piece int) {
		piece = max(1, piece%64)
		in := newFrameReader(&inPieces{bytes.NewReader(stream), piece})
		var all []byte
		for {
			frame, err := in.next()
			if err != nil {
				if rest := stream[len(all):]; err == io.EOF && len(bytes.TrimSpace(rest)) > 0 {
					t.Errorf("%q: the end %q is missing", stream, rest)
				}
				return
			}
			all = append(all, frame.raw...)
			if !bytes.HasPrefix(stream, all) {
				t.Fatalf("%q was read as %q", stream, all)
			}
			lines := 0 // of data
			for line := range strings.SplitSeq(lineEnds.Replace(string(frame.raw)), "\n") {
				if strings.HasPrefix(line, "data:") {
					lines++
				}
			}
			if bytes.Count(frame.data(), []byte("\n")) != max(0, lines-1) || strings.ContainsAny(frame.name, "\r\n") {
				t.Errorf("%q: the event %q has the data %q", stream, frame.name, frame.data())
			}
			same := frame.with(bytes.Clone(frame.data()))
			if lines < 2 && !bytes.Equal(same, frame.raw) {
				t.Errorf("%q with its own data is %q", frame.raw, same)
			}
			if got, err := newFrameReader(bytes.NewReader(same)).next(); err != nil || !bytes.Equal(got.data(), frame.data()) || got.name != frame.name {
				t.Errorf("%q with its own data is read as %q, %q, %v", frame.raw, got.name, got.data(), err)
			}
			if len(frame.data()) > 0 {
				other := newFrameReader(bytes.NewReader(frame.with([]byte(`{"new":1}`))))
				if got, err := other.next(); err != nil || string(got.data()) != `{"new":1}` || got.name != frame.name {
					t.Errorf("%q with other data is read as %q, %q, %v", frame.raw, got.name, got.data(), err)
				}
			}
		}
	})
}

// A line ends with CRLF, LF, or CR alone.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// TestLineEnds reads the same events with each end of lines.
func TestLineEnds(t *testing.T) {
	const stream = "event: a\ndata: {\ndata: }\n\nevent: b\ndata: 2\n\n"
	for _, end := range []string{"\n", "\r\n", "\r"} {
		for _, piece := range []int{1, 2, 100} {
			in := newFrameReader(&inPieces{strings.NewReader(strings.ReplaceAll(stream, "\n", end)), piece})
			for _, want := range [][2]string{{"a", "{\n}"}, {"b", "2"}} {
				got, err := in.next()
				if err != nil || got.name != want[0] || string(got.data()) != want[1] {
					t.Fatalf("lines end with %q: got the event %q with %q, %v; want %q", end, got.name, got.data(), err, want)
				}
			}
			if _, err := in.next(); err != io.EOF {
				t.Errorf("lines end with %q: at the end: %v", end, err)
			}
		}
	}
}

// inPieces reads a few bytes at a time.
type inPieces struct {
	r    io.Reader
	size int
}

func (p *inPieces) Read(b []byte) (int, error) { return p.r.Read(b[:min(len(b), p.size)]) }
