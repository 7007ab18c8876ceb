package mcpserver

import (
	"encoding/json"
	"unicode/utf8"
)

// A space is how much of an answer is left, in bytes. An answer has two forms, text and
// JSON, of which a client shows one to the model: each is within [MaxAnswerBytes].
type space struct{ text, json int }

// newSpace returns the space of an answer, without that of the sentences around it.
func newSpace() space { return space{MaxAnswerBytes - 200, MaxAnswerBytes - 200} }

// take reserves space for an entry in its two forms. It reports whether there was enough.
func (s *space) take(shown string, row any) bool {
	encoded, err := json.Marshal(row)
	if err != nil || len(shown) > s.text || len(encoded)+1 > s.json {
		return false
	}
	s.text -= len(shown)
	s.json -= len(encoded) + 1
	return true
}

// cut returns the first max bytes of a text, or fewer, at the end of a character.
func cut(text string, max int) string {
	if len(text) <= max {
		return text
	}
	for max > 0 && !utf8.RuneStart(text[max]) {
		max--
	}
	return text[:max]
}

// cutEncoded is cut by the bytes that the text has as a JSON string.
func cutEncoded(text string, max int) string {
	for i, r := range text {
		switch {
		case r < ' ', r == '<', r == '>', r == '&', r == '\u2028', r == '\u2029':
			max -= len(`\u0000`)
		case r == '"', r == '\\':
			max -= 2
		default:
			max -= utf8.RuneLen(r)
		}
		if max < 0 {
			return text[:i]
		}
	}
	return text
}
