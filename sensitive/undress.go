package sensitive

import (
	"cmp"
	"slices"
	"strings"
)

// A dress is what makes parts of a text look like placeholders, though of no known
// kind: a secret may well be inside. nil is none.
type dress struct {
	cuts []cut
	worn []span // of the text: from the bracket that opens to the one that closes
}

// A cut is where something was taken out: its place in the bare text, and how many
// bytes are gone so far.
type cut struct{ at, gone int }

// undress returns the text without what makes something in it look like a
// placeholder. Placeholders stay as they are.
func (e *engine) undress(text string) (bare string, d *dress) {
	var b strings.Builder
	from := 0 // of what is not yet in b
	take := func(s span) {
		b.WriteString(text[from:s.start])
		from = s.end
		d.cuts = append(d.cuts, cut{b.Len(), s.end - b.Len()})
	}
	for start, end := range e.brackets(text) {
		if end > 0 {
			continue
		}
		if d == nil {
			d = &dress{}
		}
		end = start + len(placeholderStart)
		take(span{start, end})
		for end < len(text) && strings.IndexByte(" \t\r\n[]", text[end]) < 0 {
			end++
		}
		if end < len(text) && text[end] == ']' {
			take(span{end, end + 1})
			d.worn = append(d.worn, span{start, end + 1})
		}
	}
	if d == nil {
		return text, nil
	}
	b.WriteString(text[from:])
	return b.String(), d
}

// cover returns the part of the text that s, of the bare text, comes from, with
// the brackets around it.
func (d *dress) cover(s span) span {
	if d == nil {
		return s
	}
	s = span{d.origin(s.start), d.origin(s.end-1) + 1}
	for _, w := range overlapping(d.worn, s) {
		s = span{min(s.start, w.start), max(s.end, w.end)}
	}
	return s
}

// origin returns where in the text the byte at pos of the bare text is.
func (d *dress) origin(pos int) int {
	n, _ := slices.BinarySearchFunc(d.cuts, pos+1, func(c cut, pos int) int { return cmp.Compare(c.at, pos) })
	if n == 0 {
		return pos
	}
	return pos + d.cuts[n-1].gone
}
