package lookalike

import "testing"

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
