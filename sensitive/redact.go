package sensitive

import (
	"strings"

	"memento"
)

// A span is a part of a text, in bytes; end is behind it.
type span struct{ start, end int }

func (s span) overlaps(t span) bool { return s.start < t.end && t.start < s.end }

const placeholderStart = "[REDACTED:"

// redact replaces the findings by their placeholders. Where in text something
// outside the placeholders was, is told by at.
func redact(text string, found []memento.Finding) (redacted string, at func(int) int) {
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
		for i := len(found) - 1; i >= 0; i-- {
			if pos >= ends[i] {
				return found[i].End + pos - ends[i]
			}
		}
		return pos
	}
}

// placeholders returns where placeholders are.
func placeholders(text string) []span {
	var all []span
	for from := 0; ; {
		i := strings.Index(text[from:], placeholderStart)
		if i < 0 {
			return all
		}
		start := from + i
		from = start + len(placeholderStart)
		for from < len(text) && isKindByte(text[from]) {
			from++
		}
		if from < len(text) && text[from] == ']' {
			from++
			all = append(all, span{start, from})
		}
	}
}

// aroundPlaceholders returns where a placeholder can change what is found: its
// lines, and some more, since a rule may look at what is around its window.
func aroundPlaceholders(text string) []span {
	const margin = 512
	var all []span
	for _, p := range placeholders(text) {
		start := strings.LastIndexByte(text[:max(0, p.start-margin)], '\n') + 1
		end := min(len(text), p.end+margin)
		if i := strings.IndexByte(text[end:], '\n'); i >= 0 {
			end += i
		} else {
			end = len(text)
		}
		if n := len(all) - 1; n >= 0 && start <= all[n].end {
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
