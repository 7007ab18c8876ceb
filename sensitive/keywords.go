package sensitive

// keywords finds words in a text in one pass, ignoring the case of ASCII letters. It is
// an Aho-Corasick automaton in the form of a table.
type keywords struct {
	column   [256]uint8 // byte → column in next; 0 for bytes that are in no word
	columns  int
	next     []uint32  // state+column → next state; a state is the index of its first column
	ending   uint32    // the first of the states in which words end; they come last
	words    [][]int32 // for each of those states, in order: its words, the longest first
	lookback int       // how many previous bytes determine a state
}

// newKeywords returns an automaton for words, which are lower case and not empty.
func newKeywords(words []string) *keywords {
	k := &keywords{columns: 1}
	for _, w := range words {
		k.lookback = max(k.lookback, len(w)-1)
		for i := range len(w) {
			if c := lower(w[i]); k.column[c] == 0 {
				k.column[c] = uint8(k.columns)
				k.columns++
			}
		}
	}
	for c := byte('A'); c <= 'Z'; c++ {
		k.column[c] = k.column[lower(c)]
	}
	t := trie{{}}
	for i, w := range words {
		t.add(k, int32(i), w)
	}
	k.buildTable(t, t.link())
	return k
}

// A trie has the prefixes of the words; the table is made from it. The first node is
// the root.
type trie []node

type node struct {
	column         uint8 // of the last byte of the prefix
	child, sibling int32 // the first child, and the next child of the same parent; 0: none
	suffix         int32 // the longest proper suffix that is also a prefix in the trie
	words          []int32
}

// next returns the node that a byte leads to, or 0.
func (t trie) next(n int32, column uint8) int32 {
	for n = t[n].child; n != 0 && t[n].column != column; {
		n = t[n].sibling
	}
	return n
}

func (t *trie) add(k *keywords, index int32, word string) {
	n := int32(0)
	for i := range len(word) {
		column := k.column[word[i]]
		next := t.next(n, column)
		if next == 0 {
			next = int32(len(*t))
			*t = append(*t, node{column: column, sibling: (*t)[n].child})
			(*t)[n].child = next
		}
		n = next
	}
	(*t)[n].words = append((*t)[n].words, index)
}

// link sets the suffixes, and gives each node the words that end there. It returns the
// nodes level by level.
func (t trie) link() []int32 {
	queue := []int32{0}
	for i := 0; i < len(queue); i++ {
		n := queue[i]
		for c := t[n].child; c != 0; c = t[c].sibling {
			queue = append(queue, c)
			if n == 0 {
				continue
			}
			s := t[n].suffix
			for s != 0 && t.next(s, t[c].column) == 0 {
				s = t[s].suffix
			}
			t[c].suffix = t.next(s, t[c].column)
			t[c].words = append(t[c].words, t[t[c].suffix].words...)
		}
	}
	return queue
}

// buildTable makes the table. A missing transition is taken from the longest suffix, so
// that the search never steps back. States in which words end come last, so that one
// comparison recognizes them.
func (k *keywords) buildTable(t trie, levels []int32) {
	place := make([]uint32, len(t))
	next := uint32(0)
	number := func(ending bool) {
		for _, n := range levels {
			if (len(t[n].words) > 0) == ending {
				place[n] = next
				next += uint32(k.columns)
				if ending {
					k.words = append(k.words, t[n].words)
				}
			}
		}
	}
	number(false)
	k.ending = next
	number(true)
	k.next = make([]uint32, next)
	for _, n := range levels {
		row := k.next[place[n]:][:k.columns]
		if n != 0 {
			copy(row, k.next[place[t[n].suffix]:][:k.columns])
		}
		for c := t[n].child; c != 0; c = t[c].sibling {
			row[t[c].column] = place[c]
		}
	}
}

// in reports whether text contains one of the words.
func (k *keywords) in(text string) bool {
	state := uint32(0)
	for i := range len(text) {
		if state = k.next[state+uint32(k.column[text[i]])]; state >= k.ending {
			return true
		}
	}
	return false
}

// A hit is a position in a text at which words end.
type hit struct {
	end   int // position after the words
	state uint32
}

// ended returns the indexes of the words that end at a hit, the longest first.
func (k *keywords) ended(h hit) []int32 { return k.words[int(h.state-k.ending)/k.columns] }

// lanes are the hits in four consecutive parts of a text.
type lanes [4][]hit

// find sets hits to the hits in text that end after from and not after to. Since each
// state depends on the previous one, a processor would have to wait for it; so four
// parts of the text are searched in the same loop.
func (k *keywords) find(text string, from, to int, hits *lanes) {
	for i := range hits {
		hits[i] = hits[i][:0]
	}
	text = text[:to]
	start := max(0, from-k.lookback)
	size := len(text) - start
	if size < 8*k.lookback || size < 64 {
		hits[0] = k.walk(text, start, from, hits[0])
		return
	}
	// The parts overlap by lookback bytes, after which the state is right.
	size = (size + 3*k.lookback + 3) / 4
	step := size - k.lookback
	a, b, c, d := text[start:][:size], text[start+step:][:size], text[start+2*step:][:size], text[to-size:]
	var s, t, u, v uint32
	for i := range len(a) {
		s = k.next[s+uint32(k.column[a[i]])]
		t = k.next[t+uint32(k.column[b[i]])]
		u = k.next[u+uint32(k.column[c[i]])]
		v = k.next[v+uint32(k.column[d[i]])]
		if s >= k.ending {
			hits[0] = append(hits[0], hit{start + i + 1, s})
		}
		if t >= k.ending {
			hits[1] = append(hits[1], hit{start + step + i + 1, t})
		}
		if u >= k.ending {
			hits[2] = append(hits[2], hit{start + 2*step + i + 1, u})
		}
		if v >= k.ending {
			hits[3] = append(hits[3], hit{to - size + i + 1, v})
		}
	}
	// A hit in an overlap belongs to the earlier part.
	for i, end := range []int{from, start + size, start + step + size, start + 2*step + size} {
		hits[i] = endingAfter(hits[i], end)
	}
}

// walk searches text from start on, and appends the hits that end after from.
func (k *keywords) walk(text string, start, from int, hits []hit) []hit {
	state := uint32(0)
	for i := start; i < len(text); i++ {
		state = k.next[state+uint32(k.column[text[i]])]
		if state >= k.ending && i >= from {
			hits = append(hits, hit{i + 1, state})
		}
	}
	return hits
}

// endingAfter returns those of hits that end after a position.
func endingAfter(hits []hit, place int) []hit {
	n := 0
	for n < len(hits) && hits[n].end <= place {
		n++
	}
	return hits[:copy(hits, hits[n:])]
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
