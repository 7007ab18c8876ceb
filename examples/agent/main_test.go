package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAgent(t *testing.T) {
	want, err := os.ReadFile("testdata/output.txt")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "notes.db")
	var out bytes.Buffer
	if err := start(t.Context(), []string{file}, &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Error("(-want +got):\n" + diff)
	}

	// A second conversation finds what the first one left in the file.
	out.Reset()
	if err := start(t.Context(), []string{file}, &out); err != nil {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(out.String(), "\n"); !strings.Contains(first, "/memories/billing/log.md") {
		t.Errorf("the second conversation starts with %s", first)
	}
}

func TestAgentLeavesNothingBehind(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TMP", os.Getenv("TMPDIR")) // its name on Windows
	var out bytes.Buffer
	if err := start(t.Context(), nil, &out); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}
