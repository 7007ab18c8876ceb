package sensitive

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// A token, as services issue them, begins and ends where its alphabet does, in any script:
// at punctuation, quotation marks, Markdown, a mark or a word of another script. The rules
// for tokens therefore have no terminators in their expressions; the functions below decide.

// beginsToken reports whether a token can begin at i: not in the middle of a word. A letter
// before it counts as a part of a word unless it belongs to an escape sequence ("\n", "%3D",
// "\u003d", "ESC[1m") or is the letter of a flag ("-p").
func beginsToken(text string, i int) bool {
	if i == 0 || i >= len(text) || !isAlphanumeric(text[i]) || !isAlphanumeric(text[i-1]) {
		return true
	}
	before := text[max(0, i-6):i]
	n := len(before)
	c := before[n-1]
	switch {
	case n >= 2 && before[n-2] == '\\' && strings.IndexByte("nrtfvb", c) >= 0:
		return true
	case n >= 3 && before[n-3] == '%' && isHex(before[n-2]) && isHex(c):
		return true
	case n >= 6 && before[:2] == `\u`:
		return true
	case n >= 2 && before[n-2] == '-' && isLetter(c): // -pTOKEN
		return n == 2 || isSpace(before[n-3])
	case c == 'm':
		digits := strings.TrimRight(before[:n-1], "0123456789;")
		return strings.HasSuffix(digits, "[") && len(digits) >= 2 && digits[len(digits)-2] == 0x1b
	}
	return false
}

// startsToken reports whether the matches of the rule are tokens that begin with a keyword.
func (r *rule) startsToken() bool { return r.token && r.anchored && r.group == wholeMatch }

// beginsAt reports whether a token of the rule can begin at i. A long one does not begin
// within another: in "glpat-glpat-glpat-…" only one begins.
func (r *rule) beginsAt(text string, i int) bool {
	if !beginsToken(text, i) {
		return false
	}
	const long = 250
	f := r.info()
	return f.reach < long || i < 2 || !f.end.has(text[i-1]) || strings.IndexByte("_-", text[i-1]) < 0 || !isAlphanumeric(text[i-2])
}

// A tokenRun is a part of a text in the alphabet of a rule for tokens of any length. Whether a
// token ends with it, or has what must follow, hardly depends on where in the run it begins. So
// where many that could begin there are none, more are not tried: each reads the rest of the run.
type tokenRun struct{ end, failed int }

// isExhausted reports whether as many tokens of the rule as are tried could begin in the run that
// has the one at start, and were none.
func (t *tokenRun) isExhausted(r *rule, text string, start int) bool {
	const most = 8
	f := r.info()
	if !f.unbounded || !r.startsToken() {
		return false
	}
	if start >= t.end {
		end := start
		for end < len(text) && f.end.has(text[end]) {
			end++
		}
		*t = tokenRun{end: end}
	}
	return t.failed >= most
}

// tried notes whether a token began where one could.
func (t *tokenRun) tried(found bool) {
	t.failed++
	if found {
		t.failed = 0
	}
}

// endsToken reports whether a token of the rule that an expression has matched up to end is
// whole.
func (r *rule) endsToken(text string, end int) bool {
	const most = 4 // signs of Markdown, or a dash
	f, i := r.info(), end
	if f.endsFixed && end < len(text) && !isAlphanumeric(text[end]) && strings.IndexByte("-_", text[end]) < 0 {
		return true
	}
	for i < len(text) && i-end < most && f.end.has(text[i]) && !isAlphanumeric(text[i]) {
		i++
	}
	return i == len(text) || !isAlphanumeric(text[i]) && (i-end == most || !f.end.has(text[i]))
}

// endsFixed reports whether all matches of re end with a long part of a fixed length, so
// that there is no doubt where they end.
func endsFixed(re *syntax.Regexp) bool {
	const long = 20
	switch re.Op {
	case syntax.OpConcat:
		return endsFixed(re.Sub[len(re.Sub)-1])
	case syntax.OpAlternate:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !endsFixed(sub) })
	case syntax.OpCapture:
		return endsFixed(re.Sub[0])
	}
	return re.Op == syntax.OpRepeat && re.Min == re.Max && re.Min >= long
}

// trimToken removes the punctuation of a sentence from the end of a token, unless the token
// would be too short without it.
func (r *rule) trimToken(text string, s span) span {
	trimmed := trimEnd(text, s)
	if q := r.info().sequence; trimmed != s && q != nil && q.match(text[trimmed.start:trimmed.end]) < 0 {
		return s
	}
	return trimmed
}

// longEncoded is how many characters of base64 are around what is taken for a part of a text in
// base64.
const longEncoded = 48

// isEncoded reports whether s is a part of a long text in base64, such as an image, in which
// any short sequence of letters and digits can be.
func isEncoded(text string, s span) bool {
	const far = 80
	start, end := s.start, s.end
	for start > 0 && s.start-start < far && isBase64(text[start-1]) {
		start--
	}
	for end < len(text) && end-s.end < far && isBase64(text[end]) {
		end++
	}
	return s.start-start+end-s.end >= longEncoded
}

// base64Bytes are the characters of base64 as in files.
var base64Bytes = func() class {
	c := alphanumeric
	c.add(rangeClass('+', '+'))
	c.add(rangeClass('/', '/'))
	return c
}()

func isBase64(c byte) bool { return base64Bytes.has(c) }

// endAlphabet returns the class of the bytes with which matches of re end.
func endAlphabet(re *syntax.Regexp) (c class) {
	switch re.Op {
	case syntax.OpConcat:
		for i := len(re.Sub) - 1; i >= 0; i-- {
			c.add(endAlphabet(re.Sub[i]))
			if classOf(re.Sub[i]).min > 0 {
				break
			}
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			c.add(endAlphabet(sub))
		}
	case syntax.OpCapture:
		return endAlphabet(re.Sub[0])
	case syntax.OpLiteral:
		if all := characters(re); len(all) > 0 {
			c = all[len(all)-1]
		}
	default:
		c = classOf(re).class
	}
	return c
}

func isAlphanumeric(c byte) bool { return isLetter(c) || isDigit(c) }

func isHex(c byte) bool { return isDigit(c) || 'a' <= lower(c) && lower(c) <= 'f' }
