package instructions

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"memento"
)

// Find returns what in a text addresses the model that reads it, in the order of the text
// and without overlaps. The kinds are those of the package comment.
func Find(text string) []memento.Finding {
	var found []memento.Finding
	found = appendPhrases(found, text)
	found = appendMarkers(found, text)
	found = appendHidden(found, text)
	return united(found)
}

// united sorts findings, and leaves of those that overlap the first, extended to the end
// of the others.
func united(found []memento.Finding) []memento.Finding {
	slices.SortStableFunc(found, func(a, b memento.Finding) int { return a.Start - b.Start })
	var apart []memento.Finding
	for _, f := range found {
		if n := len(apart) - 1; n >= 0 && f.Start < apart[n].End {
			apart[n].End = max(apart[n].End, f.End)
			continue
		}
		apart = append(apart, f)
	}
	return apart
}

// A word of a sentence.
type word struct {
	start, end int // in the text
	classes    classes
	known      bool // whether it has any
}

// appendPhrases compares the sentences of a text with the table.
func appendPhrases(found []memento.Finding, text string) []memento.Finding {
	s := scanner{text: text, table: table()}
	for s.next() {
		found = s.match(found)
	}
	return found
}

// match compares the words of the present sentence with the rows.
func (s *scanner) match(found []memento.Finding) []memento.Finding {
	if s.known < 2 { // no row has less
		return found
	}
	end := 0 // of the last finding, in words
	for i := range s.words {
		w := &s.words[i]
		if !w.known || i < end {
			continue
		}
		kind, last := s.matchAt(i)
		if kind == "" {
			continue
		}
		f := memento.Finding{Kind: kind, Start: w.start, End: s.words[last].end}
		end = last + 1
		if !s.negated(i, kind) && !mentioned(s.text, f.Start, f.End) {
			found = append(found, f)
		}
	}
	return found
}

// matchAt returns the kind of the first row that matches from word i on, and its last word.
func (s *scanner) matchAt(i int) (kind string, last int) {
	for class := range s.words[i].classes.all() {
		for _, r := range s.table.rows[class] {
			if last, ok := s.matchRow(i, r.slots[1:]); ok {
				return r.kind, last
			}
		}
	}
	return "", 0
}

// maxTries bounds the places that are tried for the slots of one row.
const maxTries = 64

// matchRow reports whether the slots follow word i, and the last word that they take.
func (s *scanner) matchRow(i int, slots []slot) (last int, ok bool) {
	tries := 0
	var try func(at int, slots []slot) (int, bool)
	try = func(at int, slots []slot) (int, bool) {
		if len(slots) == 0 {
			return at, true
		}
		for next := at + 1; next <= at+1+slots[0].gap && next < len(s.words); next++ {
			if w := &s.words[next]; !w.known || !w.classes.has(slots[0].class) {
				continue
			}
			if tries++; tries > maxTries {
				return 0, false
			}
			if last, ok := try(next, slots[1:]); ok {
				return last, true
			}
		}
		return 0, false
	}
	return try(i, slots)
}

// negations before a phrase of the kind override: who is told not to ignore earlier
// instructions is not told to ignore them.
var negations = map[string]bool{"not": true, "never": true, "don't": true, "dont": true, "doesn't": true, "cannot": true, "can't": true, "won't": true, "didn't": true, "nicht": true, "не": true}

// negated reports whether a negation stands right before word i.
func (s *scanner) negated(i int, kind string) bool {
	if kind != override || i == 0 {
		return false
	}
	w := s.words[i-1]
	return negations[strings.ToLower(strings.ReplaceAll(s.text[w.start:w.end], "’", "'"))]
}

// quotes are pairs of quotation marks.
var quotes = [][2]string{
	{"\"", "\""}, {"`", "`"}, {"“", "”"}, {"„", "“"}, {"„", "”"}, {"‘", "’"}, {"«", "»"}, {"»", "«"}, {"‹", "›"}, {"「", "」"}, {"『", "』"}, {"《", "》"}, {" '", "'"},
}

// talk are words on a line that talks about phrases.
var talk = []string{
	"such as", "e.g.", "for example", "examples", "example:", "phrase", "attack", "inject", "jailbreak", "pattern", "detect", "filter", "block", "payload", "adversar",
	"malicious", "red team", "red-team", "test case", "test string", "classif", "poison", "exploit", "threat", "guard", "quote", "called", "literal", "regex",
	"attempt", "text like", "prompts like", "says", "strings like", "known as", "token", "delimiter", "marker", "template",
	"beispiel", "angriff", "exemple", "attaque", "ejemplo", "ataque", "esempio", "attacco", "exemplo", "voorbeeld", "przykład", "например", "атак", "例", "攻击", "攻撃", "예시", "공격",
}

// maxMention is how far quotation marks can be from a phrase, in bytes, and how much of a
// line around it is read.
const maxMention = 300

// around returns what stands before and after text[start:end] on its lines, at most
// maxMention bytes each.
func around(text string, start, end int) (before, after string) {
	before, after = text[max(0, start-maxMention):start], text[end:min(len(text), end+maxMention)]
	before = before[strings.LastIndexByte(before, '\n')+1:]
	after, _, _ = strings.Cut(after, "\n")
	return before, after
}

// mentioned reports whether text[start:end] is quoted on a line that talks about phrases.
func mentioned(text string, start, end int) bool {
	before, after := around(text, start, end)
	if !quoted(before, after) {
		return false
	}
	line := strings.ToLower(before + " " + after)
	return slices.ContainsFunc(talk, func(w string) bool { return strings.Contains(line, w) })
}

// quoted reports whether a quotation mark is open at the end of before, and closed in after.
func quoted(before, after string) bool {
	return slices.ContainsFunc(quotes, func(q [2]string) bool {
		at := strings.LastIndex(before, q[0])
		switch {
		case at < 0:
			return false
		case q[0] == q[1] && strings.Count(before, q[0])%2 == 0:
			return false
		case q[0] != q[1] && strings.Contains(before[at+len(q[0]):], q[1]):
			return false
		}
		return strings.Contains(after, q[1])
	})
}

// isUnspaced reports whether r is of a script that does not separate words by spaces.
func isUnspaced(r rune) bool {
	return r >= 0x3040 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r == 'ー'
}

// A scanner divides a text into sentences of words.
type scanner struct {
	text  string
	table *vocabulary
	at    int // where the next sentence begins

	words []word // of the present sentence
	known int    // how many of them are in the table
	fold  folder
}

// maxSentence bounds the words of a sentence that are compared at once.
const maxSentence = 4096

// next reads the next sentence.
func (s *scanner) next() bool {
	if s.at >= len(s.text) {
		return false
	}
	s.words, s.known = s.words[:0], 0
	newlines := 0
	for s.at < len(s.text) && len(s.words) < maxSentence {
		r, n := rune(s.text[s.at]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s.text[s.at:])
		}
		switch {
		case isUnspaced(r):
			newlines = 0
			s.unspaced()
			continue
		case isWordRune(r):
			newlines = 0
			s.word()
			continue
		case r == '\n':
			newlines++
			if newlines > 1 || s.endsLine() {
				s.at += n
				return true
			}
		case r == '。' || r == '！' || r == '？', r == '|' && s.at+1 < len(s.text) && s.text[s.at+1] <= ' ':
			s.at += n
			return true
		case r == '.' || r == '!' || r == '?' || r == ';':
			if s.at+n >= len(s.text) || s.text[s.at+n] == ' ' || s.text[s.at+n] == '\n' || s.text[s.at+n] == '"' {
				s.at += n
				return true
			}
		}
		s.at += n
	}
	return true
}

// endsLine reports whether the line after the line feed at s.at begins with something else
// than a continued sentence: an item of a list, a heading, a row of a table.
func (s *scanner) endsLine() bool {
	rest := strings.TrimLeft(s.text[s.at+1:min(len(s.text), s.at+40)], " \t>")
	if rest == "" {
		return false
	}
	switch rest[0] {
	case '-', '*', '+', '#', '|', '=':
		return true
	}
	digits := strings.TrimLeft(rest, "0123456789")
	return digits != rest && (strings.HasPrefix(digits, ". ") || strings.HasPrefix(digits, ") "))
}

// isWordRune reports whether r is part of a word.
func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '\'' || r == '_' || r == '@' || r == '$'
	}
	return r == '’' || unicode.IsLetter(r) || unicode.Is(unicode.M, r) || unicode.IsNumber(r) || invisible(r)
}

// unspaced adds the words of a run of a script without spaces: those of the table, and
// else each rune.
func (s *scanner) unspaced() {
	rest := s.text[s.at:]
	r, n := utf8.DecodeRuneInString(rest)
	w := word{start: s.at, end: s.at + n}
	for _, known := range s.table.unspaced[r] {
		if strings.HasPrefix(rest, known) {
			w.end = s.at + len(known)
			break
		}
	}
	s.add(w, s.text[w.start:w.end], "")
	s.at = w.end
}

// word adds the next word. Hyphens and full stops join it if letters follow at once.
func (s *scanner) word() {
	start, simple := s.at, true
	for s.at < len(s.text) {
		r, n := rune(s.text[s.at]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s.text[s.at:])
			if isUnspaced(r) || !isWordRune(r) {
				break
			}
			simple = false
		} else if !isWordRune(r) && !s.joins(r) {
			break
		}
		s.at += n
	}
	if s.at-start == 1 && s.spelled(start) {
		return
	}
	w := word{start: start, end: s.at}
	for w.start < w.end-1 && isTrimmed(s.text[w.start]) {
		w.start++
	}
	for w.end > w.start+1 && isTrimmed(s.text[w.end-1]) {
		w.end--
	}
	plain, latin := s.fold.word(s.text[w.start:w.end], simple)
	s.add(w, plain, latin)
	// Parts of a compound are words, too: "system-prompt".
	if i := strings.IndexAny(plain, "-."); i > 0 && i < len(plain)-1 && !w.isKnown(&s.words) {
		s.words = s.words[:len(s.words)-1]
		s.parts(w.start, w.end)
	}
}

func (w *word) isKnown(words *[]word) bool { return (*words)[len(*words)-1].known }

// isTrimmed reports whether c does not belong to a word that begins or ends with it.
func isTrimmed(c byte) bool { return c == '\'' || c == '_' || c == '$' || c == '@' }

// joins reports whether r, at s.at, joins two letters to one word.
func (s *scanner) joins(r rune) bool {
	if r != '-' && r != '.' || s.at == 0 || s.at+1 >= len(s.text) {
		return false
	}
	before, after := s.text[s.at-1], s.text[s.at+1]
	return isLetterByte(before) && isLetterByte(after)
}

func isLetterByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= utf8.RuneSelf
}

// parts adds the parts of a compound.
func (s *scanner) parts(start, end int) {
	for start < end {
		n := strings.IndexAny(s.text[start:end], "-.")
		if n < 0 {
			n = end - start
		}
		if n > 0 {
			plain, latin := s.fold.word(s.text[start:start+n], false)
			s.add(word{start: start, end: start + n}, plain, latin)
		}
		start += n + 1
	}
}

// minSpelled is how many single letters make a spelled word.
const minSpelled = 4

// spelled adds a word whose letters are separated: "i g n o r e", "i-g-n-o-r-e".
func (s *scanner) spelled(start int) bool {
	if !isLetterByte(s.text[start]) || s.text[start] >= utf8.RuneSelf {
		return false
	}
	var b strings.Builder
	at, separator := start, byte(0)
	for at < len(s.text) && b.Len() < 40 && isLetterByte(s.text[at]) && s.text[at] < utf8.RuneSelf {
		b.WriteByte(s.text[at])
		at++
		if at+1 >= len(s.text) || separator != 0 && s.text[at] != separator || !strings.ContainsRune(" -._*", rune(s.text[at])) ||
			!isLetterByte(s.text[at+1]) || at+2 < len(s.text) && isWordRune(rune(s.text[at+2])) {
			break
		}
		separator = s.text[at]
		at++
	}
	if b.Len() < minSpelled {
		return false
	}
	s.at = at
	s.add(word{start: start, end: at}, strings.ToLower(b.String()), "")
	return true
}

// add adds a word in its two spellings.
func (s *scanner) add(w word, plain, latin string) {
	w.known = s.table.of(plain, &w.classes)
	if latin != "" && latin != plain && s.table.of(latin, &w.classes) {
		w.known = true
	}
	if w.known {
		s.known++
	}
	s.words = append(s.words, w)
}
