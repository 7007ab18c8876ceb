package textindex

import (
	"strings"
	"unicode/utf8"
)

// counts says how often a memory has a form.
type counts struct{ body, heading, path uint16 }

// A document is what the index takes from a memory.
type document struct {
	forms    []docForm
	language Language
	length   int // words of the contents
}

// A docForm is a form that a memory has.
type docForm struct {
	form string
	word string // a word of the text that has this form; "" for characters and pairs
	counts
}

// maxForm is the length of the longest form in an index, in bytes. Longer words are
// indexed by their beginning.
const maxForm = 64

// term returns a word as it is in an index.
func term(form string) string {
	if len(form) <= maxForm {
		return form
	}
	end := maxForm
	for end > 0 && !utf8.RuneStart(form[end]) {
		end--
	}
	return form[:end]
}

// pairOf returns the form of two adjacent characters of a script without spaces; "" for
// other words.
func pairOf(first, second Word) string {
	if first.single && second.single && first.End == second.Start {
		return first.Text + second.Text
	}
	return ""
}

func increase(n *uint16) {
	if *n < 1<<16-1 {
		*n++
	}
}

// isHeading reports whether a line is a heading of Markdown.
func isHeading(line string) bool {
	rest := strings.TrimLeft(line, "#")
	level := len(line) - len(rest)
	return 1 <= level && level <= 6 && strings.HasPrefix(rest, " ")
}
