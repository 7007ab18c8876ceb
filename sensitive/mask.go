package sensitive

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"memento"
)

// A span is a part of a text, in bytes; end is behind it.
type span struct{ start, end int }

func (s span) overlaps(t span) bool { return s.start < t.end && t.start < s.end }

// overlapping returns those of spans that overlap with s. They are in order and
// do not overlap with one another.
func overlapping(spans []span, s span) []span {
	i, _ := slices.BinarySearchFunc(spans, s.start+1, func(t span, end int) int { return cmp.Compare(t.end, end) })
	n := i
	for n < len(spans) && spans[n].overlaps(s) {
		n++
	}
	return spans[i:n]
}

const placeholderStart = "[REDACTED:"

// mask replaces the findings by their placeholders. Where in text something
// outside the placeholders was, is told by at.
func mask(text string, found []memento.Finding) (masked string, at func(int) int) {
	var b strings.Builder
	ends := make([]int, len(found)) // of the placeholders
	from := 0
	for i, f := range found {
		b.WriteString(text[from:f.Start])
		b.WriteString(placeholderStart)
		b.WriteString(f.Kind)
		b.WriteByte(']')
		ends[i], from = b.Len(), f.End
	}
	b.WriteString(text[from:])
	return b.String(), func(pos int) int {
		n, _ := slices.BinarySearch(ends, pos+1) // those that end before pos or there
		if n == 0 {
			return pos
		}
		return found[n-1].End + pos - ends[n-1]
	}
}

// brackets returns where text has the beginning of a placeholder, and the end of
// the placeholder; 0 if it is none, since it is not closed or of no known kind.
func (e *engine) brackets(text string) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		for from := 0; ; {
			i := strings.Index(text[from:], placeholderStart)
			if i < 0 {
				return
			}
			start := from + i
			from = start + len(placeholderStart)
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

// placeholders returns where placeholders are.
func (e *engine) placeholders(text string) []span {
	var all []span
	for start, end := range e.brackets(text) {
		if end > 0 {
			all = append(all, span{start, end})
		}
	}
	return all
}

// around returns where placeholders can change what is found: their lines, and
// some more, since a rule may look at what is around its window.
func around(text string, placeholders []span) []span {
	const margin = 512
	var all []span
	for _, p := range placeholders {
		n := len(all) - 1
		if n >= 0 && p.end+margin <= all[n].end {
			continue
		}
		start := strings.LastIndexByte(text[:max(0, p.start-margin)], '\n') + 1
		end := min(len(text), p.end+margin)
		if i := strings.IndexByte(text[end:], '\n'); i >= 0 {
			end += i
		} else {
			end = len(text)
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
