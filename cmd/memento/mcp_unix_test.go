//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"memento/test/proctest"
)

// The program ends when the client that has started it dies, whatever the client does last.
func TestMCPClientDies(t *testing.T) {
	client := exec.Command("sh", "-c", `mkfifo in && { memento --backend mem: mcp <in & } && exec 3>in && printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"ping"}' '{"half' >&3 && read wait`)
	client.Dir = t.TempDir()
	keep, err := client.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer keep.Close()
	out, err := client.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil {
		t.Fatalf("the first answer is %q, %v", line, err)
	}
	if err := client.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, lines) // until nobody has the other end of the pipe
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the program is still there")
	}
	_ = client.Wait()
}

// The hook of docs/mcp.md masks what an agent has written into its own folder, while a
// server keeps the folder's history.
func TestMCPOwnFolderHook(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "mcp.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, settings, _ := strings.Cut(string(text), "```json\n")
	settings, _, _ = strings.Cut(settings, "```")
	var hooks struct {
		Hooks struct {
			SessionEnd []struct {
				Hooks []struct{ Type, Command string }
			}
		}
	}
	if err := json.Unmarshal([]byte(settings), &hooks); err != nil || len(hooks.Hooks.SessionEnd) != 1 || len(hooks.Hooks.SessionEnd[0].Hooks) != 1 {
		t.Fatalf("the documented settings are %s, %v", settings, err)
	}
	hook := hooks.Hooks.SessionEnd[0].Hooks[0]
	home := t.TempDir()
	file := filepath.Join(home, ".claude", "projects", "-home-me-app", "memory", "MEMORY.md")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	secret := fakeSecrets["github-pat"]
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# Project\n")
	session, _ := startMCP(t, home, "2026-07-28", "--backend", "dir:"+filepath.Dir(file)+"?root=.", "mcp", "--history")
	versions := func() int {
		return strings.Count(callMCP(t, session, "memory_history", map[string]any{"path": "/memories/MEMORY.md"}), "memver_")
	}
	before := versions()
	write("# Project\n\nDeploy with " + secret + ".\n")
	proctest.Until(t, "the save is a version", func() bool { return versions() > before })
	run := func(command string) string {
		t.Helper()
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir, cmd.Env = home, append(os.Environ(), "HOME="+home)
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Contains(string(out), secret) {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return string(out)
	}
	if hook.Type != "command" {
		t.Errorf("the hook is a %s", hook.Type)
	}
	run(hook.Command)
	if now, err := os.ReadFile(file); err != nil || string(now) != "# Project\n\nDeploy with [REDACTED:github-pat].\n" {
		t.Errorf("the file is %q, %v", now, err)
	}
	if out := run(strings.TrimSuffix(hook.Command, " --fix --yes")); !strings.Contains(out, "nothing found") { // in the history, too
		t.Errorf("after the hook: %s", out)
	}
}
