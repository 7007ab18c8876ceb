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

// A prefilter decides quickly that a regular expression cannot match a text. It is
// derived from the expression: bytes that every match contains, such as forty
// characters of base64 in a row, and what the first bytes of a match can be, such as
// three digits and a hyphen. Checking them is about a hundred times faster than the
// expression. A prefilter may let texts without a match pass, but never stops a text
// that has one.

// A class is a set of bytes. If a character outside ASCII is in the class, all bytes of
// all such characters are.
type class [4]uint64

func (c *class) has(b byte) bool { return c[b>>6]>>(b&63)&1 != 0 }

// single returns the byte of the class, if there is exactly one.
func (c *class) single() (b byte, only bool) {
	n := 0
	for i, part := range c {
		if part != 0 {
			n += bits.OnesCount64(part)
			b = byte(64*i + bits.TrailingZeros64(part))
		}
	}
	return b, n == 1
}

// A byteRun is a number of consecutive bytes, all of one class.
type byteRun struct {
	class class
	min   int // bytes, 1 or more
}

// in reports whether s contains such a run. It reads each byte at most once, and skips
// most bytes if few are of the class.
func (r byteRun) in(s string) bool {
	if r.min == 1 {
		if b, only := r.class.single(); only {
			return strings.IndexByte(s, b) >= 0
		}
	}
	last := r.min - 1 // index of the last byte of the run that is tried
	known := -1       // up to this index, all bytes of the run that is tried are known to be of the class
	for last < len(s) {
		i := last
		for i > known && r.class.has(s[i]) {
			i--
		}
		if i == known {
			return true
		}
		known, last = last, i+r.min
		// The bytes between i and known need not be read again.
	}
	return false
}

// all appends to spans the longest parts of s that have only bytes of the class, if they are
// long enough. It skips most bytes if few are of the class.
func (r byteRun) all(spans []span, s string) []span {
	for start, end := 0, r.min; end <= len(s); { // a run begins at start or later
		i := end
		for i > start && r.class.has(s[i-1]) {
			i--
		}
		if i > start {
			start, end = i, i+r.min
			continue
		}
		for end < len(s) && r.class.has(s[end]) {
			end++
		}
		spans = append(spans, span{start, end})
		start, end = end, end+r.min
	}
	return spans
}

// A prefilter is a list of runs of which every match contains at least one. An empty
// prefilter lets every text pass.
type prefilter []byteRun

// in reports whether s contains one of the runs, so that there may be a match in it.
func (n prefilter) in(s string) bool {
	for _, r := range n {
		if r.in(s) {
			return true
		}
	}
	return len(n) == 0
}

// maxFrequency is the frequency, as a logarithm, above which a prefilter would let
// nearly every text pass.
const maxFrequency = -4.0

// newPrefilter returns the prefilter of re that the fewest texts pass. Runs that one of
// words contains are left out, since every text that is searched has one of words.
func newPrefilter(re *syntax.Regexp, words []string) prefilter {
	runs, frequency := prefilterBuilder{words}.build(re)
	if frequency > maxFrequency {
		return nil
	}
	return runs.simplified()
}

// simplified returns an equivalent prefilter with as few runs as possible.
func (n prefilter) simplified() prefilter {
	one := byteRun{min: 1} // of all runs of one byte
	for _, r := range n {
		if r.min == 1 {
			one.class.add(r.class)
		}
	}
	var all prefilter
	for _, r := range append(prefilter{one}, n...) {
		if r.class != (class{}) && !slices.ContainsFunc(all, func(s byteRun) bool { return s.min <= r.min && s.class.includes(r.class) }) {
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

type prefilterBuilder struct{ words []string }

// build returns the best prefilter of re, and its frequency: the logarithm of the
// probability that it passes at one position of a text. 0 means that it always passes.
func (f prefilterBuilder) build(re *syntax.Regexp) (prefilter, float64) {
	best, frequency := f.frequencyOf(classOf(re))
	consider := func(n prefilter, r float64) {
		if r < frequency {
			best, frequency = n, r
		}
	}
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus:
		consider(f.build(re.Sub[0]))
	case syntax.OpRepeat:
		if re.Min > 0 {
			consider(f.build(re.Sub[0]))
		}
	case syntax.OpAlternate:
		var all prefilter
		most := math.Inf(-1)
		for _, sub := range re.Sub {
			n, r := f.build(sub)
			all, most = append(all, n...), max(most, r)
		}
		consider(all, most)
	case syntax.OpConcat:
		for i := range re.Sub {
			consider(f.build(re.Sub[i]))
			var together byteRun
			for _, sub := range re.Sub[i:] {
				together = together.then(classOf(sub))
				consider(f.frequencyOf(together))
			}
		}
	}
	return best, frequency
}

// frequencyOf returns a prefilter of one run, and its frequency.
func (f prefilterBuilder) frequencyOf(r byteRun) (prefilter, float64) {
	if r.min == 0 {
		return nil, 0
	}
	for _, w := range f.words {
		if r.in(w) {
			return nil, 0
		}
	}
	return prefilter{r}, float64(r.min) * math.Log(min(1, r.class.frequency()))
}

// frequency estimates which part of the bytes of an ordinary text is of the class. It
// is only used to choose among prefilters.
func (c *class) frequency() float64 {
	sum := 0.0
	for _, part := range byteFrequencies {
		n := 0
		for i := range c {
			n += bits.OnesCount64(c[i] & part.of[i])
		}
		sum += part.each * float64(n)
	}
	return sum
}

// byteFrequencies estimates how frequent each byte of a class is in a text.
var byteFrequencies = []struct {
	of   class
	each float64
}{
	{rangeClass('a', 'z'), 0.55 / 26}, // less than measured, since words end
	{rangeClass('0', '9'), 0.1 / 10},
	{rangeClass(' ', ' '), 0.2},
	{rangeClass(0, unicode.MaxASCII), 0.1 / 128},
	{rangeClass(utf8.RuneSelf, unicode.MaxRune), 0.03 / 128},
}

// then returns a run that every text with r directly followed by s contains.
func (r byteRun) then(s byteRun) byteRun {
	r.class.add(s.class)
	return byteRun{r.class, r.min + s.min}
}

// classOf returns a run that describes every match of re as a whole: its class
// includes all bytes of the match, and min is the least length of a match.
func classOf(re *syntax.Regexp) byteRun {
	var sum byteRun
	switch re.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		for _, c := range characters(re) {
			sum = sum.then(byteRun{c, 1})
		}
	case syntax.OpStar, syntax.OpQuest:
		sum.class = classOf(re.Sub[0]).class
	case syntax.OpPlus, syntax.OpCapture:
		sum = classOf(re.Sub[0])
	case syntax.OpRepeat:
		sum = classOf(re.Sub[0])
		sum.min *= re.Min
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			sum = sum.then(classOf(sub))
		}
	case syntax.OpAlternate:
		least := math.MaxInt
		for _, sub := range re.Sub {
			w := classOf(sub)
			sum, least = sum.then(w), min(least, w.min)
		}
		sum.min = least
	}
	return sum // zero for an expression without width
}

// characters returns the classes of the characters that re, which has no
// subexpressions, matches one after another.
func characters(re *syntax.Regexp) []class {
	switch re.Op {
	case syntax.OpLiteral:
		all := make([]class, len(re.Rune))
		for i, c := range re.Rune {
			all[i].add(rangeClass(c, c))
			if re.Flags&syntax.FoldCase != 0 {
				for o := unicode.SimpleFold(c); o != c; o = unicode.SimpleFold(o) {
					all[i].add(rangeClass(o, o))
				}
			}
		}
		return all
	case syntax.OpCharClass:
		var one class
		for i := 0; i+1 < len(re.Rune); i += 2 {
			one.add(rangeClass(re.Rune[i], re.Rune[i+1]))
		}
		return []class{one}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return []class{rangeClass(0, unicode.MaxRune)}
	}
	return nil
}

// rangeClass returns the class of the characters from low to high, both included.
func rangeClass(low, high rune) (c class) {
	for b := low; b <= min(high, unicode.MaxASCII); b++ {
		c[b>>6] |= 1 << (b & 63)
	}
	if high > unicode.MaxASCII {
		c[2], c[3] = math.MaxUint64, math.MaxUint64
	}
	return c
}

// alphanumeric is the class of ASCII letters and digits.
var alphanumeric = func() (c class) {
	c.add(rangeClass('a', 'z'))
	c.add(rangeClass('A', 'Z'))
	c.add(rangeClass('0', '9'))
	return c
}()

func (c *class) add(d class) {
	for i := range c {
		c[i] |= d[i]
	}
}

// looksAround reports whether re depends on the text around a match, which differs
// between a text and a part of it.
func looksAround(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	}
	return slices.ContainsFunc(re.Sub, looksAround)
}

// runs returns the longest parts of a span of text that have only bytes of the class.
func (c *class) runs(text string, s span) iter.Seq[span] {
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

// A prefixSet says which bytes can stand at each of the first positions of a match,
// for each position independently of the others.
type prefixSet struct {
	positions [256]uint8 // byte → the positions at which it can stand, as bits
	length    int        // the number of positions that are known; every match is at least as long
}

const maxPrefix = 8 // the number of bits in positions

// newPrefixSet returns the prefixSet of the matches of re.
func newPrefixSet(re *syntax.Regexp) *prefixSet {
	h := &prefixSet{}
	ends := h.walk(re, 1)
	for h.length < maxPrefix && ends>>h.length&1 == 0 {
		h.length++
	}
	return h
}

// walk adds the bytes of the matches of re that begin at one of the positions starts,
// and returns the positions at which they can end. Positions beyond maxPrefix are
// ignored.
func (h *prefixSet) walk(re *syntax.Regexp, starts uint16) (ends uint16) {
	switch re.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		for _, c := range characters(re) {
			starts = h.add(&c, starts)
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
	return starts // an expression without width
}

// repeat is walk for any number of consecutive matches of re.
func (h *prefixSet) repeat(re *syntax.Regexp, starts uint16) (ends uint16) {
	for ends != starts {
		ends, starts = starts, starts|h.walk(re, starts)
	}
	return ends
}

// add adds a character of the class c at positions, and returns the positions after it.
func (h *prefixSet) add(c *class, positions uint16) uint16 {
	if positions == 0 {
		return 0
	}
	for b := range h.positions {
		if c.has(byte(b)) {
			h.positions[b] |= uint8(positions)
		}
	}
	after := positions << 1
	if c.has(utf8.RuneSelf) { // a character of two or more bytes, or an invalid byte
		for range utf8.UTFMax - 1 {
			for b := utf8.RuneSelf; b < len(h.positions); b++ {
				h.positions[b] |= uint8(after)
			}
			after |= after << 1
		}
	}
	return after & (1<<(maxPrefix+1) - 1)
}

// in reports whether a match can begin somewhere in s.
func (h *prefixSet) in(s string) bool { return h.length == 0 || h.next(s, 0) >= 0 }

// next returns the first position in s, from or later, where a match can begin, or -1.
// h.length must not be 0.
func (h *prefixSet) next(s string, from int) int {
	last := uint8(1) << (h.length - 1)
	positions := uint8(0) // the last bytes can be the first bytes of a match up to these positions
	for i := from; i < len(s); i++ {
		positions = (positions<<1 | 1) & h.positions[s[i]]
		if positions&last != 0 {
			return i - h.length + 1
		}
	}
	return -1
}

// candidates returns the positions in s where matches can begin, followed by zeros. few
// is false if there are more positions than fit, or if one does not follow an ASCII
// character.
func (h *prefixSet) candidates(s string) (places [4]int, few bool) {
	if h.length == 0 {
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

// mayBegin reports whether a match can begin at the start of s.
func (h *prefixSet) mayBegin(s string) bool {
	if len(s) < h.length {
		return false
	}
	for i := range h.length {
		if h.positions[s[i]]>>i&1 == 0 {
			return false
		}
	}
	return true
}
