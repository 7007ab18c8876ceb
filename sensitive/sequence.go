package sensitive

import "regexp/syntax"

// A sequence is a regular expression that is only a sequence of bytes of certain classes,
// as most formats of tokens are. It is matched in one pass without backtracking, many times
// faster than by package regexp.
type sequence []segment

// A segment is a number of consecutive bytes of a class.
type segment struct {
	class    class
	min, max int // max is -1 for any number
}

// newSequence returns the sequence that matches what re matches, or nil if there is none.
func newSequence(re *syntax.Regexp) sequence {
	s, ok := sequence{}.join(re)
	if !ok {
		return nil
	}
	// If a segment of variable length took bytes that the next could have, it would have to
	// give them back.
	for i, part := range s {
		if part.min == part.max {
			continue
		}
		for _, next := range s[i+1:] {
			if part.class.intersects(&next.class) {
				return nil
			}
			if next.min > 0 {
				break
			}
		}
	}
	return s
}

// join returns the sequence of s and then re.
func (s sequence) join(re *syntax.Regexp) (sequence, bool) {
	ok := true
	switch re.Op {
	case syntax.OpLiteral, syntax.OpCharClass:
		for _, c := range characters(re) {
			if c.has(0x80) {
				return nil, false // of several bytes
			}
			s = append(s, segment{c, 1, 1})
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if s, ok = s.join(sub); !ok {
				return nil, false
			}
		}
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		part, ok := sequence{}.join(re.Sub[0])
		switch {
		case !ok || re.Flags&syntax.NonGreedy != 0:
			return nil, false
		case len(part) == 1 && part[0].min == 1 && part[0].max == 1:
			least, most := re.Min, re.Max
			switch re.Op {
			case syntax.OpStar:
				least, most = 0, -1
			case syntax.OpPlus:
				least, most = 1, -1
			case syntax.OpQuest:
				least, most = 0, 1
			}
			return append(s, segment{part[0].class, least, most}), true
		case re.Op == syntax.OpRepeat && re.Min == re.Max:
			for range re.Min {
				s = append(s, part...)
			}
		default:
			return nil, false
		}
	default:
		return nil, false
	}
	return s, true
}

// match returns the end of the match that begins at the start of text, or -1.
func (s sequence) match(text string) int {
	at := 0
	for i := range s {
		part, end := &s[i], at
		most := len(text)
		if part.max >= 0 {
			most = min(most, at+part.max)
		}
		for end < most && part.class.has(text[end]) {
			end++
		}
		if end-at < part.min {
			return -1
		}
		at = end
	}
	return at
}

func (c *class) intersects(d *class) bool {
	for i := range c {
		if c[i]&d[i] != 0 {
			return true
		}
	}
	return false
}
