package gateway

import "strconv"

// overlay returns the usage of one round: that of its start with what its end says. What
// is null at the end counts as not said.
func overlay(start, end []byte) []byte {
	a, err := parseObject(start)
	if err != nil {
		return end
	}
	b, err := parseObject(end)
	if err != nil {
		return start
	}
	for _, m := range b.members {
		if value := b.get(m.name); value != nil {
			a = a.set(m.name, value)
		}
	}
	return a.text
}

// sum returns the usage of two rounds together: numbers are added, lists joined,
// objects summed by member. Of anything else the later value counts, unless it is null.
func sum(first, later []byte) []byte {
	switch {
	case isNull(first):
		return later
	case isNull(later):
		return first
	case first[0] == '[' && later[0] == '[':
		more, err := elements(later)
		if err != nil {
			return first
		}
		return appended(first, more...)
	case first[0] == '{' && later[0] == '{':
		a, err := parseObject(first)
		if err != nil {
			return later
		}
		b, err := parseObject(later)
		if err != nil {
			return first
		}
		for _, m := range b.members {
			if value := b.get(m.name); value != nil {
				a = a.set(m.name, sum(a.get(m.name), value))
			}
		}
		return a.text
	}
	x, err1 := strconv.ParseInt(string(first), 10, 64)
	y, err2 := strconv.ParseInt(string(later), 10, 64)
	if err1 != nil || err2 != nil {
		return later
	}
	return strconv.AppendInt(nil, x+y, 10)
}

func isNull(value []byte) bool { return len(value) == 0 || string(value) == "null" }

// number returns a whole number that is not negative; 0 for anything else.
func number(value []byte) int64 {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}
