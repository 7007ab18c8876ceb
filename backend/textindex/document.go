package textindex

import (
	"strings"
	"unicode/utf8"
)

// counts says how often a memory has a form.
type counts struct{ body, heading, path uint16 }

// A document is what the index takes from a memory.
type document struct {
	forms    map[string]counts
	words    map[string]string // by form: one word of the text, except for characters and pairs
	language Language
	length   int // words of the contents
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

// read splits a memory into words and counts them.
func read(path, contents string) document { return readSome(path, contents, nil) }

// readSome does so with the forms that a filter keeps; nil keeps all.
func readSome(path, contents string, filter *wordFilter) document {
	d := document{forms: map[string]counts{}, words: map[string]string{}}
	var language detector
	take := func(text string, count func(*counts)) (n int) {
		var before Word
		for w := range Words(text) {
			n++
			form, word := term(w.Text), text[w.Start:w.End]
			if w.single {
				word = ""
			}
			if filter == nil || filter.keeps(form, word) {
				c, known := d.forms[form]
				count(&c)
				d.forms[form] = c
				if !known && word != "" {
					d.words[form] = word
				}
			}
			if pair := pairOf(before, w); pair != "" && (filter == nil || filter.keeps(pair, "")) {
				c := d.forms[pair]
				count(&c)
				d.forms[pair] = c
			}
			before = w
			language.add(form)
		}
		return n
	}
	for line := range strings.Lines(contents) {
		if isHeading(line) {
			d.length += take(line, func(c *counts) { increase(&c.body); increase(&c.heading) })
		} else {
			d.length += take(line, func(c *counts) { increase(&c.body) })
		}
	}
	take(path, func(c *counts) { increase(&c.path) })
	d.language = language.language()
	return d
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
