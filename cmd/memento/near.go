package main

import (
	"slices"
	"strings"
)

// near returns the candidate that is most similar to what was typed; "" if none is
// similar enough for "did you mean". It ignores case.
func near(typed string, candidates []string) string {
	const maxLength = 100 // of what is compared; the distance takes quadratic time
	best, least := "", 0
	text := []rune(strings.ToLower(typed))
	if len(text) == 0 || len(text) > maxLength {
		return ""
	}
	for _, c := range candidates {
		other := []rune(strings.ToLower(c))
		if len(other) > maxLength {
			continue
		}
		d := distance(text, other)
		if len(text) >= 3 && strings.HasPrefix(string(other), string(text)) {
			d = min(d, 1)
		}
		if d <= max(1, min(len(text), len(other))/3) && d < len(text) && (best == "" || d < least) {
			best, least = c, d
		}
	}
	return best
}

// distance returns the number of insertions, deletions, replacements and swaps of
// neighbours that turn a into b (optimal string alignment).
func distance(a, b []rune) int {
	var older []int
	old := make([]int, len(b)+1)
	for j := range old {
		old[j] = j
	}
	for i := range a {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = slices.Min([]int{old[j+1] + 1, row[j] + 1, old[j] + cost})
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], older[j-1]+1)
			}
		}
		older, old = old, row
	}
	return old[len(b)]
}
