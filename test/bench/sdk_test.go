package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"memento"
	"memento/backend/dirstore"
	"memento/sensitive"
	"memento/test/needs"
)

// TestSDKSharesTheFolder lets the TypeScript SDK's local memory tool and memento
// work in turns on one folder: each finds what the other has written.
func TestSDKSharesTheFolder(t *testing.T) {
	_, err := installSDK(t.Context(), "sdk")
	needs.Check(t, err)
	base := filepath.Join(t.TempDir(), "memory")
	cmd := exec.CommandContext(t.Context(), "node", "converse.mjs", base)
	cmd.Dir = "sdk"
	node, err := startProcess(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer node.close()
	theirs := func(input string) string {
		t.Helper()
		line, err := node.ask([]byte(input + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		var answer struct{ Text, Error string }
		if err := json.Unmarshal(line, &answer); err != nil || answer.Error != "" {
			t.Fatalf("the SDK's tool, asked %s: %s %v", input, answer.Error, err)
		}
		return answer.Text
	}
	theirs(`{"command":"create","path":"/memories/notes/a.md","file_text":"one\ntwo\n"}`)
	theirs(`{"command":"create","path":"/memories/b.md","file_text":"kept"}`)

	b, err := dirstore.Open(t.Context(), base, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	store := memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, &memento.StoreOptions{Detector: sensitive.Default()})
	tool := memento.NewTool(store, nil)
	ours := func(input string) string {
		t.Helper()
		r := tool.Run(t.Context(), []byte(input))
		if r.IsError {
			t.Fatalf("memento, asked %s: %s", input, r.Content)
		}
		return r.Content
	}
	shows := func(side func(string) string, path string, lines ...string) {
		t.Helper()
		got := side(`{"command":"view","path":"` + path + `"}`)
		for _, line := range lines {
			if !strings.Contains(got, line) {
				t.Errorf("%s shows %q, want %q in it", path, got, line)
			}
		}
	}
	shows(ours, "/memories/notes/a.md", "1\tone", "2\ttwo")
	shows(ours, "/memories", "/memories/notes/a.md", "/memories/b.md")

	ours(`{"command":"str_replace","path":"/memories/notes/a.md","old_str":"two","new_str":"three"}`)
	ours(`{"command":"create","path":"/memories/new/c.md","file_text":"by memento"}`)
	shows(theirs, "/memories/notes/a.md", "1\tone", "2\tthree")
	shows(theirs, "/memories/new/c.md", "1\tby memento")

	theirs(`{"command":"insert","path":"/memories/new/c.md","insert_line":1,"insert_text":"and the SDK\n"}`)
	theirs(`{"command":"rename","old_path":"/memories/notes/a.md","new_path":"/memories/moved.md"}`)
	theirs(`{"command":"delete","path":"/memories/b.md"}`)
	shows(ours, "/memories/new/c.md", "by memento", "and the SDK")
	shows(ours, "/memories/moved.md", "1\tone", "2\tthree")

	ours(`{"command":"rename","old_path":"/memories/new","new_path":"/memories/old"}`)
	ours(`{"command":"delete","path":"/memories/moved.md"}`)
	shows(theirs, "/memories", "/memories/old")
	if got := theirs(`{"command":"view","path":"/memories"}`); strings.Contains(got, "moved.md") || strings.Contains(got, "b.md") {
		t.Errorf("the SDK's tool still shows what is deleted: %s", got)
	}

	// One memory was renamed by the SDK's tool, and kept its identity and history.
	renamed := 0
	for v, err := range store.Versions(t.Context(), memento.VersionListOptions{Operation: memento.Modified}) {
		if err != nil {
			t.Fatal(err)
		}
		if v.Path == "/moved.md" {
			renamed++
		}
	}
	if renamed != 1 {
		t.Errorf("the history has %d renames by the SDK's tool, want 1", renamed)
	}
}
