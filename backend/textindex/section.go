package textindex

import (
	"slices"
	"strings"
	"time"

	"memento"
)

// Limits of sections, in words.
const (
	sectionWords    = 220 // a section ends with the line that reaches this
	minSectionWords = 60  // a heading does not end a section that is shorter
	maxSections     = 1000
)

// A Section is a part of a memory's contents of some 200 words, whole lines where lines are
// not longer than that. It is what is compared with a query by meaning.
type Section struct {
	Start, End int    // offsets of its bytes
	Headings   []Span // those that it stands below, from the outermost
}

// A Span is a part of a text, by the offsets of its bytes.
type Span struct{ Start, End int }

// Sections splits contents into sections, in order: at most 1,000 of them. What has no word
// is in none.
func Sections(contents string) []Section {
	c := cutter{text: contents}
	for start := 0; start < len(contents) && len(c.done) < maxSections; {
		_, end := lineAround(contents, start)
		c.line(start, end)
		start = end + 1
	}
	c.cut(len(contents))
	return c.done[:min(len(c.done), maxSections)]
}

// A cutter has the section that is being read.
type cutter struct {
	text     string
	done     []Section
	start    int    // of the section
	end      int    // of its last word's line, or of its last word
	words    int    // in the section
	above    []Span // headings of the section's first line
	headings []Span // of the line that is read, by level; empty where a level is left out
}

// line adds a line to the section, or begins the next one with it.
func (c *cutter) line(start, end int) {
	line := c.text[start:end]
	heading := isHeading(line)
	if heading && c.words >= minSectionWords {
		c.cut(start)
	}
	if heading {
		level := len(line) - len(strings.TrimLeft(line, "#"))
		c.headings = append(c.headings[:min(level-1, len(c.headings))], make([]Span, max(0, level-1-len(c.headings)))...)
		if c.words == 0 {
			c.above = slices.Clone(c.headings)
		}
		title := strings.TrimSpace(line[level:])
		at := start + level + strings.Index(line[level:], title)
		c.headings = append(c.headings, Span{at, at + len(title)})
	}
	for w := range Words(line) {
		if c.words >= 2*sectionWords { // a long line, such as a paragraph
			c.cut(start + w.Start)
		}
		c.words++
		c.end = start + w.End
	}
	if c.words > 0 && c.end > start {
		c.end = end
	}
	if c.words >= sectionWords {
		c.cut(end)
	}
}

// cut ends the section. The next one begins at next.
func (c *cutter) cut(next int) {
	if c.words > 0 {
		// Lines without words at the beginning are left out.
		start := c.start
		for w := range Words(c.text[c.start:c.end]) {
			start, _ = lineAround(c.text, c.start+w.Start)
			break
		}
		above := slices.DeleteFunc(slices.Clone(c.above), func(h Span) bool { return h.Start == h.End })
		c.done = append(c.done, Section{max(start, c.start), min(c.end, next), above})
	}
	c.start, c.end, c.words, c.above = next, next, 0, slices.Clone(c.headings)
}

// Show fills in the passage of a match that was not found by its words: the beginning of a
// section.
func (s Section) Show(contents string, m *memento.Match) {
	start := s.Start
	for start < s.End && contents[start] == '\n' {
		start++
	}
	_, end := lineAround(contents, start)
	for end < s.End {
		_, next := lineAround(contents, end+1)
		if next-start > maxPassage {
			break
		}
		end = next
	}
	end = min(end, s.End)
	text := contents[start:end]
	if len(text) > maxPassage {
		text = shortenTo(text, 0, maxPassage)
	}
	m.Passage.First = 1 + strings.Count(contents[:start], "\n")
	m.Passage.Last = m.Passage.First + strings.Count(contents[start:end], "\n")
	m.Passage.Text = strings.Clone(text)
	first, _, _ := strings.Cut(text, "\n")
	m.Line, m.Snippet = m.Passage.First, strings.Clone(shorten(first, 0))
}

// PlainQuery returns a query as a text, without dir:, whose directory it returns. ok is false
// for a query that has no word, or anything else that decides which memories match:
// match:all, +must, -without, a phrase, since: or by:.
func PlainQuery(query string) (text string, dir memento.Path, ok bool) {
	r := ParseRequest(query, time.Now())
	if r.All || !r.Since.IsZero() || r.By != "" || len(r.phrases) > 0 || len(r.words) == 0 ||
		slices.ContainsFunc(r.words, func(w queryWord) bool { return w.must || w.not }) {
		return "", "", false
	}
	fields := strings.Fields(query)
	if r.Dir != "" {
		fields = slices.DeleteFunc(fields, func(f string) bool { return strings.HasPrefix(f, "dir:") })
	}
	return strings.Join(fields, " "), r.Dir, true
}
