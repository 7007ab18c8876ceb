package main

import "testing"

func TestNear(t *testing.T) {
	candidates := []string{"team", "notes", "customers", "Handbook", "x"}
	for typed, want := range map[string]string{
		"taem": "team", "Team": "team", "note": "notes", "custmers": "customers", "cust": "customers",
		"handbok": "Handbook", "y": "", "": "", "zebra": "", "te": "", "nots": "notes",
	} {
		if got := near(typed, candidates); got != want {
			t.Errorf("near(%q) = %q, want %q", typed, got, want)
		}
	}
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"kitten", "sitting", 3}, {"ä", "a", 1}} {
		if got := distance([]rune(tt.a), []rune(tt.b)); got != tt.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
