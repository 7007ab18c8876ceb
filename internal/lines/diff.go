package lines

import (
	"cmp"
	"slices"
)

// Kept compares two texts. It returns, for each line of the new one, which
// line of the old one it is, counted from 0, or -1 if it is new.
//
// As many lines are kept as can be, unless more than maxEdits lines that are in
// both texts are out of place: then perhaps fewer, so that time and memory stay
// near to linear in the number of lines.
func Kept(old, new []string) []int {
	c := comparison{kept: make([]int, len(new))}
	for i := range c.kept {
		c.kept[i] = -1
	}
	head, tail := commonEnds(old, new, func(a, b string) bool { return a == b })
	for i := range head {
		c.kept[i] = i
	}
	for i := 1; i <= tail; i++ {
		c.kept[len(new)-i] = len(old) - i
	}
	a, b := shared(old, new, head, tail)
	c.compare(a, b, true)
	return c.kept
}

// maxEdits bounds the search for the longest common subsequence, which takes as
// many rounds as lines have to be removed and added, and memory for the square
// of that: half a megabyte for these.
const maxEdits = 500

// A token stands for a line; equal lines have the same ID.
type token struct {
	id int // from 0
	at int // index of the line in its text
}

func sameLine(a, b token) bool { return a.id == b.id }

// shared returns tokens for the lines between head and tail that are in both
// texts. No others can be kept, and without them most comparisons are short.
func shared(old, new []string, head, tail int) (a, b []token) {
	oldEnd, newEnd := len(old)-tail, len(new)-tail
	if head == oldEnd || head == newEnd {
		return nil, nil
	}
	ids := make(map[string]int, oldEnd-head)
	for _, line := range old[head:oldEnd] {
		if _, seen := ids[line]; !seen {
			ids[line] = len(ids)
		}
	}
	inNew := make([]bool, len(ids))
	for i := head; i < newEnd; i++ {
		if id, in := ids[new[i]]; in {
			inNew[id] = true
			b = append(b, token{id, i})
		}
	}
	for i := head; i < oldEnd; i++ {
		if id := ids[old[i]]; inNew[id] {
			a = append(a, token{id, i})
		}
	}
	return a, b
}

// commonEnds returns how many elements a and b have in common at their start,
// and how many of the others at their end.
func commonEnds[E any](a, b []E, equal func(a, b E) bool) (head, tail int) {
	most := min(len(a), len(b))
	for head < most && equal(a[head], b[head]) {
		head++
	}
	for tail < most-head && equal(a[len(a)-1-tail], b[len(b)-1-tail]) {
		tail++
	}
	return head, tail
}

// A comparison collects what is kept of the old lines.
type comparison struct {
	kept  []int   // see Kept
	reach []int32 // see shortestEdit
}

func (c *comparison) keep(a, b []token) {
	for i := range a {
		c.kept[b[i].at] = a[i].at
	}
}

// compare finds what is kept between a and b. If that is too much work as a
// whole, and split is set, it is done piece by piece.
func (c *comparison) compare(a, b []token, split bool) {
	head, tail := commonEnds(a, b, sameLine)
	c.keep(a[:head], b[:head])
	c.keep(a[len(a)-tail:], b[len(b)-tail:])
	a, b = a[head:len(a)-tail], b[head:len(b)-tail]
	if len(a) == 0 || len(b) == 0 || c.shortestEdit(a, b) || !split {
		return
	}
	fromA, fromB := 0, 0
	for _, anchor := range anchors(a, b) {
		c.keep(a[anchor.a:anchor.a+1], b[anchor.b:anchor.b+1])
		c.compare(a[fromA:anchor.a], b[fromB:anchor.b], false)
		fromA, fromB = anchor.a+1, anchor.b+1
	}
	c.compare(a[fromA:], b[fromB:], false)
}

// shortestEdit keeps a longest common subsequence of a and b. It gives up, with
// nothing kept, and returns false if that takes more than maxEdits edits.
//
// It is the greedy algorithm. Diagonal k is where k more elements have been taken
// of a than of b; for each number of edits, reach has the most elements of a that
// can be taken on each diagonal. Source: E. Myers, "An O(ND) Difference Algorithm
// and Its Variations", 1986.
func (c *comparison) shortestEdit(a, b []token) bool {
	c.reach = c.reach[:0]
	for d := range maxEdits + 1 {
		for k := -d; k <= d; k += 2 {
			x, _ := c.step(d, k)
			for x < len(a) && x-k < len(b) && a[x].id == b[x-k].id {
				x++
			}
			c.reach = append(c.reach, int32(x))
			if x >= len(a) && x-k >= len(b) {
				c.backtrack(a, b, d)
				return true
			}
		}
	}
	return false
}

// reached looks up how many elements of a are taken after d edits on diagonal k,
// which goes from -d to d in steps of 2.
func (c *comparison) reached(d, k int) int { return int(c.reach[d*(d+1)/2+(k+d)/2]) }

// step returns how many elements of a are taken, at most, right after the edit
// that is number d and leads to diagonal k, and the diagonal before it.
func (c *comparison) step(d, k int) (x, before int) {
	switch {
	case d == 0:
		return 0, k
	case k == -d || k != d && c.reached(d-1, k-1) < c.reached(d-1, k+1):
		return c.reached(d-1, k+1), k + 1 // an element of b was added
	}
	return c.reached(d-1, k-1) + 1, k - 1 // one of a was removed
}

// backtrack keeps what lies between the d edits that have led to the end.
func (c *comparison) backtrack(a, b []token, d int) {
	x, k := len(a), len(a)-len(b)
	for ; d >= 0; d-- {
		start, before := c.step(d, k)
		c.keep(a[start:x], b[start-k:x-k])
		if k = before; d > 0 {
			x = c.reached(d-1, k)
		}
	}
}

// An anchor is an element of a, and the same in b, by their indexes.
type anchor struct{ a, b int }

// anchors pairs equal elements of a and b, the first with the first and so on,
// and returns as many pairs as have the same order in both, in that order. What
// moved is left out; where lines repeat, it need not be the best choice.
func anchors(a, b []token) []anchor {
	unpaired := map[int][]int{} // indexes in a, by ID
	for i, t := range a {
		unpaired[t.id] = append(unpaired[t.id], i)
	}
	// The longest ascending subsequence, in a, of the pairs by their order in b:
	// ends[n] is the chain of n+1 of them that ends lowest.
	type link struct {
		anchor
		before *link
	}
	var ends []*link
	for i, t := range b {
		left := unpaired[t.id]
		if len(left) == 0 {
			continue
		}
		unpaired[t.id] = left[1:]
		next := &link{anchor: anchor{left[0], i}}
		n, _ := slices.BinarySearchFunc(ends, next.a, func(l *link, at int) int { return cmp.Compare(l.a, at) })
		if n > 0 {
			next.before = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, nil)
		}
		ends[n] = next
	}
	if len(ends) == 0 {
		return nil
	}
	chain := make([]anchor, len(ends))
	for i, l := len(ends)-1, ends[len(ends)-1]; l != nil; i, l = i-1, l.before {
		chain[i] = l.anchor
	}
	return chain
}
