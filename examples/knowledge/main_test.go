package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"memento/examples/internal/exampletest"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

// The answer has facts of both documents, which the last run was not given, and no more
// than a reader may do has happened.
func TestKnowledge(t *testing.T) {
	dir, runs := exampletest.Play(t, "notes")
	if got, want := runs[2].Output, "On port 8025 since 2026-09, on host heron. Before, it was 2525.\n"; got != want {
		t.Errorf("the answer is %q, want %q", got, want)
	}
	if first := string(runs[2].Requests[0].Body); strings.Contains(first, "8025") || strings.Contains(first, "heron") {
		t.Errorf("the question is answered by its first request: %s", first)
	}
	if told := runs[2].Told(); strings.Contains(told, "Minutes") || !strings.Contains(told, "port: 8025") {
		t.Errorf("the last run read the documents, or not its memory: %s", told)
	}
	file := filepath.Join(dir, "knowledge.db")
	want := map[string]string{
		"/mail_gateway.md": "host: heron (2026-03.md)\nport: 8025 (2026-09.md)\nport before: 2525 (2026-03.md)\n",
		"/backups.md":      "time: 2 a.m. (2026-03.md)\n",
	}
	if diff := cmp.Diff(want, exampletest.Memories(t, file)); diff != "" {
		t.Error("memories (-want +got):\n" + diff)
	}
	sources := []string{"examples/knowledge/notes/2026-03.md", "examples/knowledge/notes/2026-09.md"}
	if diff := cmp.Diff(sources, exampletest.Actors(t, file, "/mail_gateway.md")); diff != "" {
		t.Error("sources of the history (-want +got):\n" + diff)
	}
}
