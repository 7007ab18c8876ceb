package sensitive

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"memento"
	"memento/internal/placeholder"
)

// A span is a part of a text: the bytes from start, included, to end, excluded.
type span struct{ start, end int }

func (s span) overlaps(t span) bool { return s.start < t.end && t.start < s.end }

// overlapping returns those of spans that overlap with s. spans are in order and do not
// overlap with one another.
func overlapping(spans []span, s span) []span {
	i, _ := slices.BinarySearchFunc(spans, s.start+1, func(t span, end int) int { return cmp.Compare(t.end, end) })
	n := i
	for n < len(spans) && spans[n].overlaps(s) {
		n++
	}
	return spans[i:n]
}

// mask replaces the findings by their placeholders. at maps a position in the masked
// text, outside of placeholders, to the position in text.
func mask(text string, found []memento.Finding) (masked string, at func(int) int) {
	var b strings.Builder
	ends := make([]int, len(found)) // of the placeholders
	from := 0
	for i, f := range found {
		b.WriteString(text[from:f.Start])
		b.WriteString(placeholder.Of(f.Kind))
		ends[i], from = b.Len(), f.End
	}
	b.WriteString(text[from:])
	return b.String(), func(pos int) int {
		n, _ := slices.BinarySearch(ends, pos+1) // placeholders that end at or before pos
		if n == 0 {
			return pos
		}
		return found[n-1].End + pos - ends[n-1]
	}
}

// placeholderStarts yields where text has the beginning of a placeholder, and where the
// placeholder ends. end is 0 if it is not a placeholder, because it is not closed or
// names no known kind.
func (e *engine) placeholderStarts(text string) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		for from := 0; ; {
			i := strings.Index(text[from:], placeholder.Start)
			if i < 0 {
				return
			}
			start := from + i
			from = start + len(placeholder.Start)
			end := from
			for end < len(text) && isKindByte(text[end]) {
				end++
			}
			if end < len(text) && text[end] == ']' && e.kinds[text[from:end]] {
				end++
				from = end
			} else {
				end = 0
			}
			if !yield(start, end) {
				return
			}
		}
	}
}

// placeholders returns the spans of the placeholders in text.
func (e *engine) placeholders(text string) []span {
	var all []span
	for start, end := range e.placeholderStarts(text) {
		if end > 0 {
			all = append(all, span{start, end})
		}
	}
	return all
}

// linesAround returns the parts of text in which placeholders can change what is found:
// their lines and a margin, since a rule may look at the text around its window. Of a very
// long line it is as much as windows are widened.
func linesAround(text string, placeholders []span) []span {
	const margin = 512
	var all []span
	for _, p := range placeholders {
		n := len(all) - 1
		if n >= 0 && p.end+margin <= all[n].end {
			continue
		}
		start, end := max(0, p.start-margin), min(len(text), p.end+margin)
		least, most := max(0, start-maxToken), min(len(text), end+maxToken)
		start = least + strings.LastIndexByte(text[least:start], '\n') + 1
		if i := strings.IndexByte(text[end:most], '\n'); i >= 0 {
			end += i
		} else {
			end = most
		}
		if n >= 0 && start <= all[n].end {
			all[n].end = end
			continue
		}
		all = append(all, span{start, end})
	}
	return all
}

// isKind reports whether s is lower-case words with hyphens.
func isKind(s string) bool {
	for i := range len(s) {
		if !isKindByte(s[i]) {
			return false
		}
	}
	return s != ""
}

func isKindByte(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' }
