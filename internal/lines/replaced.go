package lines

// A Replacement is a line of a text, and the line that stands in its place in another.
type Replacement struct {
	Line     int // of the old text, from 1
	Old, New string
}

// Replaced returns the lines of the old text in whose place the new one has others. The lines of
// each changed part are taken in pairs, from its start; those that have no other are left out.
func Replaced(old, new string) (all []Replacement) {
	from, to := Split(old), Split(new)
	origins := Kept(from, to)
	kept := make([]bool, len(from))
	for _, i := range origins {
		if i >= 0 {
			kept[i] = true
		}
	}
	i := 0
	for j, line := range to {
		switch {
		case origins[j] >= 0:
			i = origins[j] + 1
		case i < len(from) && !kept[i]:
			all = append(all, Replacement{i + 1, from[i], line})
			i++
		}
	}
	return all
}
