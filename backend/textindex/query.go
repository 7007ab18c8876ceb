package textindex

import (
	"iter"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Query is a search query: phrases that must all be found.
type Query struct {
	phrases []phrase
}

// A phrase is a sequence of words that must be adjacent. The last one may be a prefix of
// a word.
type phrase []string

// Limits of a query; the rest is ignored.
const (
	maxPhrases = 32
	maxWords   = 64 // of one phrase
)

// Parse parses a query: phrases separated by white space, in double quotes if they
// contain white space. Phrases without words are ignored.
func Parse(query string) Query {
	var q Query
	quoted := false
	for part := range strings.SplitSeq(query, `"`) {
		texts := []string{part}
		if !quoted {
			texts = strings.Fields(part)
		}
		for _, text := range texts {
			var p phrase
			for w := range Words(text) {
				if p = append(p, w.Text); len(p) == maxWords {
					break
				}
			}
			again := slices.ContainsFunc(q.phrases, func(other phrase) bool { return slices.Equal(p, other) })
			if len(p) > 0 && !again && len(q.phrases) < maxPhrases {
				q.phrases = append(q.phrases, p)
			}
		}
		quoted = !quoted
	}
	return q
}

// Empty reports whether the query has no words. Such a query matches nothing.
func (q Query) Empty() bool { return len(q.phrases) == 0 }

// Phrases yields the words of each phrase. The last word may be a prefix.
func (q Query) Phrases() iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for _, p := range q.phrases {
			if !yield(p) {
				return
			}
		}
	}
}

// Match reports whether a document matches: whether each phrase is in its path or in its
// contents. line is the number, from 1, of the line of contents with the most phrases,
// and snippet is that line, shortened to 200 characters around the first phrase; they are
// 0 and "" if only the path matches.
func (q Query) Match(path, contents string) (line int, snippet string, ok bool) {
	if q.Empty() {
		return 0, "", false
	}
	inPath, inContents := slices.Collect(Words(path)), slices.Collect(Words(contents))
	var found uint64    // phrases found in the contents
	lines := hitLines{} // by the offset at which each line begins
	for i, p := range q.phrases {
		start, searched := 0, 0 // start of the last hit's line, and the end of the part searched for newlines
		for at := range inContents {
			if !p.matches(inContents[at:]) {
				continue
			}
			found |= 1 << i
			hit := inContents[at].Start
			if n := strings.LastIndexByte(contents[searched:hit], '\n'); n >= 0 {
				start = searched + n + 1
			}
			searched = hit
			lines.add(start, hit, i)
		}
		if found&(1<<i) == 0 && !p.anywhere(inPath) {
			return 0, "", false
		}
	}
	if found == 0 {
		return 0, "", true
	}
	best := lines.best()
	text, _, _ := strings.Cut(contents[best.start:], "\n")
	return strings.Count(contents[:best.start], "\n") + 1, shorten(text, best.hit-best.start), true
}

func (p phrase) matches(words []Word) bool {
	last := len(p) - 1
	if len(words) <= last || !strings.HasPrefix(words[last].Text, p[last]) {
		return false
	}
	for i := range last {
		if words[i].Text != p[i] {
			return false
		}
	}
	return true
}

func (p phrase) anywhere(words []Word) bool {
	for i := range words {
		if p.matches(words[i:]) {
			return true
		}
	}
	return false
}

// hitLines are the lines on which phrases were found, by their offset.
type hitLines map[int]hitLine

type hitLine struct {
	start   int    // offset of the line
	hit     int    // offset of the first phrase on it
	phrases uint64 // found on it
}

// add records that a phrase was found at the offset at, on the line that begins at start.
func (l hitLines) add(start, at, phrase int) {
	h, seen := l[start]
	if !seen || at < h.hit {
		h.start, h.hit = start, at
	}
	h.phrases |= 1 << phrase
	l[start] = h
}

func (l hitLines) best() hitLine {
	var best hitLine
	for _, h := range l {
		n, most := bits.OnesCount64(h.phrases), bits.OnesCount64(best.phrases)
		if n > most || n == most && h.start < best.start {
			best = h
		}
	}
	return best
}

const maxSnippet = 200 // characters

// shorten cuts line to maxSnippet characters, a quarter of them before the byte at, with
// an ellipsis where something is missing.
func shorten(line string, at int) string {
	line = strings.TrimSuffix(line, "\r")
	if utf8.RuneCountInString(line) <= maxSnippet {
		return line
	}
	start := at
	for range maxSnippet / 4 {
		_, size := utf8.DecodeLastRuneInString(line[:start])
		start -= size
	}
	end, room := start, maxSnippet-2
	for ; room > 0 && end < len(line); room-- {
		_, size := utf8.DecodeRuneInString(line[end:])
		end += size
	}
	for ; room > 0 && start > 0; room-- {
		_, size := utf8.DecodeLastRuneInString(line[:start])
		start -= size
	}
	text := line[start:end]
	if start > 0 {
		text = "…" + text
	}
	if end < len(line) {
		text += "…"
	}
	return text
}
