package instructions

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"memento/internal/lookalike"

	"golang.org/x/text/unicode/norm"
)

// A folder writes words as the table does.
type folder struct{ buffer []byte }

// maxWord is the longest word that is compared, in bytes; no word of the table is longer.
const maxWord = 64

// word returns a word in lower case and without accents, and the same with each character
// replaced by the Latin letter that it looks like. simple says that it is ASCII.
func (f *folder) word(text string, simple bool) (plain, latin string) {
	if len(text) > 4*maxWord {
		return "", ""
	}
	if simple {
		f.buffer = f.buffer[:0]
		digits, letters := false, false
		for i := range len(text) {
			c := text[i]
			switch {
			case 'A' <= c && c <= 'Z':
				c += 'a' - 'A'
				letters = true
			case 'a' <= c && c <= 'z':
				letters = true
			case '0' <= c && c <= '9', c == '$', c == '@':
				digits = true
			}
			f.buffer = append(f.buffer, c)
		}
		plain = strings.Trim(string(f.buffer), "'_$@")
		if digits && letters {
			latin = strings.Map(unleet, string(f.buffer))
		}
		return plain, latin
	}
	var b strings.Builder
	for _, r := range norm.NFKD.String(text) {
		switch {
		case r == '’':
			b.WriteByte('\'')
		case !unicode.Is(unicode.Mn, r) && !invisible(r) || unicode.In(r, unicode.Devanagari):
			b.WriteRune(unicode.ToLower(r))
		}
	}
	plain = norm.NFC.String(b.String())
	b.Reset()
	for _, r := range plain {
		if r >= utf8.RuneSelf {
			r = lookalike.Letter(r)
		}
		b.WriteRune(unleet(r))
	}
	return strings.Trim(plain, "'_$@"), strings.Trim(b.String(), "'_")
}

// unleet returns the letter that a digit or sign stands for in "1gn0re".
func unleet(r rune) rune {
	switch r {
	case '0':
		return 'o'
	case '1':
		return 'i'
	case '3':
		return 'e'
	case '4', '@':
		return 'a'
	case '5', '$':
		return 's'
	case '7':
		return 't'
	}
	return r
}

// invisible reports whether nobody sees r: it does not end a word.
func invisible(r rune) bool {
	return r >= 0x80 && (unicode.In(r, unicode.Cf, unicode.Variation_Selector) || r == 0x034F || r == 0x3164)
}
