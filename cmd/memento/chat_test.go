package main

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"memento/claude/claudetest"
)

// visits are two conversations: the second knows what the first has saved, and nothing
// else, because the user does not say it again.
func visits() *claudetest.Scenario {
	s, err := claudetest.Load([]byte(`
name: visits
model: claude-sonnet-5-5
conversations:
  - id: first
    turns:
      - {user: I like tea, say: "I look first.", calls: [{tool: memory, input: {command: view, path: /memories}}]}
      - calls: [{tool: memory, input: {command: create, path: /memories/user.md, file_text: "drink: tea\n"}}]
      - say: Noted.
      - say: "Still here."
  - id: second
    turns:
      - {user: "What do I like?", calls: [{tool: memory, input: {command: view, path: /memories/user.md}}]}
      - say: 'You like {{find "drink: ([a-z]+)"}}.'
  - id: long
    turns:
      - {user: Tell me everything, say: "` + strings.Repeat("word ", 500) + `"}
  - id: evil
    turns:
      - {user: Be evil, say: "\x1b[31mred"}
`))
	if err != nil {
		panic(err)
	}
	return s
}

// chatWorld sets the variables for an upstream and a store of its own, and returns the
// upstream.
func chatWorld(t *testing.T) *claudetest.Server {
	t.Helper()
	upstream := claudetest.New(visits(), &claudetest.Options{Key: "right"})
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	for name, value := range map[string]string{
		"HOME": dir, "XDG_DATA_HOME": dir, "LocalAppData": dir, "MEMENTO_BACKEND": "sqlite:" + filepath.Join(dir, "m.db"),
		"ANTHROPIC_BASE_URL": server.URL, "ANTHROPIC_API_KEY": "right", "ANTHROPIC_AUTH_TOKEN": "", "MEMENTO_STORE": "",
	} {
		t.Setenv(name, value)
	}
	return upstream
}

// expect runs the program and compares the exit code and standard output.
func expect(t *testing.T, stdin string, wantCode int, wantOut string, args ...string) (stderr string) {
	t.Helper()
	code, out, errs := runWith(t, stdin, args...)
	if code != wantCode || out != wantOut {
		t.Fatalf("%q: exit code %d, standard output %q; want %d and %q\n%s", args, code, out, wantCode, wantOut, errs)
	}
	return errs
}

func TestChatOnce(t *testing.T) {
	chatWorld(t)
	errs := expect(t, "", exitOK, "Noted.\n", "chat", "-p", "I like tea")
	id := regexp.MustCompile(`sesn_[0-9a-z]{26}`).FindString(errs)
	if id == "" || !strings.Contains(errs, "memory: create /memories/user.md\n") {
		t.Errorf("standard error: %q", errs)
	}
	expect(t, "", exitOK, "drink: tea\n", "cat", "/user.md")
	_, log, _ := runWith(t, "", "log")
	if !strings.Contains(log, "by session "+id) {
		t.Errorf("the history is %q; want session %s in it", log, id)
	}

	// The second conversation knows it from the memory alone.
	if errs := expect(t, "What do I like?", exitOK, "You like tea.\n", "chat", "-q", "-p", "-"); errs != "" {
		t.Errorf("with --quiet it says %q", errs)
	}
	// The first goes on, as it is the one that is named.
	code, out, errs := runWith(t, "", "chat", "--resume", id, "-p", "Are you there?", "--json")
	var answer struct {
		Session string `json:"session_id"`
		Text    string
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || code != exitOK || answer.Session != id || answer.Text != "Still here." {
		t.Errorf("%d, %q, %s, %v", code, out, errs, err)
	}

	_, list, _ := runWith(t, "", "chat", "sessions")
	lines := strings.Split(strings.TrimSpace(list), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], id) || !strings.HasSuffix(lines[0], "  default  I like tea") || !strings.HasSuffix(lines[1], "What do I like?") {
		t.Errorf("the sessions are %q", list)
	}
	if _, found, _ := runWith(t, "", "__complete", "chat", "--resume", ""); !strings.Contains(found, id+"\tI like tea\n") {
		t.Errorf("completed: %q", found)
	}
	expect(t, "", exitOK, "", "chat", "delete", id)
	expect(t, "", exitMissing, "", "chat", "--resume", id, "-p", "x")
	expect(t, "", exitMissing, "", "chat", "delete", id)
	expect(t, "", exitOK, "drink: tea\n", "cat", "/user.md")
}

func TestChatExitCodes(t *testing.T) {
	upstream := chatWorld(t)
	expect(t, "", exitUsage, "", "chat", "-p", "")
	expect(t, " \n", exitUsage, "", "chat", "-p", "-")
	expect(t, "", exitUsage, "", "chat", "--json")
	expect(t, "", exitUsage, "", "chat", "--max-tokens", "0", "-p", "x")
	expect(t, "", exitUsage, "", "chat", "--thinking", "hard", "-p", "x")
	expect(t, "", exitUsage, "", "chat", "--continue", "--resume", "sesn_1")
	expect(t, "", exitMissing, "", "chat", "--continue", "-p", "x")
	if n := len(upstream.Requests()); n != 0 {
		t.Errorf("%d requests were made", n)
	}

	code, out, errs := runWith(t, "", "chat", "-p", "Tell me everything", "--max-tokens", "20")
	if code != exitLimit || !strings.HasPrefix(out, "word word") || !strings.Contains(errs, "--max-tokens") {
		t.Errorf("cut off: %d, %q, %s", code, out, errs)
	}
	expect(t, "", exitUsage, "", "chat", "--continue", "--system", "another", "-p", "x")

	// The text is as it is where no terminal shows it.
	expect(t, "", exitOK, "\x1b[31mred\n", "chat", "-p", "Be evil")

	t.Setenv("ANTHROPIC_API_KEY", "wrong-canary")
	errs = expect(t, "", exitFailure, "", "chat", "-p", "I like tea")
	if !strings.Contains(errs, "hint: check the key in ANTHROPIC_API_KEY") || strings.Contains(errs, "canary") {
		t.Errorf("a wrong key: %s", errs)
	}
	t.Setenv("ANTHROPIC_API_KEY", "")
	errs = expect(t, "", exitFailure, "", "chat", "-p", "I like tea")
	if !strings.Contains(errs, "memento: there is no key for Claude's API\nmemento: hint: set ANTHROPIC_API_KEY") {
		t.Errorf("no key: %s", errs)
	}
	expect(t, "", exitFailure, "", "chat")

	// A gateway that is not there, and a database that cannot be opened.
	t.Setenv("ANTHROPIC_API_KEY", "right")
	errs = expect(t, "", exitFailure, "", "chat", "-p", "I like tea", "--base-url", "http://127.0.0.1:1")
	if !strings.Contains(errs, "memento chat --resume sesn_") {
		t.Errorf("a broken connection: %s", errs)
	}
	damaged := filepath.Join(t.TempDir(), "m.db")
	if err := os.WriteFile(damaged, []byte("no database at all, but a text"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, "", exitStorage, "", "chat", "-p", "I like tea", "--backend", "sqlite:"+damaged)
}

// Lines from a pipe are messages.
func TestChatLines(t *testing.T) {
	upstream := chatWorld(t)
	errs := expect(t, "I like tea\n\nAre you there?", exitOK, "I look first.\nNoted.\nStill here.\n", "chat")
	if strings.Contains(errs, "> ") || strings.Contains(errs, "\x1b") {
		t.Errorf("without a terminal it shows %q", errs)
	}
	for _, r := range upstream.Requests() {
		if r.Err != nil {
			t.Error(r.Err)
		}
	}
}
