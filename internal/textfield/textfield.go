// Package textfield checks short texts that describe something, such as names. It knows
// no types of the root package, which uses it.
package textfield

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// LineFault is [Fault] for a text that has to fit on a line.
func LineFault(text string, maxChars int) string {
	switch {
	case strings.ContainsFunc(text, unicode.IsControl):
		return "holds a control character"
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.In(r, unicode.Zl, unicode.Zp) }):
		return "holds a line separator"
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }):
		return "holds a character that changes the direction of text"
	}
	return Fault(text, maxChars)
}

// Fault completes the sentence "the name …" if a text is not valid UTF-8 or too long;
// otherwise it is "".
func Fault(text string, maxChars int) string {
	if !utf8.ValidString(text) {
		return "is not valid UTF-8"
	}
	if n := utf8.RuneCountInString(text); n > maxChars {
		return fmt.Sprintf("has %d characters; at most %d are allowed", n, maxChars)
	}
	return ""
}
