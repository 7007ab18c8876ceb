package textindex

import (
	"slices"
	"strings"
	"unicode/utf8"

	"memento"
)

// Tuning of what the contents of candidates add to their scores. test/bench measures them.
const (
	passageWeight   = 1.8 // of the best window of passageWords words
	proximityWeight = 0.8 // of words that are neighbours in the query and near each other in the text
	maxGap          = 8   // the largest distance in words that counts as near
)

// maxPassage is the length of the longest passage, in bytes.
const maxPassage = 400

// contextPassage is how long a passage may become by lines around what matches.
const contextPassage = 300

// A reader looks for the words of a request in texts.
type reader struct {
	idf   []float32              // of each word of the request
	next  []int                  // for each word, its neighbour to the right in the query, or -1
	forms map[string][]wordMatch // by form

	// passageWeight is what the best window counts: more the longer the memories of the
	// store are, because a short one is a passage itself.
	passageWeight float32
}

type wordMatch struct {
	word   int
	weight float32
}

// An occurrence is where a text has a word of the request.
type occurrence struct {
	wordMatch
	position   int // number of the word in the text
	start, end int // offsets of its bytes
}

func (k *ranking) reader() *reader {
	r := &reader{idf: k.idf, forms: map[string][]wordMatch{}, next: make([]int, len(k.r.words))}
	r.passageWeight = passageWeight * k.meanWords / (k.meanWords + passageWords)
	before := -1
	for i, w := range k.r.words {
		r.next[i] = -1
		if w.not {
			continue
		}
		if !w.function {
			if before >= 0 {
				r.next[before] = i
			}
			before = i
		}
		for _, f := range k.forms[i] {
			r.forms[f.form] = append(r.forms[f.form], wordMatch{i, f.weight})
		}
	}
	return r
}

// occurrences returns where a text has words of the request, in order.
func (r *reader) occurrences(text string) (all []occurrence) {
	var before Word
	position := 0
	for w := range Words(text) {
		for _, m := range r.forms[term(w.Text)] {
			all = append(all, occurrence{m, position, w.Start, w.End})
		}
		if pair := pairOf(before, w); pair != "" {
			for _, m := range r.forms[pair] {
				all = append(all, occurrence{m, position, before.Start, w.End})
			}
		}
		before = w
		position++
	}
	return all
}

// A window is a part of a text.
type window struct {
	value    float32      // the sum of the idf of its words
	from, to int          // of the occurrences in it
	all      []occurrence // of the whole text
}

// best returns the window of passageWords words that has most.
func (r *reader) best(all []occurrence) window {
	best := window{all: all}
	// How often each word is in the window, by weight: 0 exact, 1 with its stem, 2 being typed.
	counts := make([][3]int, len(r.idf))
	value := func(word int) float32 {
		for class, weight := range [3]float32{1, stemWeight, typingWeight} {
			if counts[word][class] > 0 {
				return weight * r.idf[word]
			}
		}
		return 0
	}
	change := func(o occurrence, by int) (difference float32) {
		before := value(o.word)
		switch o.weight {
		case 1:
			counts[o.word][0] += by
		case stemWeight:
			counts[o.word][1] += by
		default:
			counts[o.word][2] += by
		}
		return value(o.word) - before
	}
	var sum float32
	to := 0
	for from := range all {
		for to < len(all) && all[to].position < all[from].position+passageWords {
			sum += change(all[to], 1)
			to++
		}
		if best.to == 0 || sum > best.value+1e-4 {
			best.value, best.from, best.to = sum, from, to
		}
		sum += change(all[from], -1)
	}
	return best
}

// proximity returns how near each other neighbours in the query are in the text: the
// idf of the more frequent one if they are adjacent, and less the farther they are.
func (r *reader) proximity(all []occurrence) (sum float32) {
	nearest := make([]float32, len(r.next))
	for i, o := range all {
		for _, p := range slices.Backward(all[max(0, i-maxGap):i]) {
			gap := o.position - p.position
			if gap > maxGap {
				break
			}
			if gap == 0 {
				continue
			}
			first := p.word
			if r.next[first] != o.word {
				first = o.word
				if r.next[first] != p.word {
					continue
				}
				gap++ // the wrong way round
			}
			value := min(r.idf[o.word], r.idf[p.word]) * o.weight * p.weight / float32(gap)
			nearest[first] = max(nearest[first], value)
		}
	}
	for _, value := range nearest {
		sum += value
	}
	return sum
}

// show fills in the passage, the line and the words of a match.
func (w window) show(text string, m *memento.Match) {
	if len(w.all) == 0 {
		return
	}
	in := w.all[w.from:w.to]
	start, _ := lineAround(text, in[0].start)
	line, hit := start, in[0].start
	best := float32(-1)
	// The line with most words; and as many lines after the first as there is space for.
	var sum float32
	lineStart := start
	for i, o := range in {
		if s, _ := lineAround(text, o.start); s != lineStart || i == 0 {
			lineStart, sum = s, 0
		}
		if sum += o.weight; sum > best {
			best, line = sum, lineStart
			hit = o.start
		}
	}
	for _, o := range in {
		s, _ := lineAround(text, o.start)
		if s == line {
			hit = o.start
			break
		}
	}
	// The passage has the best line, and grows to both sides within the window.
	start, end := lineAround(text, line)
	first, _ := lineAround(text, in[0].start)
	_, last := lineAround(text, in[len(in)-1].start)
	for {
		grown := false
		if end < last {
			if _, e := lineAround(text, end+1); e-start <= maxPassage {
				end, grown = e, true
			}
		}
		if start > first {
			if s, _ := lineAround(text, start-1); end-s <= maxPassage {
				start, grown = s, true
			}
		}
		if !grown {
			break
		}
	}
	start, end = withContext(text, start, end)
	if m.Line == 0 {
		_, lineEnd := lineAround(text, line)
		m.Line = 1 + strings.Count(text[:line], "\n")
		m.Snippet = strings.Clone(shorten(text[line:lineEnd], hit-line))
	}
	m.Passage.First = 1 + strings.Count(text[:start], "\n")
	m.Passage.Last = m.Passage.First + strings.Count(text[start:end], "\n")
	m.Passage.Text = text[start:end]
	if len(m.Passage.Text) > maxPassage {
		m.Passage.Text = shortenTo(text[start:end], hit-start, maxPassage)
	}
	for _, o := range w.all {
		word := text[o.start:o.end]
		if len(m.Words) == maxMatchWords {
			break
		}
		if len(word) > maxForm {
			continue
		}
		if !slices.ContainsFunc(m.Words, func(other string) bool { return strings.EqualFold(other, word) }) {
			m.Words = append(m.Words, strings.Clone(word))
		}
	}
	m.Passage.Text = strings.Clone(m.Passage.Text)
}

// withContext grows a passage by lines around it, of the same paragraph and section, because
// a line alone often does not say what it is about.
func withContext(text string, start, end int) (from, to int) {
	grows := func(start, end int) bool { return end-start <= contextPassage }
	for {
		before := end - start
		if end < len(text) {
			last, _ := lineAround(text, end)
			s, e := lineAround(text, end+1)
			if isHeading(text[last:end]) && isBlank(text[s:e]) && e < len(text) {
				s, e = lineAround(text, e+1) // what the heading is about
			}
			if line := text[s:e]; !isBlank(line) && !isHeading(line) && grows(start, e) {
				end = e
			}
		}
		if start > 0 {
			_, first := lineAround(text, start)
			s, e := lineAround(text, start-1)
			if !isHeading(text[start:first]) && !isBlank(text[s:e]) && grows(s, end) {
				start = s
			}
		}
		if end-start == before {
			return start, end
		}
	}
}

func isBlank(line string) bool { return strings.TrimSpace(line) == "" }

// maxMatchWords bounds how many words a match names.
const maxMatchWords = 32

// lineAround returns where the line that has the byte at begins and ends.
func lineAround(text string, at int) (start, end int) {
	start = strings.LastIndexByte(text[:min(at, len(text))], '\n') + 1
	end = len(text)
	if n := strings.IndexByte(text[start:], '\n'); n >= 0 {
		end = start + n
	}
	return start, end
}

// shortenTo cuts a text to at most size bytes, a quarter of them before the byte at, with
// an ellipsis where something is missing.
func shortenTo(text string, at, size int) string {
	const ellipsis = "…"
	size -= 2 * len(ellipsis)
	start := max(0, min(at-size/4, len(text)-size))
	for start > 0 && !utf8.RuneStart(text[start]) {
		start++
	}
	end := min(len(text), start+size)
	for end < len(text) && end > start && !utf8.RuneStart(text[end]) {
		end--
	}
	short := text[start:end]
	if start > 0 {
		short = ellipsis + short
	}
	if end < len(text) {
		short += ellipsis
	}
	return short
}
