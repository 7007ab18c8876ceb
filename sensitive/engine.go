package sensitive

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"memento"
	"memento/internal/placeholder"
)

// An engine applies rules to texts.
type engine struct {
	rules    []*rule
	keywords *keywords
	rulesOf  [][]int32 // keyword → the rules that have it
	always   []int32   // rules without keywords
	kinds    map[string]bool
	splits   map[string]bool // kinds of what is also found split over lines

	searches sync.Pool // of *search
}

// newEngine returns an engine for rules; those for personal data are included only if
// personal is set. kinds are the kinds that placeholders can name.
func newEngine(rules []*rule, kinds map[string]bool, personal bool) *engine {
	e := &engine{kinds: kinds, splits: map[string]bool{}}
	var words []keyword
	index := map[string]int{}
	for _, r := range rules {
		if r.personal && !personal {
			continue
		}
		n := int32(len(e.rules))
		e.rules = append(e.rules, r)
		if r.isFoundSplit() {
			e.splits[r.kind] = true
		}
		if len(r.keywords) == 0 {
			e.always = append(e.always, n)
		}
		for _, w := range r.keywords {
			i, known := index[w]
			if !known {
				i = len(words)
				index[w] = i
				words = append(words, r.keyword(w))
				e.rulesOf = append(e.rulesOf, nil)
			} else {
				words[i].join(r.keyword(w))
			}
			e.rulesOf[i] = append(e.rulesOf[i], n)
		}
	}
	e.keywords = newKeywordFinder(words)
	return e
}

// keyword returns one of the rule's keywords, with what must be around it.
func (r *rule) keyword(text string) keyword {
	w := keyword{text: text, before: anyByte}
	if r.atWordStart {
		w.before &^= alphanumeric.byteClasses()
	}
	const short = 3 // the bytes of longer keywords are enough
	if r.anchored && r.read == nil && len(text) <= short {
		prefixes := r.info().prefixes
		w.at = make([]byteClasses, prefixes.length)
		for b, positions := range prefixes.positions {
			for i := range w.at {
				w.at[i] |= byteClasses(positions>>i&1) << byteClassOf[b]
			}
		}
	}
	return w
}

// join adds what can be around the same word in v.
func (w *keyword) join(v keyword) {
	w.before |= v.before
	w.at = w.at[:min(len(w.at), len(v.at))]
	for i := range w.at {
		w.at[i] |= v.at[i]
	}
}

// A candidate is a finding of one rule. Candidates may overlap.
type candidate struct {
	span
	rule *rule
}

// A search is the working memory of one search, reused for the next.
type search struct {
	windows          [][]span // rule → the parts of the text to search with it
	rulesWithWindows []int32  // rules that have windows
	encoded          []span   // long runs of characters of base64
	random           []span   // words that look random, if randomKnown
	randomKnown      bool
}

func (e *engine) newSearch() *search {
	if s, ok := e.searches.Get().(*search); ok {
		return s
	}
	return &search{windows: make([][]span, len(e.rules))}
}

// done releases s for the next search, without windows that have grown large.
func (e *engine) done(s *search) {
	const most = 1 << 10 // windows of a rule
	for _, rule := range s.rulesWithWindows {
		if cap(s.windows[rule]) > most {
			s.windows[rule] = nil
		}
		s.windows[rule] = s.windows[rule][:0]
	}
	s.rulesWithWindows, s.randomKnown = s.rulesWithWindows[:0], false
	e.searches.Put(s)
}

// find returns the findings of the rules in text, in order and without overlaps, except
// those that overlap with a placeholder. With again, findings that are not near a
// placeholder may be left out.
func (e *engine) find(text string, again bool) []memento.Finding {
	return e.findWith(text, again, false)
}

// findWith is find with all rules, or only with those for what is also found split over lines.
func (e *engine) findWith(text string, again, splits bool) []memento.Finding {
	var dress *bracketMap
	var holes []span
	if strings.Contains(text, placeholder.Start) {
		text, dress = e.stripBrackets(text)
		holes = e.placeholders(text)
	}
	s := e.newSearch()
	defer e.done(s)
	s.encoded = encodedRun.all(s.encoded[:0], text)
	e.windows(s, text, holes)
	found := append(e.encoded(text, s.encoded), e.split(text)...)
	if len(s.rulesWithWindows) == 0 && len(found) == 0 {
		return nil
	}
	near := []span{{0, len(text)}}
	if again {
		near = linesAround(text, holes)
	}
	slices.Sort(s.rulesWithWindows)
	for _, i := range s.rulesWithWindows {
		if r := e.rules[i]; !splits || r.isFoundSplit() {
			found = r.searchAll(found, text, r.widen(text, r.inOrder(s.windows[i])), near)
		}
	}
	return e.findings(text, found, holes, dress)
}

// findings returns the findings that candidates in text are, except those that overlap with
// holes. dress maps text to the original text.
func (e *engine) findings(text string, found []candidate, holes []span, dress *bracketMap) []memento.Finding {
	found = slices.DeleteFunc(found, func(c candidate) bool { return len(overlapping(holes, c.span)) > 0 })
	if len(found) == 0 {
		return nil
	}
	found = append(found, e.continued(text, found)...)
	for i := range found {
		found[i].span = dress.originalSpan(found[i].span)
	}
	return mergeFindings(found)
}

// add notes that a rule must be searched for in s.
func (s *search) add(rule int32, w span, anchored bool) {
	windows := s.windows[rule]
	n := len(windows)
	if n == 0 {
		s.rulesWithWindows = append(s.rulesWithWindows, rule)
	} else if windows[n-1].joins(w, anchored) {
		windows[n-1].end = max(windows[n-1].end, w.end)
		return
	}
	s.windows[rule] = append(windows, w)
}

// joins reports whether w, a window of the same rule, is searched together with s. Those of
// anchored rules are if they begin at the same keyword, others if they overlap.
func (s span) joins(w span, anchored bool) bool {
	return w.start == s.start || !anchored && s.start <= w.start && w.start <= s.end
}

// inOrder returns the windows of a rule in order. The keywords are found nearly in order.
func (r *rule) inOrder(windows []span) []span {
	byStart := func(a, b span) int { return cmp.Compare(a.start, b.start) }
	if slices.IsSortedFunc(windows, byStart) {
		return windows
	}
	slices.SortFunc(windows, byStart)
	joined := windows[:1]
	for _, w := range windows[1:] {
		if last := &joined[len(joined)-1]; last.joins(w, r.anchored) {
			last.end = max(last.end, w.end)
			continue
		}
		joined = append(joined, w)
	}
	return joined
}

// windows adds to s, for each rule, the windows of text to search. Keywords in holes,
// which are placeholders, are ignored.
func (e *engine) windows(s *search, text string, holes []span) {
	e.keywords.find(text, func(word int32, start int) {
		if len(holes) == 0 || len(overlapping(holes, span{start, start + len(e.keywords.words[word])})) == 0 {
			e.window(s, text, start, word)
		}
	})
	for _, rule := range e.always {
		if !e.rules[rule].info().encoded {
			s.add(rule, span{0, len(text)}, false)
			continue
		}
		for _, w := range s.encoded {
			s.add(rule, w, false)
		}
	}
}

// window adds to s the windows around a keyword, which is at start, for all rules that
// have it.
func (e *engine) window(s *search, text string, start int, word int32) {
	inWord := start > 0 && (isLetter(text[start-1]) || isDigit(text[start-1]))
	for _, rule := range e.rulesOf[word] {
		r := e.rules[rule]
		if r.atWordStart && inWord || r.startsToken() && !r.beginsAt(text, start) {
			continue
		}
		reach := r.info().reach
		w := span{start, min(len(text), start+reach+utf8.UTFMax)} // so that the window ends after all matches
		if !r.anchored {
			w.start = max(0, start-reach)
		} else if w.end = characterStart(text, w.end); r.random && !s.hasRandom(text, w) || !r.mayMatch(text[w.start:w.end]) {
			continue
		}
		s.add(rule, w, r.anchored)
	}
}

// hasRandom reports whether w, a window of text, may have a value that looks random. The
// text is searched for such values once, since windows overlap.
func (s *search) hasRandom(text string, w span) bool {
	if !s.randomKnown {
		s.random, s.randomKnown = randomWords(s.random[:0], text), true
	}
	return len(overlapping(s.random, w)) > 0
}

// quotes end a value, as white space does.
const quotes = "\"'`<>"

// maxToken bounds how far a window is widened to end at white space.
const maxToken = 16 << 10

// widen widens windows so that they begin and end at word boundaries, where \b, ^ and $
// match in the window as they match in the text. It modifies windows. The windows of
// anchored rules are not widened, since they are many; a match that reaches the end of
// its window is widened instead.
func (r *rule) widen(text string, windows []span) []span {
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

// wordStart returns the start of the word at i, but at least least.
func wordStart(text string, i, least int) int {
	for least := max(0, least, i-maxToken); i > least && !isSpace(text[i-1]); {
		i--
	}
	return characterStart(text, i)
}

// runEnd returns the position of the first white space or byte of stop at i or later,
// but at most most.
func runEnd(text string, i, most int, stop string) int {
	for most = min(len(text), most); i < most && !isSpace(text[i]) && strings.IndexByte(stop, text[i]) < 0; {
		i++
	}
	return characterStart(text, i)
}

// characterStart returns the start of the character that has the byte at i.
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

// searchAll appends the candidates of the rule in those windows of text that overlap
// with a part of near.
func (r *rule) searchAll(found []candidate, text string, windows, near []span) []candidate {
	before := len(found)
	var run tokenRun
	for _, w := range windows {
		// A window within the last finding of this rule cannot extend it.
		if n := len(found); n > before && r.anchored && r.read == nil && w.end <= found[n-1].end {
			continue
		}
		if len(overlapping(near, w)) > 0 && !run.isExhausted(r, text, w.start) {
			n := len(found)
			found = r.search(found, text, w)
			run.tried(len(found) > n)
		}
	}
	return found
}

// search appends the candidates of the rule in a window of text.
func (r *rule) search(found []candidate, text string, w span) []candidate {
	if r.read != nil {
		return r.readAll(found, text, w)
	}
	if r.anchored { // engine.window has already called mayMatch
		if m := r.matchStart(text[w.start:w.end]); m != nil {
			return r.check(found, text, w, w.start, m)
		}
		return found
	}
	if !r.mayMatch(text[w.start:w.end]) {
		return found
	}
	f := r.info()
	if f.within == nil {
		return r.searchPart(found, text, w, w)
	}
	for part := range f.within.runs(text, w) {
		if f.most > 0 && part.end-part.start >= f.most+longEncoded && strings.IndexByte(text[part.start:part.end], '=') < 0 {
			continue // any token in it would be a part of a text in base64
		}
		if r.mayMatch(text[part.start:part.end]) {
			found = r.searchPart(found, text, w, part)
		}
	}
	return found
}

// searchPart appends the candidates of the rule in a part of the window w. If a match can
// begin at few positions only, the expression is run at these instead of at each
// character. With many positions that could take quadratic time.
func (r *rule) searchPart(found []candidate, text string, w, part span) []candidate {
	s := text[part.start:part.end]
	if f := r.info(); f.around != nil && f.lead > 0 {
		return r.searchAround(found, text, w, part)
	}
	starts, few := r.info().prefixes.candidates(s)
	if !few {
		for _, m := range r.compiled().FindAllStringSubmatchIndex(s, -1) {
			found = r.check(found, text, w, part.start, m)
		}
		return found
	}
	end := 0 // of the previous match
	for _, start := range starts {
		if start < max(end, 1) {
			continue
		}
		if m := r.compiledAfterChar().FindStringSubmatchIndex(s[start-1:]); m != nil {
			end = start - 1 + m[1]
			m[0]++
			found = r.check(found, text, w, part.start+start-1, m)
		}
	}
	return found
}

// searchAround is searchPart for rules that have a keyword at the same position in each match.
func (r *rule) searchAround(found []candidate, text string, w, part span) []candidate {
	f, s, word := r.info(), text[part.start:part.end], r.keywords[0]
	end := 0 // of the previous match
	for i := f.lead; i+len(word) <= len(s); i++ {
		start := i - f.lead
		if lower(s[i]) != word[0] || start < end || !hasPrefixFold(s[i:], word) {
			continue
		}
		if n := f.around.match(s[start:]); n > 0 {
			end = start + n
			found = r.check(found, text, w, part.start, []int{start, end})
		}
	}
	return found
}

// check appends a match of the expression in the window w if the rule accepts it. m are
// the indexes of its groups, relative to start.
func (r *rule) check(found []candidate, text string, w span, start int, m []int) []candidate {
	for i := range m {
		if m[i] >= 0 {
			m[i] += start
		}
	}
	match, value := span{m[0], m[1]}, r.value(m)
	if r.openEnded && strings.IndexByte(quotes, text[value.end-1]) < 0 {
		value.end = runEnd(text, value.end, w.end, quotes)
		match.end = value.end
	}
	if r.token {
		if value.end == w.end && r.info().unbounded {
			for value.end < min(len(text), w.end+maxToken) && r.info().end.has(text[value.end]) {
				value.end++
			}
		}
		if !r.endsToken(text, value.end) || !r.beginsAt(text, value.start) || isEncoded(text, value) {
			return found
		}
		value = r.trimToken(text, value)
	}
	if r.anchored {
		match.start = nameStart(text, match.start)
	}
	if value.start >= value.end {
		return found
	}
	refined := value
	if r.refine != nil { // called before accepts, because it is cheaper
		refined = r.refine(text, value)
	}
	if refined.start >= refined.end || !r.accepts(text, match, value) {
		return found
	}
	if r.anchored && !r.token && refined.end == w.end && r.info().unbounded {
		refined.end = runEnd(text, w.end, w.end+maxToken, quotes)
	}
	return append(found, candidate{refined, r})
}

// readAll appends the values that a rule reads in a window of text.
func (r *rule) readAll(found []candidate, text string, w span) []candidate {
	for _, s := range r.read(text, w) {
		if r.accepts(text, span{nameStart(text, w.start), s.end}, s) {
			found = append(found, candidate{s, r})
		}
	}
	return found
}

// nameStart returns the start of the name that continues at i.
func nameStart(text string, i int) int {
	const longest = 50
	start := i
	for start > 0 && i-start < longest && isNameByte(text[start-1]) {
		start--
	}
	return start
}

func isNameByte(c byte) bool { return nameBytes.has(c) }

// nameBytes are the bytes of names in programs and settings.
var nameBytes = func() class {
	c := alphanumeric
	for _, sign := range "_-." {
		c.add(rangeClass(sign, sign))
	}
	return c
}()

// mergeFindings sorts candidates and merges those that overlap. The kind of a merged
// finding is that of the most specific rule.
func mergeFindings(found []candidate) []memento.Finding {
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

// rank orders rules by how specific they are; 0 is the most specific.
func (r *rule) rank() int {
	switch {
	case r.personal:
		return 4
	case r.kind == "generic-secret":
		return 3
	case r.kind == "generic-api-key":
		return 2
	case r.generic:
		return 1
	}
	return 0
}
