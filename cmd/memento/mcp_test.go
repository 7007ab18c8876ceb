package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"memento/mcpserver"
	"memento/test/longtest"
	"memento/test/proctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// startMCP starts "memento mcp" in a folder and returns a session of the official client.
// The buffer gets its standard error.
func startMCP(t *testing.T, dir, era string, args ...string) (*mcp.ClientSession, *bytes.Buffer) {
	t.Helper()
	var errs bytes.Buffer
	cmd := exec.Command("memento", args...)
	cmd.Dir, cmd.Stderr = dir, &errs
	client := mcp.NewClient(&mcp.Implementation{Name: "test client", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	t.Cleanup(func() { session.Close() })
	return session, &errs
}

func callMCP(t *testing.T, session *mcp.ClientSession, tool string, arguments map[string]any) string {
	t.Helper()
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	return r.Content[0].(*mcp.TextContent).Text
}

// The official client works with the program in both eras. Standard output has messages
// only, and changes are recorded under a session with the client's name.
func TestMCP(t *testing.T) {
	for _, era := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(era, func(t *testing.T) {
			dir := t.TempDir()
			session, errs := startMCP(t, dir, era, "--backend", "sqlite:m.db", "mcp", "--history")
			if got := callMCP(t, session, "memory", map[string]any{"command": "create", "path": "/memories/tea.md", "file_text": "green"}); !strings.HasPrefix(got, "File created") {
				t.Error(got)
			}
			if got := callMCP(t, session, "memory_search", map[string]any{"query": "green"}); !strings.Contains(got, "/memories/tea.md") {
				t.Error(got)
			}
			if got := callMCP(t, session, "memory_history", nil); !strings.Contains(got, "-test-client") {
				t.Errorf("the history is %s", got)
			}
			if err := session.Close(); err != nil {
				t.Errorf("the program ended with %v", err)
			}
			if errs.Len() > 0 {
				t.Errorf("standard error: %s", errs.String())
			}
		})
	}
}

// {project} is another store in each project; in a Git repository, the same in all folders.
func TestMCPProject(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"a/.git", "a/src/deep", "b"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	backend := "sqlite:" + filepath.ToSlash(filepath.Join(dir, "m.db"))
	run := func(in string, args ...string) *mcp.ClientSession {
		session, _ := startMCP(t, filepath.Join(dir, in), "2026-07-28", slices.Concat([]string{"--backend", backend, "mcp", "--mount", "project={project}", "--mount", "me=me"}, args)...)
		return session
	}
	session := run("a")
	for _, path := range []string{"/memories/project/x.md", "/memories/me/y.md"} {
		if got := callMCP(t, session, "memory", map[string]any{"command": "create", "path": path, "file_text": "x"}); !strings.HasPrefix(got, "File created") {
			t.Error(got)
		}
	}
	for _, c := range []struct {
		in   string
		args []string
		same bool
	}{{"a/src/deep", nil, true}, {"b", nil, false}, {"b", []string{"--project", filepath.Join(dir, "a", "src")}, true}} {
		got := callMCP(t, run(c.in, c.args...), "memory", map[string]any{"command": "view", "path": "/memories"})
		if !strings.Contains(got, "/memories/me/y.md") || strings.Contains(got, "x.md") != c.same {
			t.Errorf("in %s %v: %s", c.in, c.args, got)
		}
	}
}

// A client of the older versions says which folders it works in.
func TestProjectOfRoots(t *testing.T) {
	dir := t.TempDir()
	name := func(given string, roots ...string) string {
		got, err := projectOf(t.Context(), given, mcpserver.Client{Roots: func(context.Context) ([]string, error) { return roots, nil }})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	uri := "file://" + filepath.ToSlash(dir)
	if filepath.VolumeName(dir) != "" {
		uri = "file:///" + filepath.ToSlash(dir)
	}
	if got, want := name("", "https://example.com/", uri), name(dir); got != want {
		t.Errorf("the project of the roots is %s; want %s", got, want)
	}
	if here := name(""); here == name(dir) {
		t.Errorf("the working directory and another folder are both %s", here)
	}
	if root := name(string(filepath.Separator)); !strings.HasPrefix(root, "project-") {
		t.Errorf("the project of the root folder is %s", root)
	}
}

// Many processes on one file, as many windows of an editor are: nothing is lost.
func TestMCPProcesses(t *testing.T) {
	const each = 2
	processes := 16
	if longtest.Enabled() {
		processes = 50
	}
	dir := t.TempDir()
	backend := "sqlite:" + filepath.ToSlash(filepath.Join(dir, "m.db"))
	run := func(messages string) (string, error) {
		cmd := exec.Command("memento", "--backend", backend, "mcp")
		cmd.Stdin = strings.NewReader(messages)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(rawMCP(1, map[string]any{"command": "create", "path": "/memories/shared.md", "file_text": "start\n"})); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var wg sync.WaitGroup
	for p := range processes {
		wg.Go(func() {
			var in strings.Builder
			for n := range each {
				in.WriteString(rawMCP(2*n, map[string]any{"command": "create", "path": fmt.Sprintf("/memories/%d/%d.md", p, n), "file_text": "x"}))
				in.WriteString(rawMCP(2*n+1, map[string]any{"command": "insert", "path": "/memories/shared.md", "insert_line": 0, "insert_text": fmt.Sprintf("%d-%d", p, n)}))
			}
			out, err := run(in.String())
			if err != nil || strings.Contains(out, "isError") || strings.Count(out, "\n") != 2*each {
				t.Errorf("process %d: %v: %s", p, err, out)
			}
		})
	}
	wg.Wait()
	out, err := exec.Command("memento", "--backend", backend, "cat", "/shared.md").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(out))
	slices.Sort(lines)
	if n := len(slices.Compact(lines)); n != processes*each+1 {
		t.Errorf("the shared file has %d lines; want %d", n, processes*each+1)
	}
	out, err = exec.Command("memento", "--backend", backend, "ls", "--json", "--recursive").Output()
	if n := bytes.Count(out, []byte(`.md"`)); err != nil || n < processes*each+1 {
		t.Errorf("%d memories; want %d: %v", n, processes*each+1, err)
	}
}

// rawMCP is a call of the memory tool as a line.
func rawMCP(id int, input map[string]any) string {
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": map[string]any{
		"_meta": map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{}},
		"name":  "memory", "arguments": input,
	}})
	if err != nil {
		panic(err) // maps of strings always encode
	}
	return string(line) + "\n"
}

// The folder in which Claude Code keeps its own memories, opened in place: what it writes
// by itself has a history, and what others write is in its files.
func TestMCPOwnFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".claude", "projects", "-home-me-app", "memory")
	write := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("MEMORY.md", "# Project\n\n- [Debugging](debugging.md)\n")
	write("debugging.md", "Run make debug.\n")
	session, _ := startMCP(t, t.TempDir(), "2026-07-28", "--backend", "dir:"+filepath.ToSlash(dir)+"?root=.", "mcp", "--history")
	if got := callMCP(t, session, "memory_search", map[string]any{"query": "make debug"}); !strings.Contains(got, "/memories/debugging.md") {
		t.Errorf("the search found %s", got)
	}
	versions := func() string {
		return callMCP(t, session, "memory_history", map[string]any{"path": "/memories/MEMORY.md"})
	}
	before := strings.Count(versions(), "memver_")
	write("MEMORY.md", "# Project\n\n- [Debugging](debugging.md)\n- Uses PostgreSQL\n")
	proctest.Until(t, "the save is a version", func() bool { return strings.Count(versions(), "memver_") > before })
	if got := callMCP(t, session, "memory", map[string]any{"command": "str_replace", "path": "/memories/MEMORY.md", "old_str": "PostgreSQL", "new_str": "SQLite"}); strings.Contains(got, "Error") {
		t.Error(got)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "MEMORY.md")); err != nil || !strings.Contains(string(text), "- Uses SQLite") {
		t.Errorf("the file is %q, %v", text, err)
	}
}
