package instructions

import (
	"fmt"
	"iter"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// A row is a sign, ready to be compared with a text.
type row struct {
	kind  string
	slots []slot
}

// A slot is one place of a row.
type slot struct {
	class int // its words
	gap   int // how many other words may stand before it
}

// A classes is the set of the classes that a word belongs to.
type classes [maxClasses / 64]uint64

const maxClasses = 512

func (c *classes) add(class int)      { c[class/64] |= 1 << (class % 64) }
func (c *classes) has(class int) bool { return c[class/64]>>(class%64)&1 == 1 }

// all yields the classes of the set.
func (c *classes) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, part := range c {
			for ; part != 0; part &= part - 1 {
				if !yield(i*64 + bits.TrailingZeros64(part)) {
					return
				}
			}
		}
	}
}

func (c *classes) merge(o *classes) {
	for i := range c {
		c[i] |= o[i]
	}
}

// A vocabulary is the table, compiled.
type vocabulary struct {
	whole    map[string]*classes // of words
	prefixes map[string]*classes // of the beginnings of words
	longest  int                 // prefix, in bytes
	starts   [1 << 16]bool       // whether a word of the table begins with these two bytes, or with one and a zero
	rows     map[int][]row       // by the class of their first slot

	// Words in scripts without spaces between words, by their first rune, longest first.
	unspaced map[rune][]string
}

var table = sync.OnceValue(compile)

// compile reads the signs. Its input is a constant, so a mistake in it is one of the
// program, and every test finds it.
func compile() *vocabulary {
	v := &vocabulary{whole: map[string]*classes{}, prefixes: map[string]*classes{}, rows: map[int][]row{}, unspaced: map[rune][]string{}}
	known := map[string]int{}
	for _, s := range signs {
		r := row{kind: s.kind}
		gap := 0
		for _, field := range strings.Fields(s.words) {
			if number, ok := strings.CutPrefix(field, "~"); ok {
				n, err := strconv.Atoi(number)
				if err != nil {
					panic(fmt.Sprintf("sign %q: %v", s.words, err))
				}
				gap = n
				continue
			}
			list := expand(field)
			key := strings.Join(list, "|")
			class, ok := known[key]
			if !ok {
				class = len(known)
				known[key] = class
				for _, word := range list {
					v.add(word, class)
				}
			}
			r.slots = append(r.slots, slot{class, gap})
			gap = 0
		}
		v.rows[r.slots[0].class] = append(v.rows[r.slots[0].class], r)
	}
	if len(known) > maxClasses {
		panic(fmt.Sprintf("%d classes", len(known)))
	}
	for _, list := range v.unspaced {
		slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	}
	return v
}

// expand returns the words of a slot, sorted.
func expand(field string) []string {
	list := map[string]bool{}
	for word := range strings.SplitSeq(field, "|") {
		if name, ok := strings.CutPrefix(word, "@"); ok {
			for w := range strings.SplitSeq(words[name], "|") {
				list[w] = true
			}
			continue
		}
		list[word] = true
	}
	return slices.Sorted(maps.Keys(list))
}

func (v *vocabulary) add(word string, class int) {
	stem, prefix := strings.CutSuffix(word, "*")
	first, _ := utf8.DecodeRuneInString(stem)
	if isUnspaced(first) && !slices.Contains(v.unspaced[first], stem) {
		v.unspaced[first] = append(v.unspaced[first], stem)
	}
	to := v.whole
	if prefix {
		to = v.prefixes
		v.longest = max(v.longest, len(stem))
	}
	if to[stem] == nil {
		to[stem] = &classes{}
	}
	to[stem].add(class)
	v.starts[start(stem)] = true
}

// start returns the first two bytes of a word.
func start(word string) int {
	if len(word) == 1 {
		return int(word[0]) << 8
	}
	return int(word[0])<<8 | int(word[1])
}

// of adds the classes of a word to c, and reports whether there are any.
func (v *vocabulary) of(word string, c *classes) bool {
	if word == "" || !v.starts[start(word)] && !v.starts[int(word[0])<<8] {
		return false
	}
	found := false
	if k := v.whole[word]; k != nil {
		c.merge(k)
		found = true
	}
	for n := 2; n <= min(len(word), v.longest); n++ {
		if k := v.prefixes[word[:n]]; k != nil {
			c.merge(k)
			found = true
		}
	}
	return found
}
