package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"memento/examples/internal/exampletest"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

// What the user corrected in the first conversation is a rule in the second one.
func TestFeedback(t *testing.T) {
	dir, runs := exampletest.Play(t)
	if got, want := runs[0].Output, "Version 2.1 exports CSV.\n"; !strings.HasSuffix(got, want) || !strings.HasPrefix(got, "We are thrilled") {
		t.Errorf("the first conversation says %q, want a first try and then %q", got, want)
	}
	if got, want := runs[1].Output, "Version 2.2 has a dark mode. (Not more than 6 words, as you asked.)\n"; got != want {
		t.Errorf("the second conversation says %q, want %q", got, want)
	}
	if first := string(runs[1].Requests[0].Body); strings.Contains(first, "6 words") {
		t.Errorf("the second conversation is told by its first request: %s", first)
	}
	want := map[string]string{"/rules.md": "# Rules for release notes\n- at most 6 words, and no praise: the user found a note too long\n"}
	if diff := cmp.Diff(want, exampletest.Memories(t, filepath.Join(dir, "feedback.db"))); diff != "" {
		t.Error("memories (-want +got):\n" + diff)
	}
}
