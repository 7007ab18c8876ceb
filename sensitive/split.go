package sensitive

import (
	"slices"
	"strings"
)

// A token that is split over lines, by hand or by a program that wraps text, is put together
// again in this file if it begins with a prefix: of others nobody can tell so cheaply that the
// next line continues them (splitscan.go).

const (
	maxParts = 8   // lines
	maxPart  = 400 // bytes
	minPart  = 6   // bytes of a token at the end of the first line
)

// partBytes are the characters of tokens and of base64.
var partBytes = func() class {
	c := encodedBytes
	for _, sign := range ".=~$%:" {
		c.add(rangeClass(sign, sign))
	}
	return c
}()

// maxPrefixed is how long the start of a part is in which the prefix of another token is
// looked for.
const maxPrefixed = 16

// joints are what may stand between a part of a token and the end of the line: the end of a
// string, and a sign that it continues.
const joints = " \t\r\\+\"'`"

// mayEndPart are the last bytes of lines that may end with a part of a token.
var mayEndPart = func() class {
	c := encodedBytes
	for _, sign := range joints {
		c.add(rangeClass(sign, sign))
	}
	return c
}()

// split returns candidates for tokens, and for base64 of what would be found, which continue
// on the next line.
func (e *engine) split(text string) (found []candidate) {
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return found
		}
		end := at + i
		at = end + 1
		if end == 0 || !mayEndPart.has(text[end-1]) {
			continue
		}
		first := partBefore(text, end)
		if first.start == first.end {
			continue
		}
		if c, ok := e.joined(text, first, end+1); ok {
			found = append(found, c)
			at = max(at, c.end)
		}
	}
}

// partBefore returns the part of a token that ends with the line that ends at i, or an empty
// span if there is a word.
func partBefore(text string, i int) span {
	for least := max(0, i-8); i > least && strings.IndexByte(joints, text[i-1]) >= 0; {
		i--
	}
	s := span{i, i}
	words := true
	for s.start > 0 && i-s.start < maxPart && partBytes.has(text[s.start-1]) {
		s.start--
		if c := text[s.start]; words && (isDigit(c) || c == '_' || isUpper(c) && s.start > 0 && isLetter(text[s.start-1])) {
			words = false
		}
	}
	if words || i-s.start < minPart || !encodedBytes.has(text[i-1]) {
		return span{}
	}
	return s
}

// partAfter returns what continues a token on the line that begins at i.
func partAfter(text string, i int) span {
	r := reader{text, i, min(len(text), i+maxPart)}
	r.blanks()
	for r.takeAny([]string{"> ", ">", "// ", "# ", "| ", "+ "}) {
		r.blanks()
	}
	r.itemMark()
	r.skip("\"'`")
	s := span{r.i, r.i}
	for s.end < r.end && partBytes.has(text[s.end]) {
		s.end++
	}
	return s
}

// joined returns the candidate that begins in first, the end of a line, and ends on a line
// after it. next is where the next line begins.
func (e *engine) joined(text string, first span, next int) (candidate, bool) {
	starts := e.tokenStarts(text, first)
	parts, b := []span{first}, []byte(text[first.start:first.end])
	for len(parts) < maxParts {
		part := partAfter(text, next)
		if part.start == part.end || len(e.tokenStarts(text, span{part.start, min(part.end, part.start+maxPrefixed)})) > 0 {
			break
		}
		cut := len(b)
		b = append(b, text[part.start:part.end]...)
		parts = append(parts, part)
		for _, s := range starts {
			if end, ok := s.rule.matchesOver(string(b), s.start, cut); ok && s.rule.beginsAt(text, first.start+s.start) {
				return candidate{span{first.start + s.start, part.start + end - cut}, s.rule}, true
			}
		}
		end, ok := lineEnd(text, part.end)
		if !ok {
			break
		}
		next = end + 1
	}
	s := strings.TrimRight(string(b), "=")
	if len(parts) == 1 || len(s) < minEncoded || first.end-first.start < minEncoded/2 {
		return candidate{}, false
	}
	if inner := e.findDecoded(s); inner != nil {
		return candidate{span{first.start, parts[len(parts)-1].end}, inner}, true
	}
	return candidate{}, false
}

// A tokenStart is where a token of a rule may begin.
type tokenStart struct {
	rule  *rule
	start int
}

// tokenStarts returns where in part, a span of text, tokens with a format may begin.
func (e *engine) tokenStarts(text string, part span) (starts []tokenStart) {
	e.keywords.find(text[part.start:part.end], func(word int32, start int) {
		for _, rule := range e.rulesOf[word] {
			if r := e.rules[rule]; r.startsToken() && start+minPart <= part.end-part.start {
				starts = append(starts, tokenStart{r, start})
			}
		}
	})
	slices.SortFunc(starts, func(a, b tokenStart) int { return a.start - b.start })
	return starts
}

// matchesOver returns the end of a token that begins at start in the parts of a text that
// were joined, the last of them at cut.
func (r *rule) matchesOver(joined string, start, cut int) (end int, ok bool) {
	const long = 8
	m := r.matchStart(joined[start:])
	if m == nil {
		return 0, false
	}
	end = start + m[1]
	token, part := span{start, end}, joined[min(cut, end):end]
	switch before := r.matchStart(joined[start:cut]); {
	case end <= cut || !r.endsToken(joined, end) || !r.accepts(joined, token, token),
		r.refine != nil && r.refine(joined, token).end <= cut:
		return 0, false
	case before == nil:
		return end, r.info().fixed || r.proof != nil && r.proof(joined[start:end]) || !isWords(part)
	}
	// The parts before could also be a whole token.
	return end, (r.proof == nil || !r.proof(joined[start:cut])) && len(part) >= long && isRandom(part)
}

// isWords reports whether s can be a word of a text, or several with hyphens.
func isWords(s string) bool {
	for word := range strings.FieldsFuncSeq(s, func(c rune) bool { return strings.ContainsRune("-_./", c) }) {
		c := countChars(word)
		if c.lower+c.upper < len(word) || c.upper > 1 && c.lower > 0 || c.upper == 1 && !isUpper(word[0]) || len(word) > 8 && isUnlikeWords(word) {
			return false
		}
	}
	return true
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
