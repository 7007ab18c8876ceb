package memento

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"memento/internal/lines"
)

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
