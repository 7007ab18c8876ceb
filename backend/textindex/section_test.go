package textindex

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"memento"
)

func TestSections(t *testing.T) {
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
	for _, tt := range []struct {
		name, contents string
		want           []string // beginning and end of each, and its headings
	}{
		{"empty", "", nil},
		{"no words", "\n\n---\n", nil},
		{"short", "One line.", []string{"One line."}},
		{"headings of short parts", "# A\n\nx\n\n## B\n\ny\n", []string{"# A\n\nx\n\n## B\n\ny"}},
		{"headings", "# A\n" + words(70) + "\n\n## B\n" + words(70) + "\n# C\nend", []string{"# A\n" + words(70), "A|## B\n" + words(70), "# C\nend"}},
		{"a level left out", "# A\n### B \n" + words(230) + "\nmore", []string{"# A\n### B \n" + words(230), "A|B|more"}},
		{"lines", words(150) + "\n" + words(150) + "\nlast", []string{words(150) + "\n" + words(150), "last"}},
		{"a long line", words(1000), []string{words(440), words(440), words(120)}},
		{"below a heading", "# A\n" + words(230) + "\nmore", []string{"# A\n" + words(230), "A|more"}},
	} {
		var got []string
		for _, s := range Sections(tt.contents) {
			text := strings.TrimRight(tt.contents[s.Start:s.End], "\n ")
			for _, h := range slices.Backward(s.Headings) {
				text = tt.contents[h.Start:h.End] + "|" + text
			}
			got = append(got, text)
		}
		if fmt.Sprint(len(got), got) != fmt.Sprint(len(tt.want), tt.want) {
			t.Errorf("%s: %d sections %q instead of %q", tt.name, len(got), got, tt.want)
		}
	}
}

// Sections are in order, do not overlap, are whole characters, and have all words.
func FuzzSections(f *testing.F) {
	f.Add("# A\n\ntext\n## B\r\nmore")
	f.Add(strings.Repeat("日本語のテキスト", 200))
	f.Add(strings.Repeat("a ", 700) + "\n# b\n")
	f.Fuzz(func(t *testing.T, contents string) {
		if !utf8.ValidString(contents) {
			return
		}
		count := func(text string) (n int) {
			for range Words(text) {
				n++
			}
			return n
		}
		end, words := 0, 0
		for _, s := range Sections(contents) {
			if s.Start < end || s.End <= s.Start || s.End > len(contents) {
				t.Fatalf("section from %d to %d after %d, of %d", s.Start, s.End, end, len(contents))
			}
			text := contents[s.Start:s.End]
			if !utf8.ValidString(text) {
				t.Fatalf("section %q", text)
			}
			end = s.End
			words += count(text)
			var m memento.Match
			s.Show(contents, &m)
			if m.Passage.Text == "" || len(m.Passage.Text) > maxPassage || m.Passage.Last < m.Passage.First || m.Line != m.Passage.First {
				t.Fatalf("it is shown as %+v", m)
			}
		}
		if all := count(contents); words != all && all < maxSections*minSectionWords {
			t.Fatalf("%d of %d words", words, all)
		}
	})
}

func TestPlainQuery(t *testing.T) {
	for _, tt := range []struct {
		query, text string
		dir         memento.Path
		ok          bool
	}{
		{"where is the car", "where is the car", "", true},
		{"car  dir:/notes in", "car in", "/notes", true},
		{"", "", "", false},
		{"+car park", "", "", false},
		{"car -park", "", "", false},
		{`"car park"`, "", "", false},
		{"car since:7d", "", "", false},
		{"car by:me", "", "", false},
		{"car match:all", "", "", false},
		{"dir:/notes", "", "", false},
	} {
		text, dir, ok := PlainQuery(tt.query)
		if text != tt.text || dir != tt.dir || ok != tt.ok {
			t.Errorf("%q: %q, %q, %t", tt.query, text, dir, ok)
		}
	}
}
