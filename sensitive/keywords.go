package sensitive

import "iter"

// keywords finds words in a text in one pass, in either case of ASCII: the
// automaton of Aho and Corasick, as a table.
type keywords struct {
	column  [256]uint8 // of a byte in next; 0 for bytes in no word
	columns int
	next    []int32   // state*columns+column → state
	words   [][]int32 // state → the words that end there
}

func newKeywords(words []string) *keywords {
	k := &keywords{columns: 1}
	for _, w := range words {
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
	k.addState()
	for i, w := range words {
		k.add(int32(i), w)
	}
	k.link()
	return k
}

func (k *keywords) addState() int32 {
	k.next = append(k.next, make([]int32, k.columns)...)
	k.words = append(k.words, nil)
	return int32(len(k.words) - 1)
}

func (k *keywords) add(index int32, word string) {
	state := int32(0)
	for i := range len(word) {
		at := int(state)*k.columns + int(k.column[word[i]])
		if k.next[at] == 0 {
			next := k.addState() // moves k.next
			k.next[at] = next
		}
		state = k.next[at]
	}
	k.words[state] = append(k.words[state], index)
}

// link lets each state without a way on go the way of its longest suffix, level
// by level, so that the search never steps back.
func (k *keywords) link() {
	suffix := make([]int32, len(k.words))
	queue := []int32{0}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		for c := range k.columns {
			at := int(state)*k.columns + c
			other := k.next[int(suffix[state])*k.columns+c]
			switch next := k.next[at]; {
			case next == 0:
				k.next[at] = other
			default:
				if state != 0 {
					suffix[next] = other
				}
				k.words[next] = append(k.words[next], k.words[suffix[next]]...)
				queue = append(queue, next)
			}
		}
	}
}

// in returns the words in text, in the order in which they end: the position
// behind each, and its index.
func (k *keywords) in(text string) iter.Seq2[int, int32] {
	return func(yield func(end int, word int32) bool) {
		state := int32(0)
		for i := range len(text) {
			state = k.next[int(state)*k.columns+int(k.column[text[i]])]
			for _, word := range k.words[state] {
				if !yield(i+1, word) {
					return
				}
			}
		}
	}
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
