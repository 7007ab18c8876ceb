package sensitive

import (
	"cmp"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
)

// A rule finds one kind of thing.
type rule struct {
	kind     string
	keywords []string // lower case; one of them is part of every match. None: the whole text is searched
	pattern  string
	group    int     // of pattern, which is the thing itself; 0: the first that is not empty, or else all
	entropy  float64 // which the thing must exceed, in bits a byte
	allow    []*allowlist
	vague    bool // what it finds may be better known to other rules
	personal bool

	// anchored rules match only where a keyword begins, which is much faster. What
	// is before the keyword is for refine to check; a name that the keyword is the
	// end of counts as part of the match for allowlists.
	anchored bool
	separate bool // keywords count only where no letter or digit is before them

	// named rules match what a name with a keyword in it is given; the whole name
	// counts as part of the match too, though the pattern leaves out its beginning.
	named bool

	// plausible, if set, tells cheaply of a window whether the pattern can match what
	// refine accepts; false means that it cannot.
	plausible func(window string) bool

	// open rules have things that end at white space or a quotation mark; the pattern,
	// which they are the end of, matches only how they begin.
	open bool

	// reach is how far a match can go before or after the beginning of a keyword,
	// in bytes; 0: as the pattern says.
	reach int

	// refine, if set, returns the part of text[s.start:s.end] that is the thing, or
	// an empty span if it is none. It may look at the text around.
	refine func(text string, s span) span

	// They are set by prepare, and do their work when they are first called.
	compiled func() *regexp.Regexp
	behind   func() *regexp.Regexp // matches where one character precedes the match, which is the first
	form     func() *form
}

// A form is what the pattern of a rule says of its matches.
type form struct {
	reach     int       // as in rule
	unbounded bool      // a match can be of any length
	needs     necessity // which a window has, or else there is no match in it
	head      *head     // which is in a window, or else there is none; an anchored rule's is where the window begins
	within    *class    // which all of every match is of, in a text that has other bytes too; nil if that does not help
}

// mayMatch tells of a window whether the pattern can match in it what the rule
// accepts; false means that it cannot.
func (r *rule) mayMatch(window string) bool {
	f := r.form()
	if !r.anchored {
		return f.needs.in(window) && f.head.in(window) && (r.plausible == nil || r.plausible(window))
	}
	// Windows of anchored rules overlap: in long ones, a search for what is rare
	// would take longer than the expression does to fail.
	const long = 512
	return f.head.mayBegin(window) && (r.plausible == nil || r.plausible(window)) &&
		(len(window) > long || f.needs.in(window))
}

// What an expression without a longest match is given: enough for what precedes
// a token, since windows end at white space, and so never within a token.
const defaultReach = 1024

// prepare makes the rule ready for use.
func (r *rule) prepare() {
	pattern := r.pattern
	if r.anchored {
		pattern = `\A(?:` + pattern + `)`
	}
	r.compiled = lazily(pattern)
	r.behind = lazily(`\A(?s:.)(?:` + r.pattern + `)`)
	r.form = sync.OnceValue(func() *form {
		f := &form{reach: cmp.Or(r.reach, defaultReach), unbounded: true, head: &head{}}
		parsed, err := syntax.Parse(r.pattern, syntax.Perl)
		if err != nil {
			return f // compiled panics
		}
		most := longest(parsed)
		f.reach, f.unbounded = cmp.Or(r.reach, min(most, defaultReach)), r.open || most == math.MaxInt32
		f.needs, f.head = necessary(parsed, r.keywords), headOf(parsed)
		if all := whole(parsed).class; !all.has(' ') && !looksAround(parsed) {
			f.within = &all
		}
		return f
	})
}

// longest returns the length of the longest match of re, in bytes, if its
// characters are ASCII.
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

// thing returns the span of the thing in a match, by the indexes of its groups.
func (r *rule) thing(match []int) span {
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

// accepts reports whether what the expression matched is what the rule is for.
func (r *rule) accepts(text string, match, thing span) bool {
	found := text[thing.start:thing.end]
	if r.entropy > 0 && entropy(found) <= r.entropy {
		return false
	}
	for _, a := range r.allow {
		if a.allows(text, match, found) {
			return false
		}
	}
	return r.personal || !isPlaceholder(found)
}

// An allowlist has exceptions from a rule.
type allowlist struct {
	all      bool                    // all of patterns and words must apply, rather than one
	target   string                  // of the patterns: "match", "line", or the thing itself
	patterns func() []*regexp.Regexp // nil: none
	words    func() *keywords        // in the thing; nil: none
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

// lineAround returns the lines that s is on, up to some distance from it, so that
// it costs no more on a line that is all of a long text.
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

// entropy returns the bits of information in a byte of s, by how often each
// occurs (Shannon).
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
