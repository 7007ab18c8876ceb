package lines

import "slices"

// Merge is a three-way merge: it combines two changes of base, which made ours and
// theirs of it. Lines that only one side has changed are taken from that side. If both
// insert lines at one place, both insertions are taken, ours first, without repeating
// lines that are in both.
//
// It returns false if both have changed the same lines differently.
func Merge(base, ours, theirs string) (merged string, ok bool) {
	switch {
	case ours == theirs, base == theirs:
		return ours, true
	case base == ours:
		return theirs, true
	}
	lines, ok := mergeLines(Split(base), Split(ours), Split(theirs))
	if !ok {
		return "", false
	}
	// Whether the last line ends in "\n" is decided like a line of its own.
	ended := endsLine(theirs)
	if ended == endsLine(base) {
		ended = endsLine(ours)
	}
	return join(lines, ended), true
}

// endsLine reports whether text ends after a line. Without any line it does.
func endsLine(text string) bool { return text == "" || text[len(text)-1] == '\n' }

// join is the reverse of Split; ended is whether the last line has its "\n".
func join(lines []string, ended bool) string {
	size := 0
	for _, line := range lines {
		size += len(line) + 1
	}
	text := make([]byte, 0, size)
	for i, line := range lines {
		text = append(text, line...)
		// An empty last line cannot be without.
		if i < len(lines)-1 || ended || line == "" {
			text = append(text, '\n')
		}
	}
	return string(text)
}

// A hunk replaces lines of an old text by lines of a new one. One of both can be
// none.
type hunk struct {
	start, end int // of the lines in the old text, counted from 0, without the end
	lines      []string
}

// hunks returns the changes from old to new, in order.
func hunks(old, new []string) (list []hunk) {
	at, from := 0, 0 // the next lines of old and new
	add := func(end, to int) {
		if end > at || to > from {
			list = append(list, hunk{at, end, new[from:to]})
		}
	}
	for i, kept := range Kept(old, new) {
		if kept < 0 {
			continue
		}
		add(kept, i)
		at, from = kept+1, i+1
	}
	add(len(old), len(new))
	return list
}

// split returns hunks that do the same, of which those that only remove lines remove
// one each, so that an insertion between two such lines does not conflict.
func split(list []hunk) (parts []hunk) {
	for _, h := range list {
		if len(h.lines) > 0 {
			parts = append(parts, h)
			continue
		}
		for at := h.start; at < h.end; at++ {
			parts = append(parts, hunk{at, at + 1, nil})
		}
	}
	return parts
}

func (h hunk) inserts() bool { return h.start == h.end }

// before reports whether h is about lines that all come before those of g.
func (h hunk) before(g hunk) bool {
	return h.end < g.start || h.end == g.start && !(h.inserts() && g.inserts())
}

// mergeLines is Merge for lines.
func mergeLines(base, ours, theirs []string) (merged []string, ok bool) {
	a, b := split(hunks(base, ours)), split(hunks(base, theirs))
	at := 0
	take := func(h hunk) {
		merged = append(append(merged, base[at:h.start]...), h.lines...)
		at = h.end
	}
	for len(a) > 0 && len(b) > 0 {
		switch x, y := a[0], b[0]; {
		case x.before(y):
			take(x)
			a = a[1:]
		case y.before(x):
			take(y)
			b = b[1:]
		case x.start == y.start && x.end == y.end && slices.Equal(x.lines, y.lines):
			take(x)
			a, b = a[1:], b[1:]
		case x.inserts() && y.inserts():
			take(hunk{x.start, x.end, union(x.lines, y.lines)})
			a, b = a[1:], b[1:]
		default:
			return nil, false
		}
	}
	for _, h := range append(a, b...) {
		take(h)
	}
	return append(merged, base[at:]...), true
}

// union returns the lines of a and of b, each in its order, those of a first where
// either could be. Lines that a comparison finds in both are there once.
func union(a, b []string) []string {
	var all []string
	at := 0 // the next line of a
	for _, h := range hunks(a, b) {
		// Lines of a that b lacks stay, before the lines that b has instead.
		all = append(append(all, a[at:h.end]...), h.lines...)
		at = h.end
	}
	return append(all, a[at:]...)
}
