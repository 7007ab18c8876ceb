package sensitive

import (
	"cmp"
	"slices"
	"strings"
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

// find returns what the rules find in text, in order and without overlaps, but
// nothing that overlaps with a placeholder. With again, only what is near a
// placeholder is sure to be returned.
func (e *engine) find(text string, again bool) []memento.Finding {
	text, dress := e.undress(text)
	holes := e.placeholders(text)
	windows := e.windows(text, holes)
	if windows == nil {
		return nil
	}
	near := []span{{0, len(text)}}
	if again {
		near = around(text, holes)
	}
	var found []candidate
	for i, r := range e.rules {
		found = r.searchAll(found, text, r.cut(text, windows[i]), near)
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

// windows returns, for each rule, where in text it must be searched for; nil if
// nowhere. Keywords in holes do not count.
func (e *engine) windows(text string, holes []span) [][]span {
	var windows [][]span
	add := func(rule int32, s span) {
		if windows == nil {
			windows = make([][]span, len(e.rules))
		}
		w := windows[rule]
		if n := len(w); n > 0 && (s.start == w[n-1].start || s.start <= w[n-1].end && !e.rules[rule].anchored) {
			w[n-1].end = max(w[n-1].end, s.end)
			return
		}
		windows[rule] = append(w, s)
	}
	for end, word := range e.keywords.in(text) {
		start := end - e.lengths[word]
		for len(holes) > 0 && holes[0].end <= start {
			holes = holes[1:]
		}
		if len(holes) > 0 && holes[0].start < end {
			continue
		}
		for _, rule := range e.users[word] {
			r := e.rules[rule]
			if r.separate && start > 0 && (isLetter(text[start-1]) || isDigit(text[start-1])) {
				continue
			}
			reach, _ := r.extent()
			s := span{start, min(len(text), start+reach+utf8.UTFMax)} // so that the end is behind all matches
			if !r.anchored {
				s.start = max(0, start-reach)
			}
			add(rule, s)
		}
	}
	for _, rule := range e.always {
		add(rule, span{0, len(text)})
	}
	return windows
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
		for i := range windows {
			windows[i].end = characterStart(text, windows[i].end)
		}
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
	if r.plausible != nil && !r.plausible(text[w.start:w.end]) {
		return found
	}
	if !r.anchored {
		for _, m := range r.compiled().FindAllStringSubmatchIndex(text[w.start:w.end], -1) {
			found = r.judge(found, text, w, m)
		}
		return found
	}
	if m := r.compiled().FindStringSubmatchIndex(text[w.start:w.end]); m != nil {
		return r.judge(found, text, w, m)
	}
	return found
}

// judge appends what the expression matched in the window w, at the indexes m, if
// it is what the rule is for.
func (r *rule) judge(found []candidate, text string, w span, m []int) []candidate {
	for i := range m {
		if m[i] >= 0 {
			m[i] += w.start
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
	if _, open := r.extent(); r.anchored && open && refined.end == w.end {
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
