package sensitive

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A plural announces a list: "Passwords: kim: X, lee: Y", on one line or on several.

const (
	maxEntries = 20
	maxLabel   = 40 // bytes of what an entry is for
)

// list adds the values of a list of labels and values, and reports whether there are any.
func (a *announcement) list() bool {
	from := a.i
	for range maxEntries {
		a.blanks()
		a.itemMark()
		a.skip("\"'`*_")
		if !a.label() {
			break
		}
		v := a.token(sign, false)
		a.add(v)
		a.i = max(a.i, v.end)
		if !v.quoted {
			a.i = v.end
		}
		a.skip("\"'`*_")
		a.takeAny([]string{"”", "»", "」"})
		separated := a.takeAny([]string{",", ";", "，", "、", "；", "،", "|", "/"})
		if a.blanks(); a.lineEnds() == 0 && !separated && !a.takeWord(&conjunctions) {
			break
		}
		a.blanks()
		a.takeWord(&conjunctions)
	}
	if len(a.found) == 0 {
		a.i = from
	}
	return len(a.found) > 0
}

var conjunctions = newWordList("and", "und", "et", "y", "e", "en", "i", "и")

// label skips what the value of an entry is for, of up to three words, and the sign after it.
func (a *announcement) label() bool {
	from, words := a.i, 1
	for a.i < a.end && a.i-from < maxLabel {
		c, size := utf8.DecodeRuneInString(a.rest())
		switch {
		case a.i > from && a.labelEnd():
			return true
		case c == ' ':
			words++
		case unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c) || strings.ContainsRune("_-.@'()+", c):
		case c == '`' || c == '"' || c == '*':
		default:
			a.i = from
			return false
		}
		if words > 3 {
			break
		}
		a.i += size
	}
	a.i = from
	return false
}

// labelEnd skips the sign after a label, and reports whether it is there.
func (a *announcement) labelEnd() bool {
	at := a.i
	if a.takeAny([]string{": ", "：", " = ", " → ", " -> ", " – ", " — ", " : "}) {
		a.blanks()
		return a.i < a.end && !isSpace(a.peek())
	}
	a.i = at
	return false
}
