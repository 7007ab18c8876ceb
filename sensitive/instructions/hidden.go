package instructions

import (
	"unicode"
	"unicode/utf8"

	"memento"
)

// appendHidden finds characters that nobody sees and that carry text, split words, or
// change the order in which text is shown.
func appendHidden(found []memento.Finding, text string) []memento.Finding {
	h := hiddenScanner{text: text, before: ' '}
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if c == '\n' {
				found = h.endLine(found)
			}
			if c == 0x1b && i+1 < len(text) && text[i+1] == '[' {
				if n := concealing(text[i:]); n > 0 {
					found = append(found, memento.Finding{Kind: hidden, Start: i, End: i + n})
				}
			}
			h.before = rune(c)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if !suspect(r) {
			h.rightToLeft = h.rightToLeft || unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Adlam)
			h.before = r
			i += n
			continue
		}
		end := h.run(i)
		if h.isHidden(i, end) {
			found = append(found, memento.Finding{Kind: hidden, Start: i, End: end})
		}
		i = end
	}
	return h.endLine(found)
}

type hiddenScanner struct {
	text   string
	before rune // the last visible one

	// Of the present line.
	rightToLeft bool
	open        []int // where embeddings and isolates begin that were not ended
}

const (
	zeroWidthSpace     = '\u200b'
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
	byteOrderMark      = '\ufeff'
	softHyphen         = '\u00ad'
	blackFlag          = '\U0001f3f4'
	cancelTag          = '\U000e007f'
)

func isTag(r rune) bool { return 0xE0000 <= r && r <= 0xE007F }

// isSelector reports whether r selects a variant of the character before it.
func isSelector(r rune) bool { return 0xFE00 <= r && r <= 0xFE0F || 0xE0100 <= r && r <= 0xE01EF }

// suspect reports whether r is not seen, so that it needs a look at where it stands.
func suspect(r rune) bool {
	switch {
	case isTag(r), isSelector(r), r == zeroWidthSpace, r == zeroWidthNonJoiner, r == zeroWidthJoiner, r == byteOrderMark, r == softHyphen,
		0x2060 <= r && r <= 0x2064, 0x206A <= r && r <= 0x206F, 0x202A <= r && r <= 0x202E, 0x2066 <= r && r <= 0x2069, 0xFFF9 <= r && r <= 0xFFFB, r == 0x3164, r == 0x115F, r == 0x1160, r == 0xFFA0:
		return true
	}
	return false
}

// run returns the end of the run of such characters that begins at i.
func (h *hiddenScanner) run(i int) int {
	for i < len(h.text) {
		r, n := utf8.DecodeRuneInString(h.text[i:])
		if !suspect(r) {
			break
		}
		i += n
	}
	return i
}

// isHidden reports whether a run of invisible characters does not belong where it stands.
func (h *hiddenScanner) isHidden(start, end int) bool {
	after, _ := utf8.DecodeRuneInString(h.text[end:])
	count, tags, selectors, zeroWidth, soft := 0, 0, 0, 0, 0
	last := rune(0)
	for i, r := range h.text[start:end] {
		count++
		last = r
		switch {
		case isTag(r):
			tags++
		case isSelector(r):
			selectors++
		case r == softHyphen:
			soft++
		case r == '\u202d', r == '\u202e': // shows the text in another order than it has
			return true
		case 0x202A <= r && r <= 0x202B, 0x2066 <= r && r <= 0x2068:
			h.open = append(h.open, start+i)
		case r == '\u202c', r == '\u2069':
			if len(h.open) > 0 {
				h.open = h.open[:len(h.open)-1]
			}
		case 0xFFF9 <= r && r <= 0xFFFB, 0x206A <= r && r <= 0x206F:
			return true
		case r == byteOrderMark && start == 0 && i == 0:
		default:
			zeroWidth++
		}
	}
	switch {
	case tags > 0: // only the flags of regions have them: a black flag, up to six, an end
		return h.before != blackFlag || last != cancelTag || tags != count || tags > 8
	case selectors > 1, selectors == 1 && unicode.IsLetter(h.before) && !isUnspaced(h.before) && !unicode.In(h.before, unicode.Mongolian, unicode.Myanmar, unicode.Phags_Pa):
		return selectors > 1 || zeroWidth > 0
	case soft > 2, zeroWidth > 2:
		return true
	case zeroWidth == 0:
		return false
	}
	// Joiners shape letters of many scripts, and bind emoji; spaces without width say where
	// words end in some. Between letters that need none they hide or split something.
	return plainLetter(h.before) && plainLetter(after)
}

// plainLetter reports whether r is a letter of a script in which no word needs an invisible
// character.
func plainLetter(r rune) bool {
	return unicode.In(r, unicode.Latin, unicode.Cyrillic, unicode.Greek)
}

// endLine finds embeddings that were not ended on their line: what follows them is shown
// elsewhere. Right-to-left text has them.
func (h *hiddenScanner) endLine(found []memento.Finding) []memento.Finding {
	if !h.rightToLeft {
		for _, at := range h.open {
			found = append(found, memento.Finding{Kind: hidden, Start: at, End: at + len("\u202a")})
		}
	}
	h.open, h.rightToLeft = h.open[:0], false
	return found
}

// concealing returns the length of an escape sequence that conceals what follows on a
// terminal, or 0.
func concealing(rest string) int {
	for i := 2; i < min(len(rest), 24); i++ {
		switch c := rest[i]; {
		case c == 'm':
			if i >= 3 && rest[i-1] == '8' && (rest[i-2] == '[' || rest[i-2] == ';') {
				return i + 1
			}
			return 0
		case c != ';' && (c < '0' || c > '9'):
			return 0
		}
	}
	return 0
}
