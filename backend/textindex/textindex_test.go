package textindex

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWords(t *testing.T) {
	tests := []struct {
		text string
		want string
	}{
		{"", ""},
		{"Hello, World!", "hello world"},
		{"v1.2 snake_case", "v1 2 snake case"},
		{"Crème BRÛLÉE", "creme brulee"},
		{"cre\u0300me", "creme"},
		{"ΣΊΣΥΦΟΣ Σίσυφος", "σισυφοσ σισυφοσ"},
		{"東京タワー2", "東 京 タ ワ ー 2"},
		{"한국어 문서", "한국어 문서"},
		{"naïve—test…end", "naive test end"},
		{"\u0301", ""},
	}
	for _, tt := range tests {
		if got := normal(tt.text); got != tt.want {
			t.Errorf("normal(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestMatch(t *testing.T) {
	const path = "/team/deploy-notes.md"
	const contents = "# Deploying\nUse the Blue-Green switch.\nNever deploy on Friday; switch back first.\n東京に送る\n"
	tests := []struct {
		query string
		ok    bool
		line  int
	}{
		{"", false, 0},
		{"  ,. ", false, 0},
		{"deploy", true, 1},
		{"DEPLOYING", true, 1},
		{"deploy friday", true, 3},
		{"friday deploy", true, 3},
		{"eploy", false, 0},
		{"blue-green", true, 2},
		{`"blue green swi"`, true, 2},
		{`"green blue"`, false, 0},
		{"notes", true, 0},
		{"notes friday", true, 3},
		{"京に", true, 4},
		{"京送", false, 0},
		{"missing deploy", false, 0},
		{`"unfinished quote`, false, 0},
		{`"blue green`, true, 2},
	}
	for _, tt := range tests {
		line, snippet, ok := Parse(tt.query).Match(path, contents)
		if ok != tt.ok || line != tt.line {
			t.Errorf("%q: line %d, %v; want %d, %v", tt.query, line, ok, tt.line, tt.ok)
		}
		if line > 0 && snippet != strings.Split(contents, "\n")[line-1] {
			t.Errorf("%q: snippet %q is not line %d", tt.query, snippet, line)
		}
	}
}

func TestSnippetIsShort(t *testing.T) {
	for _, filler := range []string{"x ", "ä ", "日"} {
		for _, before := range []int{0, 10, 1000} {
			line := strings.Repeat(filler, before) + " needle " + strings.Repeat(filler, 1000-before)
			_, snippet, ok := Parse("needle").Match("/a", "first\n"+line)
			if !ok || !strings.Contains(snippet, "needle") {
				t.Fatalf("%q before %d: %q, %v", filler, before, snippet, ok)
			}
			if n := utf8.RuneCountInString(snippet); n > maxSnippet || n < maxSnippet/2 {
				t.Errorf("%q before %d: %d characters", filler, before, n)
			}
		}
	}
}

// Whatever the text, each of its words is found by it, and the normal form
// splits into the same words.
func FuzzWords(f *testing.F) {
	for _, s := range []string{"Hello, World!", "cre\u0300me 東京", "\xff\xfe a", "ǅ İ ß ﬀ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var words []string
		for w := range Words(text) {
			if w.Text == "" || strings.ContainsAny(w.Text, " \"\n") {
				t.Fatalf("word %q", w.Text)
			}
			words = append(words, w.Text)
			if len(words) <= 20 {
				if _, _, ok := Parse(text[w.Start:w.End]).Match("", text); !ok {
					t.Fatalf("%q does not find itself in %q", text[w.Start:w.End], text)
				}
			}
		}
		if got := strings.Fields(normal(text)); !slices.Equal(got, words) {
			t.Fatalf("normal splits into %q, want %q", got, words)
		}
	})
}
