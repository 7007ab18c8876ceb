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
}

func newEngine(rules []*rule, personal bool) *engine {
	e := &engine{}
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
// nothing that overlaps with a placeholder. Only what is found near changed, if
// not nil, is sure to be returned.
func (e *engine) find(text string, changed []span) []memento.Finding {
	holes := placeholders(text)
	windows := e.windows(text, holes)
	if windows == nil {
		return nil
	}
	var found []candidate
	for i, r := range e.rules {
		for _, w := range r.cut(text, windows[i]) {
			if changed == nil || slices.ContainsFunc(changed, w.overlaps) {
				found = r.search(found, text, w)
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	found = slices.DeleteFunc(found, func(c candidate) bool {
		return slices.ContainsFunc(holes, c.overlaps)
	})
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
		if n := len(w); n > 0 && s.start <= w[n-1].end && !e.rules[rule].anchored {
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
			s := span{start, min(len(text), start+reach)}
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
		w = span{wordStart(text, w.start), runEnd(text, w.end, "")}
		if n := len(joined) - 1; n >= 0 && w.start <= joined[n].end {
			joined[n].end = max(joined[n].end, w.end)
			continue
		}
		joined = append(joined, w)
	}
	return joined
}

func wordStart(text string, i int) int {
	for least := max(0, i-maxToken); i > least && !isSpace(text[i-1]); {
		i--
	}
	return characterStart(text, i)
}

// runEnd returns where white space, or one of stop, follows i.
func runEnd(text string, i int, stop string) int {
	for most := min(len(text), i+maxToken); i < most && !isSpace(text[i]) && strings.IndexByte(stop, text[i]) < 0; {
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

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// search appends what the rule finds in a window of text.
func (r *rule) search(found []candidate, text string, w span) []candidate {
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
	if r.anchored {
		match.start = nameStart(text, match.start)
	}
	if thing.start >= thing.end {
		return found
	}
	refined := thing
	if r.refine != nil { // before accepts, since it is cheaper
		refined = r.refine(text, thing)
	}
	if _, open := r.extent(); r.anchored && open && refined.end == w.end {
		refined.end = runEnd(text, w.end, "\"'`<>")
	}
	if refined.start < refined.end && r.accepts(text, match, thing) {
		found = append(found, candidate{refined, r})
	}
	return found
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
