//go:build linux || darwin

package main

import (
	"bytes"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"memento/claude/claudetest"

	"github.com/creack/pty"
)

// A screen is a pseudo-terminal with the program in it.
type screen struct {
	tty *os.File
	cmd *exec.Cmd

	mu      sync.Mutex
	changed *sync.Cond
	shown   bytes.Buffer
	closed  bool
}

func startOnTerminal(t *testing.T, args ...string) *screen {
	t.Helper()
	s := &screen{cmd: exec.CommandContext(t.Context(), "memento", args...)}
	s.changed = sync.NewCond(&s.mu)
	s.cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=")
	tty, err := pty.Start(s.cmd) // its controlling terminal, so that Ctrl-C is a signal
	if err != nil {
		t.Fatal(err)
	}
	s.tty = tty
	t.Cleanup(func() { tty.Close() })
	go func() {
		part := make([]byte, 4096)
		for {
			n, err := tty.Read(part)
			s.mu.Lock()
			s.shown.Write(part[:n])
			s.closed = err != nil // when the program ends
			s.changed.Broadcast()
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

// waitFor waits until the screen shows text that was not waited for before, and returns
// what it showed up to its end.
func (s *screen) waitFor(t *testing.T, text string) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if before, after, ok := strings.Cut(s.shown.String(), text); ok {
			s.shown.Reset()
			s.shown.WriteString(after)
			return before + text
		}
		if s.closed {
			t.Fatalf("the program has ended; waiting for %q it showed %q", text, &s.shown)
		}
		s.changed.Wait()
	}
}

func (s *screen) write(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(s.tty, text); err != nil {
		t.Fatal(err)
	}
}

const ctrlC, ctrlD = "\x03", "\x04"

// A user talks on a terminal, interrupts an answer with Ctrl-C, goes on, ends the chat,
// and resumes the conversation in another one.
func TestChatOnTerminal(t *testing.T) {
	chatWorld(t) // for the variables
	stall := make(chan struct{})
	var once sync.Once
	upstream := claudetest.New(visits(), &claudetest.Options{ChunkRunes: 10, Cut: func(request, event int) bool {
		if request == 0 && event == 6 {
			<-stall // the stream stays open, and nothing more comes
		}
		return false
	}})
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	t.Cleanup(func() { once.Do(func() { close(stall) }) })
	t.Setenv("ANTHROPIC_BASE_URL", server.URL)

	s := startOnTerminal(t, "chat")
	s.waitFor(t, "> ")
	s.write(t, "Tell me everything\n")
	s.waitFor(t, "word word ")
	s.write(t, ctrlC)
	s.waitFor(t, "interrupted; what was written is kept")
	s.waitFor(t, "> ")
	once.Do(func() { close(stall) })
	s.write(t, ctrlC) // at the prompt it ends the chat
	resume := s.waitFor(t, "--resume ")
	if !strings.Contains(resume, "session: sesn_") {
		t.Errorf("at the end it shows %q", resume)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}

	saved, err := filepath.Glob(filepath.Join(os.Getenv("XDG_DATA_HOME"), "memento", "sessions", "*.json"))
	if err != nil || len(saved) != 1 {
		t.Fatalf("the sessions are %v: %v", saved, err)
	}
	text, err := os.ReadFile(saved[0])
	if err != nil || !strings.Contains(string(text), `"text":"word word `) {
		t.Errorf("the session has not what was written: %s, %v", text, err)
	}

	// Another conversation, with calls: their notes are dim. Contents cannot control the terminal.
	s = startOnTerminal(t, "chat")
	s.waitFor(t, "> ")
	s.write(t, "I like tea\n")
	s.waitFor(t, "I look first.\r\n\x1b[2m· memory: view /memories\x1b[0m\r\n")
	s.waitFor(t, "Noted.\r\n")
	s.waitFor(t, "> ")
	s.write(t, ctrlD)
	s.waitFor(t, "--resume ")
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	s = startOnTerminal(t, "chat", "--continue")
	s.waitFor(t, "> ")
	s.write(t, "Are you there?\n")
	s.waitFor(t, "Still here.\r\n")
	s.write(t, "/quit\n")
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	s = startOnTerminal(t, "chat")
	s.waitFor(t, "> ")
	s.write(t, "Be evil\n")
	s.waitFor(t, `\x1b[31mred`)
	s.write(t, ctrlD)
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	for i, r := range upstream.Requests() {
		if r.Err != nil {
			t.Errorf("request %d was refused: %v", i, r.Err)
		}
	}
}
