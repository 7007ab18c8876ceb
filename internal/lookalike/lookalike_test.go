package lookalike

import (
	"fmt"
	"slices"
	"testing"
)

func TestAlike(t *testing.T) {
	for _, alike := range [][2]string{
		{"policies", "Policies"}, {"policies", "POLICIES"}, {"policies", "policies "}, {"policies", " policies"},
		{"policies", "p\u043elicies"}, {"policies", "poIicies"}, {"policies", "po1icies"}, {"policies", "ｐolicies"},
		{"policies", "policies\ufe0f"}, {"policies", "poli\u3164cies"}, {"policies", "policies."}, {"policies", "рolicies"},
		{"modern", "modem"}, {"café", "cafe\u0301"}, {"Правила", "правила"}, {"straße", "STRASSE"}, {"a b", "a\u00a0b"},
	} {
		if !Of(alike[0]).Alike(Of(alike[1])) {
			t.Errorf("%q and %q do not look alike: %q, %q", alike[0], alike[1], Of(alike[0]), Of(alike[1]))
		}
	}
	for _, other := range [][2]string{
		{"policies", "policy"}, {"policies", "police"}, {"notes", "votes"}, {"café", "cafe"}, {"a-b", "ab"}, {"правила", "правило"},
		{"2024", "2025"}, {"規則", "規制"}, {"a b", "ab"},
	} {
		if Of(other[0]).Alike(Of(other[1])) {
			t.Errorf("%q and %q look alike", other[0], other[1])
		}
	}
}

func TestPaths(t *testing.T) {
	var s Paths
	var got []Pair
	for _, path := range []string{"/policies/a.md", "/notes.md", "/other/Notes.md", "/Policies/a.md", "/Policies/A.md", "/p\u043elicies", "/policies/b.md", "/policies/a.md"} {
		got = append(got, s.Add(path)...)
	}
	want := []Pair{{"/policies", "/Policies"}, {"/Policies/a.md", "/Policies/A.md"}, {"/policies", "/p\u043elicies"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if more := s.Add("/"); more != nil {
		t.Errorf("the root looks like %q", more)
	}
}

// A pair is found whichever of the two texts of the skeletons is the same.
func TestPathsOfEitherSkeleton(t *testing.T) {
	for _, second := range []string{"poIicies", "POLICIES", "p\u043elicies"} {
		var s Paths
		s.Add("/policies")
		if pairs := s.Add("/" + second); len(pairs) != 1 {
			t.Errorf("/%s looks like %q", second, pairs)
		}
	}
}

func BenchmarkPaths(b *testing.B) {
	for b.Loop() {
		var s Paths
		for i := range 10_000 {
			s.Add(fmt.Sprintf("/projects/%d/notes-%d.md", i%100, i))
		}
	}
}
