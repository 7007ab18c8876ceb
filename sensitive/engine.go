package sensitive

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"memento"
)

// An engine applies rules to texts.
type engine struct {
	rules    []*rule
	keywords *keywords
	lengths  []int     // of the keywords
	users    [][]int32 // keyword → the rules that have it
	always   []int32   // rules without keywords
	kinds    map[string]bool

	searches sync.Pool // of *search
}

// newEngine returns one for rules, those for personal data only if so said. Kinds
// are those that placeholders can have.
func newEngine(rules []*rule, kinds map[string]bool, personal bool) *engine {
	e := &engine{kinds: kinds}
	var words []string
	index := map[string]int{}
	for _, r := range rules {
		if r.personal && !personal {
			continue
		}
		n := int32(len(e.rules))
		e.rules = append(e.rules, r)
		if len(r.keywords) == 0 {
			e.always = append(e.always, n)
		}
		for _, w := range r.keywords {
			i, known := index[w]
			if !known {
				i = len(words)
				index[w] = i
				words = append(words, w)
				e.lengths = append(e.lengths, len(w))
				e.users = append(e.users, nil)
			}
			e.users[i] = append(e.users[i], n)
		}
	}
	e.keywords = newKeywords(words)
	return e
}

// A candidate is something found by a rule, which may overlap with others.
type candidate struct {
	span
	rule *rule
}

// A search is what the engine needs while it looks through a text, kept for the next.
type search struct {
	lanes   lanes
	windows [][]span // rule → where it must be searched for
	touched []int32  // rules that have windows
}

func (e *engine) newSearch() *search {
	if s, ok := e.searches.Get().(*search); ok {
		return s
	}
	return &search{windows: make([][]span, len(e.rules))}
}

// done keeps s for another text, unless it has grown with a large one.
func (e *engine) done(s *search) {
	const most = 1 << 10 // windows of a rule
	for _, rule := range s.touched {
		if cap(s.windows[rule]) > most {
			s.windows[rule] = nil
		}
		s.windows[rule] = s.windows[rule][:0]
	}
	s.touched = s.touched[:0]
	e.searches.Put(s)
}

// find returns what the rules find in text, in order and without overlaps, but
// nothing that overlaps with a placeholder. With again, only what is near a
// placeholder is sure to be returned.
func (e *engine) find(text string, again bool) []memento.Finding {
	text, dress := e.undress(text)
	holes := e.placeholders(text)
	s := e.newSearch()
	defer e.done(s)
	e.windows(s, text, holes)
	if len(s.touched) == 0 {
		return nil
	}
	near := []span{{0, len(text)}}
	if again {
		near = around(text, holes)
	}
	slices.Sort(s.touched)
	var found []candidate
	for _, i := range s.touched {
		r := e.rules[i]
		found = r.searchAll(found, text, r.cut(text, s.windows[i]), near)
	}
	found = slices.DeleteFunc(found, func(c candidate) bool { return len(overlapping(holes, c.span)) > 0 })
	if len(found) == 0 {
		return nil
	}
	for i := range found {
		found[i].span = dress.cover(found[i].span)
	}
	return settle(found)
}

// add notes that a rule must be searched for in s.
func (s *search) add(rule int32, w span, anchored bool) {
	windows := s.windows[rule]
	n := len(windows)
	if n == 0 {
		s.touched = append(s.touched, rule)
	} else if last := &windows[n-1]; w.start == last.start || w.start <= last.end && !anchored {
		last.end = max(last.end, w.end)
		return
	}
	s.windows[rule] = append(windows, w)
}

// windows notes in s, for each rule, where in text it must be searched for. Keywords
// in holes do not count.
func (e *engine) windows(s *search, text string, holes []span) {
	const block = 16 << 10 // which bounds what the hits take
	for from := 0; from < len(text); from += block {
		e.keywords.find(text, from, min(len(text), from+block), &s.lanes)
		for _, hits := range s.lanes {
			for _, h := range hits {
				for _, word := range e.keywords.ended(h) {
					start := h.end - e.lengths[word]
					for len(holes) > 0 && holes[0].end <= start {
						holes = holes[1:]
					}
					if len(holes) == 0 || h.end <= holes[0].start {
						e.window(s, text, start, word)
					}
				}
			}
		}
	}
	for _, rule := range e.always {
		s.add(rule, span{0, len(text)}, false)
	}
}

// window notes in s where in text the rules must be searched for that have the word
// at start.
func (e *engine) window(s *search, text string, start int, word int32) {
	inWord := start > 0 && (isLetter(text[start-1]) || isDigit(text[start-1]))
	for _, rule := range e.users[word] {
		r := e.rules[rule]
		if r.separate && inWord {
			continue
		}
		reach := r.form().reach
		w := span{start, min(len(text), start+reach+utf8.UTFMax)} // so that the end is behind all matches
		if !r.anchored {
			w.start = max(0, start-reach)
		} else if w.end = characterStart(text, w.end); !r.mayMatch(text[w.start:w.end]) {
			continue
		}
		s.add(rule, w, r.anchored)
	}
}

// quotes are what ends a thing, apart from white space.
const quotes = "\"'`<>"

// maxToken bounds how far a window is widened to end at white space.
const maxToken = 16 << 10

// cut widens windows so that they begin and end where words do: there, a boundary
// or an end in an expression means in the window what it means in the text. It
// changes windows. Those of anchored rules are many, and stay as they are; a match
// that reaches the end of one is widened instead.
func (r *rule) cut(text string, windows []span) []span {
	if r.anchored {
		return windows
	}
	joined := windows[:0]
	for _, w := range windows {
		last := span{-1, -1}
		if n := len(joined) - 1; n >= 0 {
			last = joined[n]
		}
		w.start = wordStart(text, w.start, last.end)
		w.end = runEnd(text, max(w.end, last.end), w.end+maxToken, "")
		if w.start <= last.end {
			joined[len(joined)-1].end = w.end
			continue
		}
		joined = append(joined, w)
	}
	return joined
}

// wordStart returns where what is at i begins, or least, if that is later.
func wordStart(text string, i, least int) int {
	for least := max(0, least, i-maxToken); i > least && !isSpace(text[i-1]); {
		i--
	}
	return characterStart(text, i)
}

// runEnd returns where white space, or one of stop, follows i, or most, if that is
// earlier.
func runEnd(text string, i, most int, stop string) int {
	for most = min(len(text), most); i < most && !isSpace(text[i]) && strings.IndexByte(stop, text[i]) < 0; {
		i++
	}
	return characterStart(text, i)
}

// characterStart returns where the character with the byte at i begins.
func characterStart(text string, i int) int {
	for back := range utf8.UTFMax {
		if i-back <= 0 || i == len(text) {
			break
		}
		if utf8.RuneStart(text[i-back]) {
			return i - back
		}
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

// searchAll appends what the rule finds in those windows of text that overlap with
// a part of near.
func (r *rule) searchAll(found []candidate, text string, windows, near []span) []candidate {
	before := len(found)
	for _, w := range windows {
		// What is within a finding of the same rule makes it no longer.
		if n := len(found); n > before && r.anchored && w.end <= found[n-1].end {
			continue
		}
		if len(overlapping(near, w)) > 0 {
			found = r.search(found, text, w)
		}
	}
	return found
}

// search appends what the rule finds in a window of text.
func (r *rule) search(found []candidate, text string, w span) []candidate {
	if r.anchored { // and so window has asked whether there may be a match
		if m := r.compiled().FindStringSubmatchIndex(text[w.start:w.end]); m != nil {
			return r.judge(found, text, w, w.start, m)
		}
		return found
	}
	if !r.mayMatch(text[w.start:w.end]) {
		return found
	}
	within := r.form().within
	if within == nil {
		return r.searchPart(found, text, w, w)
	}
	for part := range within.parts(text, w) {
		if r.mayMatch(text[part.start:part.end]) {
			found = r.searchPart(found, text, w, part)
		}
	}
	return found
}

// searchPart appends what the rule finds in a part of the window w. If there are few
// places where a match can begin, the expression is tried there rather than at each
// character. (If there are many, that would take the longer the more can follow.)
func (r *rule) searchPart(found []candidate, text string, w, part span) []candidate {
	s := text[part.start:part.end]
	starts, few := r.form().head.starts(s)
	if !few {
		for _, m := range r.compiled().FindAllStringSubmatchIndex(s, -1) {
			found = r.judge(found, text, w, part.start, m)
		}
		return found
	}
	end := 0 // of the match before
	for _, start := range starts {
		if start < max(end, 1) {
			continue
		}
		if m := r.behind().FindStringSubmatchIndex(s[start-1:]); m != nil {
			end = start - 1 + m[1]
			m[0]++
			found = r.judge(found, text, w, part.start+start-1, m)
		}
	}
	return found
}

// judge appends what the expression matched in the window w, at the indexes m from
// start on, if it is what the rule is for.
func (r *rule) judge(found []candidate, text string, w span, start int, m []int) []candidate {
	for i := range m {
		if m[i] >= 0 {
			m[i] += start
		}
	}
	match, thing := span{m[0], m[1]}, r.thing(m)
	if r.open && strings.IndexByte(quotes, text[thing.end-1]) < 0 {
		thing.end = runEnd(text, thing.end, w.end, quotes)
		match.end = thing.end
	}
	if r.anchored || r.named {
		match.start = nameStart(text, match.start)
	}
	if thing.start >= thing.end {
		return found
	}
	refined := thing
	if r.refine != nil { // before accepts, since it is cheaper
		refined = r.refine(text, thing)
	}
	if refined.start >= refined.end || !r.accepts(text, match, thing) {
		return found
	}
	if r.anchored && refined.end == w.end && r.form().unbounded {
		refined.end = runEnd(text, w.end, w.end+maxToken, quotes)
	}
	return append(found, candidate{refined, r})
}

// nameStart returns where the name begins that goes on at i.
func nameStart(text string, i int) int {
	const longest = 50
	start := i
	for start > 0 && i-start < longest && isNameByte(text[start-1]) {
		start--
	}
	return start
}

func isNameByte(c byte) bool {
	return isLetter(c) || isDigit(c) || c == '_' || c == '-' || c == '.'
}

// settle sorts candidates and joins those that overlap. The kind is that of the
// rule that knows best.
func settle(found []candidate) []memento.Finding {
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.start, b.start) })
	joined := found[:0]
	for _, c := range found {
		n := len(joined) - 1
		if n < 0 || !joined[n].overlaps(c.span) {
			joined = append(joined, c)
			continue
		}
		last := &joined[n]
		if last.rule.rank() > c.rule.rank() {
			last.rule = c.rule
		}
		last.end = max(last.end, c.end)
	}
	findings := make([]memento.Finding, len(joined))
	for i, c := range joined {
		findings[i] = memento.Finding{Kind: c.rule.kind, Start: c.start, End: c.end}
	}
	return findings
}

// rank orders rules by how much is known once they match; the least knows best.
func (r *rule) rank() int {
	switch {
	case r.personal:
		return 3
	case r.kind == "generic-secret":
		return 2
	case r.vague:
		return 1
	}
	return 0
}
