package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Whoever sees only the end of what is printed sees the results, the name of each failure,
// and what it printed.
func TestReport(t *testing.T) {
	results := []string{"format   ok", "go   FAIL"}
	long := strings.Repeat("in between\n", 1000)
	for name, tt := range map[string]struct {
		failed failures
		want   []string // lines
	}{
		"nothing": {nil, nil},
		"one":     {failures{{"go: memento TestIt", "=== RUN   TestIt\n    it_test.go:3: wrong\n--- FAIL: TestIt (0.00s)\n"}}, []string{"FAIL go: memento TestIt", "         it_test.go:3: wrong"}},
		"much":    {failures{{"race: a TestA", "begins\n" + long + "ends"}}, []string{"FAIL race: a TestA", "     begins", "     ends"}},
		"a short one among long ones": {
			failures{{"go: a TestA", "begins\n" + long}, {"go: b TestB", "one\ntwo\nthree"}, {"go: c TestC", long + "ends"}},
			[]string{"FAIL go: a TestA", "     begins", "FAIL go: b TestB", "     one", "     two", "     three", "FAIL go: c TestC", "     ends"},
		},
		"as many as fit": {slices.Repeat(failures{{"go: a TestA", long}}, failureLines-2), slices.Repeat([]string{"FAIL go: a TestA"}, failureLines-2)},
		"many":           {slices.Repeat(failures{{"go: a TestA", long}}, 1000), append(slices.Repeat([]string{"FAIL go: a TestA"}, failureLines-3), "and 963 more")},
		"a long line":    {failures{{"go: a TestA", strings.Repeat("é", 10_000)}}, []string{"FAIL go: a TestA", "     " + strings.Repeat("é", (lineBytes-5)/2) + "…"}},
	} {
		t.Run(name, func(t *testing.T) {
			lines := strings.Split(strings.TrimSuffix(report(results, tt.failed), "\n"), "\n")
			if len(lines) > 60 || len(lines) > 1+len(results)+1+failureLines {
				t.Errorf("%d lines", len(lines))
			}
			if !slices.Equal(lines[1:3], results) {
				t.Errorf("the results are %q", lines[1:3])
			}
			for i, rest := 0, lines; i < len(tt.want); i++ {
				at := slices.Index(rest, tt.want[i])
				if at < 0 {
					t.Fatalf("line %d, %q, is missing in %q", i, tt.want[i], lines)
				}
				rest = rest[at+1:]
			}
		})
	}
}

// Commands that fail are reported with what they printed, and other errors with all of their
// text.
func TestAsFailures(t *testing.T) {
	command := run(t.Context(), "go", "nothing")
	if got := asFailures(command); len(got) != 1 || !strings.Contains(got[0].name, "go nothing: exit status 2") || !strings.Contains(got[0].output, "unknown command") {
		t.Errorf("a command: %q", got)
	}
	if got := asFailures(errors.New("gofmt would change:\na.go\nb.go")); !slices.Equal(got, failures{{"gofmt would change:", "a.go\nb.go"}}) {
		t.Errorf("an error: %q", got)
	}
	if got := slices.Repeat(failures{{"a", ""}}, 5).Error(); got != "failed: a, a, a, and 2 more" {
		t.Errorf("%q", got)
	}
}

// A tail keeps the end.
func TestTail(t *testing.T) {
	var kept tail
	for i := range 100_000 {
		fmt.Fprintln(&kept, i)
	}
	if n := len(kept.text); n < tailBytes || n > 2*tailBytes+10 || !strings.HasSuffix(string(kept.text), "\n99998\n99999\n") {
		t.Errorf("%d bytes, ending in %q", n, kept.text[max(0, n-20):])
	}
}
