package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// A Line is what the user wrote on a line, or the end of the input.
type Line struct {
	Text string
	End  bool
	Err  error // the line or the input cannot be read; with End, there is no further line
}

// A Terminal is a conversation in which the user writes lines and Claude answers.
type Terminal struct {
	Out   io.Writer // the answers
	Notes io.Writer // everything else
	Lines <-chan Line
	// Interrupts are the user's Ctrl-C: during an answer one ends the answer, and else the
	// conversation.
	Interrupts <-chan os.Signal

	Prompt    string              // shown before the user writes; "" if nobody sees it
	Dim       func(string) string // makes a note less bright
	Printable func(string) string // escapes what would harm a terminal
	Explain   func(error)         // shows an error with its hint

	atStart bool // whether the cursor is at the start of a line
}

const help = `Write a message and press Enter. Ctrl-C interrupts an answer, Ctrl-D ends the chat.
  /help     show this help
  /session  show how to resume this conversation
  /quit     end the chat`

// Run talks with the user until the input ends, the user ends the chat, or ctx ends. The
// screen of the conversation must be t.
func (t *Terminal) Run(ctx context.Context, c *Conversation) error {
	t.atStart = true
	for {
		text, ok, err := t.read(ctx)
		if err != nil || !ok {
			return err
		}
		switch text = strings.TrimSpace(text); text {
		case "":
		case "/quit", "/exit":
			return nil
		case "/help":
			t.say(help)
		case "/session":
			t.say(fmt.Sprintf("memento chat --resume %s", c.Session.ID))
		default:
			if err := t.answer(ctx, c, text); err != nil {
				return err
			}
		}
	}
}

// read reads a line. It returns false if the chat is to end.
func (t *Terminal) read(ctx context.Context) (string, bool, error) {
	fmt.Fprint(t.Notes, t.Prompt)
	select {
	case <-ctx.Done():
		return "", false, ctx.Err()
	case <-t.Interrupts:
		fmt.Fprintln(t.Notes)
		return "", false, nil
	case l := <-t.Lines:
		switch {
		case l.Err != nil && !l.End:
			t.Explain(l.Err)
			return "", true, nil
		case l.End && t.Prompt != "":
			fmt.Fprintln(t.Notes)
		}
		return l.Text, !l.End, l.Err
	}
}

// answer shows the answer to text. The error is that of ctx, or of writing; others were
// shown, and the chat goes on.
func (t *Terminal) answer(ctx context.Context, c *Conversation, text string) error {
	answering, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-t.Interrupts:
			stop()
		case <-answering.Done():
		}
	}()
	_, err := c.Answer(answering, text)
	stop()
	<-watched // an interrupt from here on is for the prompt
	t.endLine()
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.Canceled):
		t.Note("interrupted; what was written is kept")
		if others := withoutCancel(err); others != nil {
			t.Explain(others)
		}
	default:
		t.Explain(err)
	}
	return nil
}

// withoutCancel returns what was joined with context.Canceled, such as a failure to save.
func withoutCancel(err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	var others []error
	for _, e := range joined.Unwrap() {
		if !errors.Is(e, context.Canceled) {
			others = append(others, e)
		}
	}
	return errors.Join(others...)
}

// Text implements [Screen].
func (t *Terminal) Text(text string) {
	if text == "" {
		return
	}
	fmt.Fprint(t.Out, t.Printable(text))
	t.atStart = strings.HasSuffix(text, "\n")
}

// Note implements [Screen].
func (t *Terminal) Note(note string) {
	t.endLine()
	t.say(note)
}

// Again implements [Screen].
func (t *Terminal) Again() {
	t.Note("the connection broke off; asking again")
}

func (t *Terminal) endLine() {
	if !t.atStart {
		fmt.Fprintln(t.Out)
		t.atStart = true
	}
}

func (t *Terminal) say(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintln(t.Notes, t.Dim("· "+t.Printable(strings.TrimSuffix(line, "\n"))))
	}
}
