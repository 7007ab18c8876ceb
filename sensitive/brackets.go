package sensitive

import (
	"cmp"
	"slices"
	"strings"

	"memento/internal/placeholder"
)

// A bracketMap maps positions in a text whose brackets were stripped to positions in
// the original text. Such brackets look like a placeholder, "[REDACTED:…]", but name no
// known kind, so a secret may be inside. nil means that nothing was stripped.
type bracketMap struct {
	removals []removal
	brackets []span // in the original text: from the opening to the closing bracket
}

// A removal is a place where something was removed: its position in the stripped text,
// and how many bytes have been removed up to there.
type removal struct{ at, removed int }

// stripBrackets returns the text without the brackets that only look like
// placeholders. Real placeholders stay as they are.
func (e *engine) stripBrackets(text string) (bare string, d *bracketMap) {
	var b strings.Builder
	from := 0 // start of the text that is not yet in b
	take := func(s span) {
		b.WriteString(text[from:s.start])
		from = s.end
		d.removals = append(d.removals, removal{b.Len(), s.end - b.Len()})
	}
	for start, end := range e.placeholderStarts(text) {
		if end > 0 {
			continue
		}
		if d == nil {
			d = &bracketMap{}
		}
		end = start + len(placeholder.Start)
		take(span{start, end})
		for end < len(text) && strings.IndexByte(" \t\r\n[]", text[end]) < 0 {
			end++
		}
		if end < len(text) && text[end] == ']' {
			take(span{end, end + 1})
			d.brackets = append(d.brackets, span{start, end + 1})
		}
	}
	if d == nil {
		return text, nil
	}
	b.WriteString(text[from:])
	return b.String(), d
}

// originalSpan returns the span of the original text that s, a span of the stripped
// text, comes from, including the brackets around it.
func (d *bracketMap) originalSpan(s span) span {
	if d == nil {
		return s
	}
	s = span{d.originalPos(s.start), d.originalPos(s.end-1) + 1}
	for _, w := range overlapping(d.brackets, s) {
		s = span{min(s.start, w.start), max(s.end, w.end)}
	}
	return s
}

// originalPos returns the position in the original text of the byte at pos of the
// stripped text.
func (d *bracketMap) originalPos(pos int) int {
	n, _ := slices.BinarySearchFunc(d.removals, pos+1, func(c removal, pos int) int { return cmp.Compare(c.at, pos) })
	if n == 0 {
		return pos
	}
	return pos + d.removals[n-1].removed
}
