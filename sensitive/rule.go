package sensitive

import (
	"cmp"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// wholeMatch, as the group of a rule, ignores the groups of its pattern.
const wholeMatch = -1

// A rule finds one kind of secret or personal data.
type rule struct {
	kind     string
	keywords []string // lower case; one of them is part of every match. None: the whole text is searched
	pattern  string
	group    int     // the group of pattern that is the value itself; 0: the first that is not empty, or else the whole match
	entropy  float64 // the entropy that the value must exceed, in bits per byte
	allow    []*allowlist
	generic  bool // the kinds of other rules are more specific
	personal bool

	// anchored rules match only at the start of a keyword, which is much faster. The
	// text before the keyword is checked by refine. If the keyword is the end of a
	// name, the whole name counts as part of the match for allowlists.
	anchored    bool
	atWordStart bool // keywords count only if no letter or digit precedes them

	// token rules match a token as a service issues it: a match counts only if it begins
	// and ends where the alphabet does (token.go).
	token bool

	// proof, if set, is a checksum. A value that has it is accepted even if it looks like
	// an example; one without it may be accepted all the same.
	proof func(value string) bool

	// plausible, if set, is a cheap check of a window. False means that there is no
	// match in it that refine accepts.
	plausible func(window string) bool

	// random rules find only values that look random.
	random bool

	// The values of openEnded rules end at white space or a quotation mark. The value is
	// the end of the pattern, which matches only the start of the value.
	openEnded bool

	// read, if set, returns the values in a window, which begins at a keyword. The rule has
	// no pattern, and is anchored.
	read func(text string, window span) []span

	// reach is how far a match can extend before or after the start of a keyword, in
	// bytes; 0: computed from the pattern.
	reach int

	// refine, if set, returns the part of text[s.start:s.end] that is the value, or
	// an empty span if there is none. It may read the text around it.
	refine func(text string, s span) span

	// Set by prepare; computed on the first call.
	compiled          func() *regexp.Regexp
	compiledAfterChar func() *regexp.Regexp // the pattern with one more character before it, anchored to the start
	info              func() *patternInfo
}

// A patternInfo is what the pattern of a rule says about its matches.
type patternInfo struct {
	reach     int        // as in rule
	unbounded bool       // a match can be of any length
	prefilter prefilter  // if it does not pass, there is no match in a window
	prefixes  *prefixSet // possible starts of a match; of an anchored rule, at the start of a window
	sequence  sequence   // what the pattern matches, if it is one; only of anchored rules
	around    sequence   // the same, of others that have their only keyword in each match at
	lead      int        // this position
	end       class      // the class of the bytes with which matches end
	endsFixed bool       // matches end with a part of a fixed length
	within    *class     // the class of all bytes of every match; nil if that would not narrow the search
	fixed     bool       // all matches have the same length
	most      int        // length of the longest match; 0 if a token of the rule can be within any sequence of its alphabet
	encoded   bool       // every match is within a long run of characters of base64
}

// mayMatch is a cheap check of a window. False means that there is no match in it that
// the rule accepts.
func (r *rule) mayMatch(window string) bool {
	f := r.info()
	if !r.anchored {
		return f.prefilter.in(window) && f.prefixes.in(window) && (r.plausible == nil || r.plausible(window))
	}
	// Windows of anchored rules overlap. In long windows the prefilter would take longer
	// than the expression takes to fail.
	const long = 512
	return f.prefixes.mayBegin(window) && (r.plausible == nil || r.plausible(window)) &&
		(len(window) > long || f.prefilter.in(window))
}

// defaultReach is the reach of an expression whose matches can have any length. It is
// enough for the text before a token, since windows end at white space and so never
// within a token.
const defaultReach = 1024

// prepare sets the functions of the rule that are computed on first use.
func (r *rule) prepare() {
	pattern := r.pattern
	if r.anchored {
		pattern = `\A(?:` + pattern + `)`
	}
	r.compiled = lazily(pattern)
	r.compiledAfterChar = lazily(`\A(?s:.)(?:` + r.pattern + `)`)
	r.info = sync.OnceValue(func() *patternInfo {
		f := &patternInfo{reach: cmp.Or(r.reach, defaultReach), unbounded: true, prefixes: &prefixSet{}}
		parsed, err := syntax.Parse(r.pattern, syntax.Perl)
		if err != nil {
			return f // compiled panics
		}
		most := longest(parsed)
		f.reach, f.unbounded = cmp.Or(r.reach, min(most, defaultReach)), r.openEnded || most == math.MaxInt32
		f.prefilter, f.prefixes = newPrefilter(parsed, r.keywords), newPrefixSet(parsed)
		f.end, f.endsFixed = endAlphabet(parsed), endsFixed(parsed)
		if r.anchored && r.group == wholeMatch {
			f.sequence = newSequence(parsed)
		}
		if !r.anchored && r.group == 0 && len(r.keywords) == 1 {
			f.around, f.lead = newSequence(parsed), leadOf(parsed, r.keywords[0])
		}
		all := classOf(parsed)
		if !all.class.has(' ') && !looksAround(parsed) {
			f.within = &all.class
		}
		f.fixed = all.min == most
		alphabet := all.class
		alphabet['='>>6] &^= 1 << ('=' & 63) // which may end a token
		if r.token && most < math.MaxInt32 && base64Bytes.includes(alphabet) {
			f.most = most
		}
		f.encoded = all.min >= minEncoded && encodedBytes.includes(all.class)
		return f
	})
}

// longest returns the length of the longest match of re, in bytes, for ASCII
// characters. math.MaxInt32 means any length.
func longest(re *syntax.Regexp) int {
	const most = math.MaxInt32
	sum := 0
	switch re.Op {
	case syntax.OpLiteral:
		return len(string(re.Rune))
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpStar, syntax.OpPlus:
		return most
	case syntax.OpRepeat:
		if re.Max < 0 {
			return most
		}
		return min(most, re.Max*longest(re.Sub[0]))
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			sum = max(sum, longest(sub))
		}
	default:
		for _, sub := range re.Sub {
			sum = min(most, sum+longest(sub))
		}
	}
	return sum
}

// leadOf returns the length of what precedes a word in each match of re, if it is fixed, or else 0.
func leadOf(re *syntax.Regexp, word string) int {
	lead := 0
	if re.Op != syntax.OpConcat {
		return 0
	}
	for _, sub := range re.Sub {
		if sub.Op == syntax.OpLiteral && strings.ToLower(string(sub.Rune)) == word {
			return lead
		}
		all := classOf(sub)
		if all.class.has(utf8.RuneSelf) || longest(sub) != all.min {
			return 0
		}
		lead += all.min
	}
	return 0
}

// matchStart returns the indexes of the match, and of its groups, that begins at the start
// of window, or nil. The rule is anchored.
func (r *rule) matchStart(window string) []int {
	if s := r.info().sequence; s != nil {
		if end := s.match(window); end > 0 {
			return []int{0, end}
		}
		return nil
	}
	return r.compiled().FindStringSubmatchIndex(window)
}

// value returns the span of the value in a match. match has the indexes of its groups.
func (r *rule) value(match []int) span {
	if r.group > 0 {
		return span{match[2*r.group], match[2*r.group+1]}
	}
	if r.group == 0 {
		for i := 2; i < len(match); i += 2 {
			if match[i] >= 0 && match[i] < match[i+1] {
				return span{match[i], match[i+1]}
			}
		}
	}
	return span{match[0], match[1]}
}

// accepts checks a match by entropy, allowlists and the words of placeholders.
func (r *rule) accepts(text string, match, value span) bool {
	found := text[value.start:value.end]
	proven := r.proof != nil && r.proof(found)
	if r.entropy > 0 && entropy(found) <= r.entropy && !proven {
		return false
	}
	for _, a := range r.allow {
		if a.allows(text, match, found) {
			return false
		}
	}
	return r.personal || proven || !isPlaceholder(found)
}

// An allowlist lists exceptions from a rule.
type allowlist struct {
	all      bool                    // all of patterns and words must apply, rather than one
	target   string                  // of the patterns: "match", "line", or the value itself
	patterns func() []*regexp.Regexp // nil: none
	words    func() *keywords        // in the value; nil: none
}

func (a *allowlist) allows(text string, match span, found string) bool {
	target := found
	switch a.target {
	case "match":
		target = text[match.start:match.end]
	case "line":
		target = lineAround(text, match)
	}
	pattern, word := false, false
	if a.patterns != nil {
		pattern = slices.ContainsFunc(a.patterns(), func(p *regexp.Regexp) bool { return p.MatchString(target) })
	}
	if a.words != nil {
		word = a.words().in(found)
	}
	if a.all {
		return (pattern || a.patterns == nil) && (word || a.words == nil)
	}
	return pattern || word
}

// lineAround returns the lines that s is on, up to 1 KiB on each side, so that the cost
// is bounded also on a very long line.
func lineAround(text string, s span) string {
	const most = 1 << 10
	before := text[max(0, s.start-most):s.start]
	after := text[s.end:min(len(text), s.end+most)]
	start := s.start - len(before) + strings.LastIndexByte(before, '\n') + 1
	if i := strings.IndexByte(after, '\n'); i >= 0 {
		return text[start : s.end+i]
	}
	return text[start : s.end+len(after)]
}

// entropy returns the Shannon entropy of the bytes of s, in bits per byte.
func entropy(s string) float64 {
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	sum := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}
