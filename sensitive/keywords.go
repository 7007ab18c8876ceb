package sensitive

// keywords finds words in a text in one pass, in either case of ASCII: the
// automaton of Aho and Corasick, as a table.
type keywords struct {
	column  [256]uint8 // of a byte in next; 0 for bytes in no word
	columns int
	next    []uint32  // state+column → state, which is the index of its first column
	ending  uint32    // the first of the states where words end, which are the last
	words   [][]int32 // of those states, in order: the words, the longest first
	warm    int       // how many bytes before one tell the state that it leads to
}

// newKeywords returns an automaton for words, which are lower case and not empty.
func newKeywords(words []string) *keywords {
	k := &keywords{columns: 1}
	for _, w := range words {
		k.warm = max(k.warm, len(w)-1)
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
	k.fill(t, t.link())
	return k
}

// A trie has the beginnings of words, from which the table is made: the first node
// is that of nothing.
type trie []node

type node struct {
	column         uint8 // of the last byte
	child, sibling int32 // the first that is longer by a byte, and the next that is as long; 0: none
	suffix         int32 // the longest other one that it ends with
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

// link finds suffixes, and gives each node the words that end with it. It returns
// the nodes level by level.
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

// fill makes the table. A state without a way on goes the way of its longest suffix,
// so that the search never steps back. Those where words end come last, so that one
// comparison tells them.
func (k *keywords) fill(t trie, levels []int32) {
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

// in reports whether one of the words is in text.
func (k *keywords) in(text string) bool {
	state := uint32(0)
	for i := range len(text) {
		if state = k.next[state+uint32(k.column[text[i]])]; state >= k.ending {
			return true
		}
	}
	return false
}

// A hit is a place in a text where words end.
type hit struct {
	end   int // behind them
	state uint32
}

// ended returns the words that end at a hit, the longest first.
func (k *keywords) ended(h hit) []int32 { return k.words[int(h.state-k.ending)/k.columns] }

// lanes are the hits in as many parts of a text, one after another.
type lanes [4][]hit

// find sets hits to those in text that end behind from, but not behind to. A state
// depends on the one before, for which a processor has to wait; so it goes through
// four parts of the text at the same time.
func (k *keywords) find(text string, from, to int, hits *lanes) {
	for i := range hits {
		hits[i] = hits[i][:0]
	}
	text = text[:to]
	start := max(0, from-k.warm)
	size := len(text) - start
	if size < 8*k.warm || size < 64 {
		hits[0] = k.walk(text, start, from, hits[0])
		return
	}
	// The parts overlap, so that each can find its way into the state.
	size = (size + 3*k.warm + 3) / 4
	step := size - k.warm
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
	// What two have seen is the earlier's.
	for i, end := range []int{from, start + size, start + step + size, start + 2*step + size} {
		hits[i] = behind(hits[i], end)
	}
}

// walk appends the hits in text from start on that end behind from.
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

// behind returns those of hits that end behind a place.
func behind(hits []hit, place int) []hit {
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
