package sensitive

import (
	"iter"
	"math"
	"math/bits"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What every match of an expression has can be told from the expression, and looked
// for a hundred times faster than the match: forty characters of base64 in a row,
// three digits and a hyphen at the beginning. What is said here of a text errs on one
// side only: where there may be a match, there may be none.

// A class is a set of bytes. A character that is not ASCII counts as its bytes, all
// of which are in the class, with those of all other such characters.
type class [4]uint64

func (c *class) has(b byte) bool { return c[b>>6]>>(b&63)&1 != 0 }

// only returns the byte of the class, if it has one only.
func (c *class) only() (b byte, only bool) {
	n := 0
	for i, part := range c {
		if part != 0 {
			n += bits.OnesCount64(part)
			b = byte(64*i + bits.TrailingZeros64(part))
		}
	}
	return b, n == 1
}

// A run is a number of bytes in a row, all of one class.
type run struct {
	class class
	least int // bytes, 1 or more
}

// in reports whether s has such a run. It looks at each byte once at most, and at
// few if they are not of the class.
func (r run) in(s string) bool {
	if r.least == 1 {
		if b, only := r.class.only(); only {
			return strings.IndexByte(s, b) >= 0
		}
	}
	last := r.least - 1 // of where the run would be
	known := -1         // up to here, from where the run would begin, all are of the class
	for last < len(s) {
		i := last
		for i > known && r.class.has(s[i]) {
			i--
		}
		if i == known {
			return true
		}
		known, last = last, i+r.least
		// What is between i and known need not be looked at again.
	}
	return false
}

// A necessity is what every match has one of. None of nothing: there is no telling.
type necessity []run

// in reports whether s has one of the runs.
func (n necessity) in(s string) bool {
	for _, r := range n {
		if r.in(s) {
			return true
		}
	}
	return len(n) == 0
}

// useless is how frequent what is not worth looking for is.
const useless = -4.0

// necessary returns what every match of re has, and the fewer texts have the better.
// What one of words has is of no use, since they are in every text that is searched.
func necessary(re *syntax.Regexp, words []string) necessity {
	runs, frequency := finder{words}.find(re)
	if frequency > useless {
		return nil
	}
	return runs.joined()
}

// joined returns n with as few runs as say the same.
func (n necessity) joined() necessity {
	one := run{least: 1} // of those of one byte
	for _, r := range n {
		if r.least == 1 {
			one.class.add(r.class)
		}
	}
	var all necessity
	for _, r := range append(necessity{one}, n...) {
		if r.class != (class{}) && !slices.ContainsFunc(all, func(s run) bool { return s.least <= r.least && s.class.includes(r.class) }) {
			all = append(all, r)
		}
	}
	return all
}

func (c *class) includes(d class) bool {
	for i := range c {
		if d[i]&^c[i] != 0 {
			return false
		}
	}
	return true
}

type finder struct{ words []string }

// find returns what every match of re has, and the logarithm of how often a text has
// it at one place: 0 for what says nothing.
func (f finder) find(re *syntax.Regexp) (necessity, float64) {
	best, frequency := f.rate(whole(re))
	consider := func(n necessity, r float64) {
		if r < frequency {
			best, frequency = n, r
		}
	}
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus:
		consider(f.find(re.Sub[0]))
	case syntax.OpRepeat:
		if re.Min > 0 {
			consider(f.find(re.Sub[0]))
		}
	case syntax.OpAlternate:
		var all necessity
		most := math.Inf(-1)
		for _, sub := range re.Sub {
			n, r := f.find(sub)
			all, most = append(all, n...), max(most, r)
		}
		consider(all, most)
	case syntax.OpConcat:
		for i := range re.Sub {
			consider(f.find(re.Sub[i]))
			var together run
			for _, sub := range re.Sub[i:] {
				together = together.followed(whole(sub))
				consider(f.rate(together))
			}
		}
	}
	return best, frequency
}

// rate returns the run alone, and how frequent it is.
func (f finder) rate(r run) (necessity, float64) {
	if r.least == 0 {
		return nil, 0
	}
	for _, w := range f.words {
		if r.in(w) {
			return nil, 0
		}
	}
	return necessity{r}, float64(r.least) * math.Log(min(1, r.class.share()))
}

// share returns how much of an ordinary text is of the class, roughly. It decides
// only what is looked for.
func (c *class) share() float64 {
	sum := 0.0
	for _, part := range ordinary {
		n := 0
		for i := range c {
			n += bits.OnesCount64(c[i] & part.of[i])
		}
		sum += part.each * float64(n)
	}
	return sum
}

// ordinary is how often each byte of a class is in a text.
var ordinary = []struct {
	of   class
	each float64
}{
	{between('a', 'z'), 0.55 / 26}, // less than there are, since words end
	{between('0', '9'), 0.1 / 10},
	{between(' ', ' '), 0.2},
	{between(0, unicode.MaxASCII), 0.1 / 128},
	{between(utf8.RuneSelf, unicode.MaxRune), 0.03 / 128},
}

// followed returns what is at least where r and then s is.
func (r run) followed(s run) run {
	r.class.add(s.class)
	return run{r.class, r.least + s.least}
}

// whole returns what the whole of every match of re is.
func whole(re *syntax.Regexp) run {
	var sum run
	switch re.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		for _, c := range characters(re) {
			sum = sum.followed(run{c, 1})
		}
	case syntax.OpStar, syntax.OpQuest:
		sum.class = whole(re.Sub[0]).class
	case syntax.OpPlus, syntax.OpCapture:
		sum = whole(re.Sub[0])
	case syntax.OpRepeat:
		sum = whole(re.Sub[0])
		sum.least *= re.Min
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			sum = sum.followed(whole(sub))
		}
	case syntax.OpAlternate:
		least := math.MaxInt
		for _, sub := range re.Sub {
			w := whole(sub)
			sum, least = sum.followed(w), min(least, w.least)
		}
		sum.least = least
	}
	return sum // of what has no width: nothing
}

// characters returns the classes of the characters that re, a leaf, matches one
// after another.
func characters(re *syntax.Regexp) []class {
	switch re.Op {
	case syntax.OpLiteral:
		all := make([]class, len(re.Rune))
		for i, c := range re.Rune {
			all[i].add(between(c, c))
			if re.Flags&syntax.FoldCase != 0 {
				for o := unicode.SimpleFold(c); o != c; o = unicode.SimpleFold(o) {
					all[i].add(between(o, o))
				}
			}
		}
		return all
	case syntax.OpCharClass:
		var one class
		for i := 0; i+1 < len(re.Rune); i += 2 {
			one.add(between(re.Rune[i], re.Rune[i+1]))
		}
		return []class{one}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return []class{between(0, unicode.MaxRune)}
	}
	return nil
}

// between returns the class of the characters from low to high.
func between(low, high rune) (c class) {
	for b := low; b <= min(high, unicode.MaxASCII); b++ {
		c[b>>6] |= 1 << (b & 63)
	}
	if high > unicode.MaxASCII {
		c[2], c[3] = math.MaxUint64, math.MaxUint64
	}
	return c
}

func (c *class) add(d class) {
	for i := range c {
		c[i] |= d[i]
	}
}

// looksAround reports whether re asks for what is beside a match, which is not the
// same in a part of a text.
func looksAround(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	}
	return slices.ContainsFunc(re.Sub, looksAround)
}

// parts returns the longest parts of a span of text with only bytes of the class.
func (c *class) parts(text string, s span) iter.Seq[span] {
	return func(yield func(span) bool) {
		for start := s.start; start < s.end; start++ {
			end := start
			for end < s.end && c.has(text[end]) {
				end++
			}
			if end > start && !yield(span{start, end}) {
				return
			}
			start = end
		}
	}
}

// A head says what the first bytes of a match can be, each regardless of the others.
type head struct {
	at    [256]uint8 // byte → the positions where it can be, as bits
	known int        // how many positions there is anything to say of; all matches are as long
}

const headLength = 8 // bits of a position

// headOf returns the head of the matches of re.
func headOf(re *syntax.Regexp) *head {
	h := &head{}
	ends := h.walk(re, 1)
	for h.known < headLength && ends>>h.known&1 == 0 {
		h.known++
	}
	return h
}

// walk notes what the matches of re can have in the first positions if they begin
// at one of starts, and returns where they can end; what is beyond does not count.
func (h *head) walk(re *syntax.Regexp, starts uint16) (ends uint16) {
	switch re.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		for _, c := range characters(re) {
			starts = h.note(&c, starts)
		}
		return starts
	case syntax.OpCapture:
		return h.walk(re.Sub[0], starts)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			starts = h.walk(sub, starts)
		}
		return starts
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			ends |= h.walk(sub, starts)
		}
		return ends
	case syntax.OpQuest:
		return starts | h.walk(re.Sub[0], starts)
	case syntax.OpStar:
		return h.repeat(re.Sub[0], starts)
	case syntax.OpPlus:
		return h.repeat(re.Sub[0], h.walk(re.Sub[0], starts))
	case syntax.OpRepeat:
		for range re.Min {
			starts = h.walk(re.Sub[0], starts)
		}
		if re.Max == re.Min {
			return starts
		}
		return h.repeat(re.Sub[0], starts)
	case syntax.OpNoMatch:
		return 0
	}
	return starts // of what has no width
}

// repeat is walk for any number of matches of re.
func (h *head) repeat(re *syntax.Regexp, starts uint16) (ends uint16) {
	for ends != starts {
		ends, starts = starts, starts|h.walk(re, starts)
	}
	return ends
}

// note notes a character of the class c at positions, and returns those behind.
func (h *head) note(c *class, positions uint16) uint16 {
	if positions == 0 {
		return 0
	}
	for b := range h.at {
		if c.has(byte(b)) {
			h.at[b] |= uint8(positions)
		}
	}
	behind := positions << 1
	if c.has(utf8.RuneSelf) { // of two bytes or more, unless it is none
		for range utf8.UTFMax - 1 {
			for b := utf8.RuneSelf; b < len(h.at); b++ {
				h.at[b] |= uint8(behind)
			}
			behind |= behind << 1
		}
	}
	return behind & (1<<(headLength+1) - 1)
}

// in reports whether a match can begin somewhere in s.
func (h *head) in(s string) bool { return h.known == 0 || h.next(s, 0) >= 0 }

// next returns where in s, at from or behind it, the next match can begin; -1: nowhere.
// There must be something known of matches.
func (h *head) next(s string, from int) int {
	last := uint8(1) << (h.known - 1)
	positions := uint8(0) // that the bytes so far can be the ends of
	for i := from; i < len(s); i++ {
		positions = (positions<<1 | 1) & h.at[s[i]]
		if positions&last != 0 {
			return i - h.known + 1
		}
	}
	return -1
}

// starts returns where in s matches can begin, 0 for no more places. It fails if
// there are more than a few, or one that is not behind an ASCII character.
func (h *head) starts(s string) (places [4]int, few bool) {
	if h.known == 0 {
		return places, false
	}
	n := 0
	for i := h.next(s, 0); i >= 0; i = h.next(s, i+1) {
		if i == 0 || n == len(places) || s[i-1] >= utf8.RuneSelf {
			return places, false
		}
		places[n] = i
		n++
	}
	return places, true
}

// mayBegin reports whether s can begin with a match.
func (h *head) mayBegin(s string) bool {
	if len(s) < h.known {
		return false
	}
	for i := range h.known {
		if h.at[s[i]]>>i&1 == 0 {
			return false
		}
	}
	return true
}
