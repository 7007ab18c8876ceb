package lines

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// checkKept checks that kept lines are equal and in order, and returns how many there are.
func checkKept(t interface{ Fatalf(string, ...any) }, old, new []string) int {
	kept, last, n := Kept(old, new), -1, 0
	if len(kept) != len(new) {
		t.Fatalf("%d results for %d lines", len(kept), len(new))
	}
	for i, from := range kept {
		switch {
		case from < 0:
			continue
		case from <= last || from >= len(old):
			t.Fatalf("line %d is line %d, after %d, of %d", i, from, last, len(old))
		case old[from] != new[i]:
			t.Fatalf("line %d is %q, and line %d was %q", i, new[i], from, old[from])
		}
		last = from
		n++
	}
	return n
}

// longest returns the length of a longest common subsequence, by the textbook's table.
func longest(a, b []string) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for j, y := range b {
			above := row[j+1]
			if row[j+1] = max(above, row[j]); x == y {
				row[j+1] = diagonal + 1
			}
			diagonal = above
		}
	}
	return row[len(b)]
}

// As many lines are kept as can be.
func TestKeptModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"", "a", "b", "c", "d"})
		old := rapid.SliceOfN(line, 0, 40).Draw(t, "old")
		new := rapid.SliceOfN(line, 0, 40).Draw(t, "new")
		if n, want := checkKept(t, old, new), longest(old, new); n != want {
			t.Fatalf("%d lines are kept; want %d", n, want)
		}
	})
}

// Texts that need more edits than the search takes are compared piece by piece.
func TestKeptOfLargeTexts(t *testing.T) {
	old := make([]string, 5000)
	for i := range old {
		old[i] = fmt.Sprint("line ", i)
	}
	shuffled := slices.Clone(old)
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(2000, func(i, j int) { shuffled[1000+i], shuffled[1000+j] = shuffled[1000+j], shuffled[1000+i] })
	if n := checkKept(t, old, shuffled); n < 3050 { // both ends, and an ascending run of the rest
		t.Errorf("%d lines are kept", n)
	}
	if n := checkKept(t, old, slices.Repeat([]string{"line 17"}, 5000)); n != 1 {
		t.Errorf("%d lines are kept of one that repeats", n)
	}
}

func TestSplit(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "a": {"a"}, "a\n": {"a"}, "\n": {""}, "a\n\nb": {"a", "", "b"}, "a\r\nb\n": {"a\r", "b"},
	} {
		got := Split(text)
		if !slices.Equal(got, want) || Count(text) != len(want) {
			t.Errorf("%q has the lines %q, counted %d; want %q", text, got, Count(text), want)
		}
		if again := join(got, strings.HasSuffix(text, "\n")); again != text {
			t.Errorf("%q is joined to %q", text, again)
		}
	}
}
