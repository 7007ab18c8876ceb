package sensitive

import (
	"slices"
	"strings"

	"memento"
	"memento/internal/placeholder"
)

// What is split over lines and has no prefix, such as a hash of a password or the address of
// a webhook, is not masked as it is written: it takes a search of each end of a line together
// with the start of the next. A scan does that. What a write does is less: if a name announces the first
// part of a token, so that it is masked, then so is the rest.

const (
	maxTail        = 400 // bytes of a line before its end
	maxScanParts   = 4   // lines
	minScanPart    = 2   // bytes of a token on a line
	minTokenPart   = 6   // bytes of what looks like a part of a token
	minCutOffToken = 4   // bytes after the prefix of the start of a token
)

// DetectSplit implements [memento.SplitDetector].
func (d *Detector) DetectSplit(text string, personal bool) []memento.Finding {
	e := d.engine(personal)
	find := func(text string, again bool) []memento.Finding { return e.findSplit(text, e.find(text, again)) }
	found := find(text, false)
	if len(found) == 0 {
		return nil
	}
	return findAll(text, found, find)
}

// findSplit returns found, the findings in text, and those that continue over the end of a
// line, in order and without overlaps.
func (e *engine) findSplit(text string, found []memento.Finding) []memento.Finding {
	var split []memento.Finding
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			break
		}
		end := at + i
		if f, ok := e.acrossLine(text, at, end, found); ok {
			split = append(split, f)
		}
		at = end + 1
	}
	if len(split) == 0 {
		return found
	}
	var all []candidate
	for _, f := range append(split, found...) {
		all = append(all, candidate{span{f.Start, f.End}, e.ruleOf(f.Kind)})
	}
	return mergeFindings(all)
}

// continued returns candidates for the tokens of which found has only a part that ends a line,
// since a name before it announces it, as a key or token of no certain kind.
func (e *engine) continued(text string, found []candidate) (all []candidate) {
	if !slices.ContainsFunc(found, func(c candidate) bool { _, ok := lineEnd(text, c.end); return ok && !e.splits[c.rule.kind] }) {
		return nil
	}
	for _, f := range mergeFindings(slices.Clone(found)) {
		end, ok := lineEnd(text, f.End)
		if !ok || e.splits[f.Kind] || e.ruleOf(f.Kind).personal {
			continue
		}
		if f, ok := e.acrossLine(text, strings.LastIndexByte(text[:end], '\n')+1, end, nil); ok {
			all = append(all, candidate{span{f.Start, f.End}, e.ruleOf(f.Kind)})
		}
	}
	return all
}

// lineEnd returns where the line ends of which nothing but joints follows i. ok is false if
// there is more, or no other line.
func lineEnd(text string, i int) (end int, ok bool) {
	for i < len(text) && strings.IndexByte(joints, text[i]) >= 0 {
		i++
	}
	return i, i < len(text) && text[i] == '\n'
}

// ruleOf returns the first rule of a kind.
func (e *engine) ruleOf(kind string) *rule {
	return e.rules[slices.IndexFunc(e.rules, func(r *rule) bool { return r.kind == kind })]
}

// acrossLine returns the finding that begins on the line from start to end and ends on one of
// the next, unless it overlaps with one of found that is as certain.
func (e *engine) acrossLine(text string, start, end int, found []memento.Finding) (memento.Finding, bool) {
	tail := span{characterStart(text, max(start, end-maxTail)), end}
	for tail.end > tail.start && strings.IndexByte(joints, text[tail.end-1]) >= 0 {
		tail.end--
	}
	first := text[wordStart(text[:tail.end], tail.end, tail.start):tail.end]
	if len(first) < minScanPart {
		return memento.Finding{}, false
	}
	joined := []byte(text[tail.start:tail.end])
	cut, begin := len(joined), end+1
	for range maxScanParts - 1 {
		part := partAfter(text, begin)
		part.end = runEnd(text, part.start, part.start+maxPart, "\"'`<>")
		if part.end-part.start < minScanPart || isSetting(text[part.start:part.end]) {
			break
		}
		if s, ok := e.cutOff(text, first, part.start); ok {
			return memento.Finding{Kind: s.rule.kind, Start: tail.end - len(first) + s.start, End: tail.end}, true
		}
		if len(joined) == cut && !isTokenPart(first) && !isTokenPart(text[part.start:part.end]) {
			break
		}
		last := len(joined)
		joined = append(joined, text[part.start:part.end]...)
		for _, f := range e.findWith(string(joined), false, true) {
			if f.Start > cut-minScanPart || f.End < last+minScanPart || !e.splits[f.Kind] {
				continue
			}
			if !e.ruleOf(f.Kind).info().fixed && isWords(string(joined[last:f.End])) {
				continue
			}
			f.Start, f.End = tail.start+f.Start, part.start+f.End-last
			return f, !slices.ContainsFunc(found, func(g memento.Finding) bool { return g.Start < f.End && f.Start < g.End && e.splits[g.Kind] })
		}
		i, ok := lineEnd(text, part.end)
		if !ok {
			break
		}
		begin = i + 1
	}
	return memento.Finding{}, false
}

// isFoundSplit reports whether what the rule finds is taken for a secret also if it continues on
// the next line: it is a token, or has another form that a text hardly has by chance.
func (r *rule) isFoundSplit() bool {
	const generic = 1 // the highest rank of rules for certain tokens
	return !r.personal && r.read == nil && r.rank() <= generic && (r.token || !r.generic)
}

// isTokenPart reports whether s, what is before or after the end of a line, may be a part of a
// token rather than of a text.
func isTokenPart(s string) bool {
	if len(s) < minTokenPart {
		return false
	}
	for i := range len(s) {
		if c := s[i]; isDigit(c) || c == '_' || isUpper(c) && i > 0 && isLetter(s[i-1]) {
			return true
		}
	}
	return false
}

// isSetting reports whether s begins with a name that is assigned a value.
func isSetting(s string) bool {
	i := 0
	for i < len(s) && (isAlphanumeric(s[i]) || s[i] == '_') {
		i++
	}
	return i > 0 && isLetter(s[0]) && i+1 < len(s) && (s[i] == '=' && s[i+1] != '=' || s[i] == ':')
}

// cutOff returns where a token begins that continues to the end of word, if the rest of it,
// which was at next in text, has been masked.
func (e *engine) cutOff(text, word string, next int) (tokenStart, bool) {
	if !strings.HasPrefix(text[next:], placeholder.Start) || !isTokenPart(word) {
		return tokenStart{}, false
	}
	for _, s := range e.tokenStarts(word, span{0, len(word)}) {
		if strings.HasPrefix(text[next:], placeholder.Of(s.rule.kind)) && s.rule.beginsAt(word, s.start) &&
			len(word)-s.start >= len(s.rule.keywords[0])+minCutOffToken {
			return s, true
		}
	}
	return tokenStart{}, false
}
