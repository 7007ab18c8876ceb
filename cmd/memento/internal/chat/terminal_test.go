package chat

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"memento/claude/claudetest"
)

// A typist is a user at a terminal.
type typist struct {
	lines      chan Line
	interrupts chan os.Signal
	out, notes bytes.Buffer
	errs       []error
}

func (u *typist) terminal() *Terminal {
	u.lines, u.interrupts = make(chan Line, 10), make(chan os.Signal, 1)
	return &Terminal{
		Out: &u.out, Notes: &u.notes, Lines: u.lines, Interrupts: u.interrupts, Prompt: "> ",
		Dim:       func(s string) string { return "<" + s + ">" },
		Printable: func(s string) string { return strings.ReplaceAll(s, "\x1b", "ESC") },
		Explain:   func(err error) { u.errs = append(u.errs, err) },
	}
}

func TestTerminal(t *testing.T) {
	u := &typist{}
	term := u.terminal()
	w := newWorld(t, nil, claudetest.Turn{User: "hello", Say: "evil \x1b[31m", Calls: []claudetest.Call{memoryCall("view", "/memories")}},
		claudetest.Turn{Say: "Bye."})
	c := w.open(t, "sesn_1")
	c.Screen = term
	for _, line := range []Line{{Text: "/help\n"}, {Text: " \n"}, {Err: io.ErrShortBuffer}, {Text: "hello\n"}, {Text: "/session"}, {End: true}} {
		u.lines <- line
	}
	if err := term.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if got, want := u.out.String(), "evil ESC[31m\nBye.\n"; got != want {
		t.Errorf("answers: %q; want %q", got, want)
	}
	for _, want := range []string{"<· memory: view /memories>\n", "<·   /quit ", "<· memento chat --resume sesn_1>\n"} {
		if !strings.Contains(u.notes.String(), want) {
			t.Errorf("the notes are %q; want %q in them", &u.notes, want)
		}
	}
	if got := strings.Count(u.notes.String(), "> "); got < 6 {
		t.Errorf("%d prompts", got)
	}
	if len(u.errs) != 1 || !errors.Is(u.errs[0], io.ErrShortBuffer) {
		t.Errorf("errors: %v", u.errs)
	}
}

// An interrupt during an answer ends the answer; at the prompt it ends the chat. An error
// ends neither.
func TestTerminalInterrupts(t *testing.T) {
	u := &typist{}
	term := u.terminal()
	interrupted := make(chan struct{})
	w := newWorld(t, &claudetest.Options{ChunkRunes: 2, Cut: func(request, event int) bool {
		switch {
		case request == 0 && event == 8:
			u.interrupts <- os.Interrupt
			<-interrupted // the stream stays open until the answer has ended
		case request > 0 && request <= attempts:
			return event == 4
		}
		return false
	}}, claudetest.Turn{User: "hello", Say: "a long answer"}, claudetest.Turn{Say: "ok"})
	c := w.open(t, "sesn_1")
	c.Screen = term
	u.lines <- Line{Text: "hello"}
	u.lines <- Line{Text: "hello again"}
	term.Dim = func(note string) string {
		if strings.Contains(note, "interrupted") {
			close(interrupted)
		}
		return "<" + note + ">"
	}
	term.Explain = func(err error) {
		u.errs = append(u.errs, err)
		u.interrupts <- os.Interrupt // at the prompt
	}
	if err := term.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(u.notes.String(), "<· interrupted; what was written is kept>") {
		t.Errorf("the notes are %q", &u.notes)
	}
	if len(u.errs) != 1 || !errors.Is(u.errs[0], ErrBroken) {
		t.Errorf("errors: %v", u.errs)
	}
	if got := texts(c.Session); len(got) == 0 || !strings.HasPrefix("a long answer", got[0]) {
		t.Errorf("kept: %q", got)
	}
}

func TestTerminalEnds(t *testing.T) {
	u := &typist{}
	term := u.terminal()
	w := newWorld(t, nil, tea...)
	c := w.open(t, "sesn_1")
	c.Screen = term
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := term.Run(ctx, c); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	u.lines <- Line{End: true, Err: io.ErrUnexpectedEOF}
	if err := term.Run(t.Context(), c); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}
