package memento

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"memento/internal/lines"
)

// parsePlainly is parseObject in terms of encoding/json. It returns the reason of an error.
func parsePlainly(raw []byte) (f fields, reason string) {
	f = fields{}
	if !utf8.Valid(raw) {
		return f, reasonNotUTF8
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // a number that is too large is none of the syntax's business
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
		if pair := low && at[0] == after; pair != low || pair != (after > 0) {
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
		"{\"a\":\"\xff\"}", "{\n\t\"a\"\r:\n{\"b\":[[],{}]}\n}\n", `{"a":"\ud83d\ude00","b":"\ude00\ud83d"}`, `{"a":"\ude00"}`, `{"\ud800":1,"\ud801":2}`,
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

// The model: texts as lists of lines, made in the most obvious way.

// modelLines returns the lines of text, without their ends.
func modelLines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// modelInsert returns what insertAfter should, and whether n is in range.
func modelInsert(text string, n int, insert string) (string, bool) {
	lines := modelLines(text)
	if n < 0 || n > len(lines) {
		return "", false
	}
	if text == "" && insert != "" {
		return insert, true
	}
	added := modelLines(insert)
	if insert == "" {
		added = []string{""}
	}
	lines = slices.Insert(lines, n, added...)
	edited := strings.Join(lines, "\n")
	if text == "" || strings.HasSuffix(text, "\n") || lines[len(lines)-1] == "" {
		edited += "\n"
	}
	return edited, true
}

// modelOccurrences returns where old begins in text, and on which lines.
func modelOccurrences(text, old string) (at, lines []int) {
	for i := range len(text) {
		if strings.HasPrefix(text[i:], old) {
			at = append(at, i)
			lines = append(lines, len(strings.Split(text[:i], "\n")))
		}
	}
	return at, slices.Compact(lines)
}

func TestCountLines(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "a": 1, "a\n": 1, "a\nb": 2, "a\nb\n": 2, "\n": 1, "\n\n": 2, "a\n\n": 2,
		"a\r\nb\r\n": 2, "a\rb": 1, "a\u2028b\u0085c\vd\fe": 1, "\x00\n\x00": 2,
	} {
		if got := lines.Count(text); got != want {
			t.Errorf("lines.Count(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestLineOffset(t *testing.T) {
	const text = "one\ntwo\n\nfour"
	for n, want := range map[int]int{1: 0, 2: 4, 3: 8, 4: 9, 5: 13} {
		if got := lineOffset(text, n); got != want {
			t.Errorf("lineOffset(%d) = %d, want %d", n, got, want)
		}
	}
}

func TestInsertAfter(t *testing.T) {
	tests := []struct {
		name   string
		text   string
		n      int
		insert string
		want   string
	}{
		{"top", "a\nb\n", 0, "x", "x\na\nb\n"},
		{"between", "a\nb\n", 1, "x", "a\nx\nb\n"},
		{"end, with a final newline", "a\nb\n", 2, "x", "a\nb\nx\n"},
		{"end, without one", "a\nb", 2, "x", "a\nb\nx"},
		{"between, without one", "a\nb", 1, "x", "a\nx\nb"},
		{"the insert's own newline ends its line", "a\nb\n", 1, "x\n", "a\nx\nb\n"},
		{"only one newline does", "a\nb\n", 1, "x\n\n", "a\nx\n\nb\n"},
		{"several lines", "a\n", 1, "x\ny", "a\nx\ny\n"},
		{"the insert's newline does not become the file's", "a", 1, "x\n", "a\nx"},
		{"into nothing", "", 0, "x", "x"},
		{"into nothing, as it stands", "", 0, "x\n", "x\n"},
		{"nothing into nothing is an empty line", "", 0, "", "\n"},
		{"nothing is an empty line", "a\nb\n", 1, "", "a\n\nb\n"},
		{"an empty last line needs its newline", "a", 1, "", "a\n\n"},
		{"so do several", "a", 1, "x\n\n", "a\nx\n\n"},
		{"carriage returns are text", "a\r\nb\r\n", 1, "x\r\n", "a\r\nx\r\nb\r\n"},
		{"other separators are text", "a\u2028b\n", 1, "x\u2028y", "a\u2028b\nx\u2028y\n"},
		{"after an empty line", "\n", 1, "x", "\nx\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := insertAfter(tt.text, tt.n, tt.insert)
			if err != nil || got != tt.want {
				t.Errorf("insertAfter(%q, %d, %q) = %q, %v; want %q", tt.text, tt.n, tt.insert, got, err, tt.want)
			}
			if model, _ := modelInsert(tt.text, tt.n, tt.insert); model != tt.want {
				t.Errorf("the model says %q", model)
			}
		})
	}
}

func TestInsertOutOfRange(t *testing.T) {
	for _, tt := range []struct {
		text  string
		n     int
		lines int
	}{
		{"a\nb\n", 3, 2}, {"a\nb", 3, 2}, {"a", -1, 1}, {"", 1, 0}, {"\n", 2, 1},
	} {
		_, err := insertAfter(tt.text, tt.n, "x")
		outside, ok := errors.AsType[*rangeError](err)
		if !ok || outside.lines != tt.lines || !errors.Is(err, ErrOutOfRange) {
			t.Errorf("insertAfter(%q, %d): %v; want a range of %d lines", tt.text, tt.n, err, tt.lines)
		}
	}
}

func TestReplaceOnce(t *testing.T) {
	tests := []struct {
		name           string
		text, old, new string
		want           string
		lines          []int // of several matches
	}{
		{name: "a word", text: "a b c", old: "b", new: "x", want: "a x c"},
		{name: "several lines", text: "a\nb\nc\n", old: "a\nb\n", new: "x\n", want: "x\nc\n"},
		{name: "by nothing", text: "a\nb\nc\n", old: "b\n", want: "a\nc\n"},
		{name: "everything", text: "abc", old: "abc", want: ""},
		{name: "by itself", text: "abc", old: "b", new: "b", want: "abc"},
		{name: "patterns are text", text: `x.*y`, old: `.*`, new: `$& $1 \1 \0 %s`, want: `x$& $1 \1 \0 %sy`},
		{name: "not there", text: "a b c", old: "d"},
		{name: "not there, by case", text: "abc", old: "B"},
		{name: "not in an empty text", text: "", old: "a"},
		{name: "line ends differ", text: "a\r\nb", old: "a\nb"},
		{name: "twice", text: "a\nb\na\n", old: "a", lines: []int{1, 3}},
		{name: "twice on a line", text: "x\na a\n", old: "a", lines: []int{2}},
		{name: "overlapping", text: "aaa", old: "aa", lines: []int{1}},
		{name: "overlapping over lines", text: "a\na\na\n", old: "a\na\n", lines: []int{1, 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, at, err := replaceOnce(tt.text, tt.old, tt.new)
			if places, _ := modelOccurrences(tt.text, tt.old); len(places) == 1 {
				if err != nil || got != tt.want || at != places[0] {
					t.Fatalf("got %q at %d, %v; want %q at %d", got, at, err, tt.want, places[0])
				}
				return
			}
			match, ok := errors.AsType[*matchError](err)
			if !ok {
				t.Fatalf("got %q, %v; want a *matchError", got, err)
			}
			if diff := cmp.Diff(tt.lines, match.lines); diff != "" {
				t.Error("lines (-want +got):\n" + diff)
			}
			if errors.Is(err, ErrNoMatch) == errors.Is(err, ErrManyMatches) || errors.Is(err, ErrNoMatch) != (tt.lines == nil) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func FuzzInsert(f *testing.F) {
	f.Add("a\nb\n", 1, "x")
	f.Add("a\nb", 2, "x\n")
	f.Add("a", 1, "\n\n")
	f.Add("", 0, "")
	f.Add("a\r\n\u2028\x00", 1, "$&")
	f.Fuzz(func(t *testing.T, text string, n int, insert string) {
		want, inRange := modelInsert(text, n, insert)
		got, err := insertAfter(text, n, insert)
		if inRange != (err == nil) {
			t.Fatalf("in range: %v; error: %v", inRange, err)
		}
		if got != want {
			t.Fatalf("insertAfter(%q, %d, %q) = %q, want %q", text, n, insert, got, want)
		}
		if err != nil {
			return
		}
		added := max(len(modelLines(insert)), 1)
		if lines.Count(got) != lines.Count(text)+added {
			t.Fatalf("%q has %d lines, from %d and %d", got, lines.Count(got), lines.Count(text), added)
		}
	})
}

func FuzzReplace(f *testing.F) {
	f.Add("a b c", "b", "x")
	f.Add("a\na\na\n", "a\na\n", "")
	f.Add("aaa", "aa", "$&")
	f.Add("", "a", "b")
	f.Fuzz(func(t *testing.T, text, old, new string) {
		if old == "" {
			return // refused before
		}
		at, lines := modelOccurrences(text, old)
		got, gotAt, err := replaceOnce(text, old, new)
		if len(at) == 1 {
			want := text[:at[0]] + new + text[at[0]+len(old):]
			if err != nil || got != want || gotAt != at[0] {
				t.Fatalf("got %q at %d, %v; want %q at %d", got, gotAt, err, want, at[0])
			}
			if shown := snippet(got, gotAt, gotAt+len(new), 1<<20); (shown == "") != (got == "") {
				t.Fatalf("snippet of %q is %q", got, shown)
			}
			return
		}
		match, ok := errors.AsType[*matchError](err)
		if !ok {
			t.Fatalf("%d occurrences, error %v", len(at), err)
		}
		if diff := cmp.Diff(lines, match.lines); diff != "" {
			t.Fatal("lines (-want +got):\n" + diff)
		}
	})
}

func TestHumanSize(t *testing.T) {
	for size, want := range map[int64]string{
		0: "0B", 1: "1B", 512: "512B", 1023: "1023B", 1024: "1.0K", 1536: "1.5K", 4096: "4.0K", 5632: "5.5K",
		1024 * 1024: "1.0M", 1024*1024 - 1: "1.0M", 1258291: "1.2M", 1 << 30: "1.0G", 1 << 40: "1.0T", 1 << 50: "1024.0T",
	} {
		if got := humanSize(size); got != want {
			t.Errorf("humanSize(%d) = %q, want %q", size, got, want)
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 102400: "102,400", 1234567: "1,234,567", -1: "-1", -100: "-100", -1000: "-1,000",
	} {
		if got := groupDigits(n); got != want {
			t.Errorf("groupDigits(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestByName(t *testing.T) {
	names := []string{"b", "a.md", "a/", "a/x", "a/x/", "a-b/", "a-b/c", "a b"}
	slices.SortFunc(names, byName)
	want := []string{"a/", "a/x", "a/x/", "a b", "a-b/", "a-b/c", "a.md", "b"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error("depth-first order (-want +got):\n" + diff)
	}
}

func TestLineNumbers(t *testing.T) {
	text := strings.Repeat("x\n", 999_999)
	for n, want := range map[int]string{
		1: "     1\tx", 99: "    99\tx", 100_000: "100000\tx", 999_999: "999999\tx",
	} {
		if got := numbered(text, n, n, 100); got != want {
			t.Errorf("line %d: %q, want %q", n, got, want)
		}
	}
}

func TestSnippet(t *testing.T) {
	const text = "1\n2\n3\n4\n5\n6\n7\n"
	tests := []struct {
		name    string
		at, end int // bytes
		want    string
	}{
		{"the middle", 6, 7, "     2\t2\n     3\t3\n     4\t4\n     5\t5\n     6\t6"},
		{"the top", 0, 1, "     1\t1\n     2\t2\n     3\t3"},
		{"the end", 12, 14, "     5\t5\n     6\t6\n     7\t7"},
		{"several lines", 4, 9, "     1\t1\n     2\t2\n     3\t3\n     4\t4\n     5\t5\n     6\t6\n     7\t7"},
		{"something deleted", 6, 6, "     2\t2\n     3\t3\n     4\t4\n     5\t5\n     6\t6"},
		{"something deleted at the end", 14, 14, "     5\t5\n     6\t6\n     7\t7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, snippet(text, tt.at, tt.end, 1000)); diff != "" {
				t.Error("(-want +got):\n" + diff)
			}
		})
	}
	if got := snippet("", 0, 0, 1000); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

var (
	moreLines   = regexp.MustCompile(`^\[Lines (\d+) to (\d+) of (\d+) are shown\. To continue, use view_range \[(\d+), -1\]\.\]$`)
	cutLast     = regexp.MustCompile(`^\[Only the first (\d+) of (\d+) characters of line (\d+) are shown\.\]$`)
	cutWithMore = regexp.MustCompile(`^\[Only the first (\d+) of (\d+) characters of line (\d+) are shown, of (\d+) lines\. To continue, use view_range \[(\d+), -1\]\.\]$`)
)

// page is one view, taken apart.
type page struct {
	body string
	next int // where the notice says to go on; 0 if nothing is left
	cut  int // the line that is cut; 0 if none
}

// readPage takes apart what numbered returned for the lines from first on. A
// line of text never starts with a bracket, because of its number.
func readPage(t *testing.T, shown string, first, total int) page {
	t.Helper()
	i := strings.LastIndexByte(shown, '\n')
	if notice := shown[i+1:]; strings.HasPrefix(notice, "[") {
		numbers := func(re *regexp.Regexp) (n []int) {
			for _, s := range re.FindStringSubmatch(notice) {
				v, _ := strconv.Atoi(s)
				n = append(n, v)
			}
			return n
		}
		if n := numbers(moreLines); n != nil {
			if n[1] != first || n[2] != n[4]-1 || n[3] != total || n[4] > total {
				t.Fatalf("from %d of %d: notice %q", first, total, notice)
			}
			return page{shown[:i], n[4], 0}
		}
		if n := numbers(cutWithMore); n != nil {
			if n[3] != first || n[4] != total || n[5] != first+1 || n[1] >= n[2] {
				t.Fatalf("from %d of %d: notice %q", first, total, notice)
			}
			return page{shown[:i], n[5], first}
		}
		if n := numbers(cutLast); n != nil {
			if n[3] != first || first != total || n[1] >= n[2] {
				t.Fatalf("from %d of %d: notice %q", first, total, notice)
			}
			return page{shown[:i], 0, first}
		}
		t.Fatalf("unknown notice %q", notice)
	}
	return page{body: shown}
}

// Following the notices gives every line, each page within its bounds.
func FuzzPaging(f *testing.F) {
	f.Add("a\nb\nc\n", uint8(8))
	f.Add("a\nb\nc", uint8(20))
	f.Add("\n\n\n", uint8(0))
	f.Add("a very long line that no page can hold\nb\n", uint8(10))
	f.Add("[Lines 1 to 2 of 3 are shown. To continue, use view_range [3, -1].]\n\u2028é\U0001f600", uint8(30))
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		text = strings.ToValidUTF8(text, "?")
		chars := int(size) + 8
		want := modelLines(text)
		total := len(want)
		if total == 0 {
			return
		}
		for first := 1; first != 0; {
			p := readPage(t, numbered(text, first, total, chars), first, total)
			if n := utf8.RuneCountInString(p.body); n > chars {
				t.Fatalf("a page has %d characters, at most %d were asked for", n, chars)
			}
			last := p.next - 1
			if p.next == 0 {
				last = total
			}
			if last < first {
				t.Fatalf("no progress from line %d", first)
			}
			var lines []string
			for i, line := range want[first-1 : last] {
				lines = append(lines, fmt.Sprintf("%6d\t%s", first+i, line))
			}
			full := strings.Join(lines, "\n")
			if p.cut != 0 && (!strings.HasPrefix(full, p.body) || p.body == full) || p.cut == 0 && p.body != full {
				t.Fatalf("lines %d to %d are %q, want %q", first, last, p.body, full)
			}
			first = p.next
		}
	})
}
