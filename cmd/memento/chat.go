package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"memento"
	"memento/cmd/memento/internal/chat"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/spf13/cobra"
)

// defaultModel is the model of "memento chat".
const defaultModel = anthropic.ModelClaudeSonnet5_5

// maxMessage is the maximum length of a message of the user, in bytes.
const maxMessage = 1 << 20

// chatFlags are the flags of "chat".
type chatFlags struct {
	prompt    string
	model     string
	system    string
	topic     string
	thinking  string
	baseURL   string
	maxTokens int64
	resume    string
	latest    bool
}

func (a *app) chatCommand() *cobra.Command {
	f := &chatFlags{}
	c := &cobra.Command{
		Use:   "chat",
		Short: "Talk with Claude, which remembers",
		Long: `Chat is a conversation with Claude, which has a store as its memory: it looks there
before it answers, saves what is worth to be known the next time, and so goes on in
another conversation where it stopped in this one.

It needs a key of Claude's API in ANTHROPIC_API_KEY (or a token in
ANTHROPIC_AUTH_TOKEN). Ctrl-C interrupts an answer, and what has been written of it
is kept; Ctrl-D ends the chat. When the conversation grows long, the API clears old
tool results and summarizes.

Conversations are saved, as sessions, in the data directory, each in a file that only
you can read. --resume and --continue go on with one, also after an interruption or a
lost connection. The model, the store and the system prompt belong to the session.

With --prompt, chat answers one message: the answer, and nothing else, goes to
standard output, and the exit code says whether it is whole. The message "-" is read
from standard input. With --json, it prints one object: session_id and text.

Changes of memories are recorded under the session ID: "memento undo --session ID"
takes them back.`,
		Example: `  memento chat
  memento --store work chat --topic "decisions of the billing project"
  memento chat --continue
  memento chat -p "What do you know about my editor?"
  git diff | memento chat -p - --system "Write a commit message for this diff."`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.chat(cmd.Context(), f, cmd.Flags().Changed)
		},
	}
	flags := c.Flags()
	flags.StringVarP(&f.prompt, "prompt", "p", "", "answer one `message` and exit; \"-\" reads it from standard input")
	flags.StringVar(&f.model, "model", string(defaultModel), "the model")
	flags.StringVar(&f.system, "system", "", "system prompt: what Claude is told before the conversation")
	flags.StringVar(&f.topic, "topic", "", "what Claude is to remember, such as \"the user's dietary needs\"; anything else is not saved")
	flags.StringVar(&f.thinking, "thinking", "", "how Claude thinks before it answers: off, adaptive, or a number of tokens (default: as the model does)")
	flags.StringVar(&f.baseURL, "base-url", "", "`URL` of Claude's API, or of a gateway (env ANTHROPIC_BASE_URL)")
	flags.Int64Var(&f.maxTokens, "max-tokens", 16384, "maximum length of an answer in tokens, without thinking")
	flags.StringVar(&f.resume, "resume", "", "continue the session with this `ID`")
	flags.BoolVarP(&f.latest, "continue", "c", false, "continue the session that was used last")
	c.MarkFlagsMutuallyExclusive("resume", "continue")
	_ = c.RegisterFlagCompletionFunc("resume", a.completeSessions)
	_ = c.RegisterFlagCompletionFunc("thinking", cobra.FixedCompletions([]string{"off", "adaptive"}, cobra.ShellCompDirectiveNoFileComp))
	c.AddCommand(a.chatSessionsCommand(), a.chatDeleteCommand())
	return c
}

func (a *app) chat(ctx context.Context, f *chatFlags, given func(string) bool) error {
	oneShot := given("prompt")
	switch {
	case oneShot && f.prompt == "":
		return usage("--prompt is empty")
	case a.json && !oneShot:
		return usage("--json needs --prompt")
	case f.maxTokens < 1:
		return usage("--max-tokens is %d; it must be at least 1", f.maxTokens)
	}
	if _, _, err := chat.ParseThinking(f.thinking); err != nil {
		return usage("%w", err)
	}
	client, err := claudeClient(f.baseURL)
	if err != nil {
		return err
	}
	sessions, err := chatSessions()
	if err != nil {
		return err
	}
	session, err := a.openSession(sessions, f, given)
	if err != nil {
		return err
	}
	a.storeName = session.Store
	return a.withNewStore(ctx, func(s *memento.Store) error {
		tool := memento.NewTool(s, &memento.ToolOptions{Actor: memento.Actor{Kind: memento.ActorSession, ID: session.ID}})
		c := chat.Conversation{
			Client: client, Tool: tool, Session: session, Sessions: sessions, MaxTokens: f.maxTokens, Now: a.now,
		}
		if oneShot {
			return a.answerOnce(ctx, c, f.prompt)
		}
		return a.talk(ctx, c)
	})
}

// claudeClient returns a client of Claude's API.
func claudeClient(baseURL string) (anthropic.Client, error) {
	if os.Getenv("ANTHROPIC_API_KEY") == "" && os.Getenv("ANTHROPIC_AUTH_TOKEN") == "" {
		return anthropic.Client{}, hint(errors.New("there is no key for Claude's API"),
			"set ANTHROPIC_API_KEY; you get a key at https://platform.claude.com/settings/keys")
	}
	var opts []option.RequestOption
	if url := cmp.Or(baseURL, os.Getenv("ANTHROPIC_BASE_URL")); url != "" {
		opts = append(opts, option.WithBaseURL(url))
	}
	return anthropic.NewClient(opts...), nil
}

// chatSessions returns the saved sessions.
func chatSessions() (chat.Sessions, error) {
	dir, err := dataDir()
	return chat.Sessions{Dir: filepath.Join(dir, "memento", "sessions")}, err
}

// openSession returns the session that the flags name, or a new one.
func (a *app) openSession(sessions chat.Sessions, f *chatFlags, given func(string) bool) (*chat.Session, error) {
	if f.resume == "" && !f.latest {
		now := a.now().UTC()
		return &chat.Session{
			ID: newSession(now), Created: now, Updated: now, Store: a.chosenStore(),
			Model: f.model, System: f.system, Topic: f.topic, Thinking: f.thinking,
		}, nil
	}
	for _, fixed := range []string{"store", "model", "system", "topic", "thinking"} {
		if given(fixed) {
			return nil, usage("--%s belongs to the session, and cannot be changed when it is continued", fixed)
		}
	}
	if f.latest {
		return sessions.Latest()
	}
	return sessions.Load(f.resume)
}

// answerOnce answers one message, for scripts.
func (a *app) answerOnce(ctx context.Context, c chat.Conversation, message string) error {
	if message == "-" {
		var err error
		if message, err = a.readInput(ctx, "-"); err != nil {
			return err
		}
	}
	if strings.TrimSpace(message) == "" {
		return usage("the message is empty")
	}
	c.Screen = notesOnly{a}
	conversation, err := chat.New(ctx, c)
	if err != nil {
		return err
	}
	text, err := conversation.Answer(ctx, message)
	a.noteSession(c.Session)
	if err != nil && !errors.Is(err, chat.ErrCutOff) {
		return err
	}
	if a.json {
		return errors.Join(a.writeJSON(map[string]string{"session_id": c.Session.ID, "text": text}), err)
	}
	return errors.Join(a.print("%s\n", a.contents(strings.TrimSuffix(text, "\n"))), err)
}

// noteSession says how to go on with a session.
func (a *app) noteSession(s *chat.Session) {
	if len(s.Messages) > 0 {
		a.say("session: %s (memento chat --resume %s)", s.ID, s.ID)
	}
}

// notesOnly is the screen of one message.
type notesOnly struct{ *app }

func (notesOnly) Text(string)        {}
func (n notesOnly) Note(note string) { n.say("%s", printable(note)) }
func (n notesOnly) Again()           { n.say("the connection broke off; asking again") }

// talk is the conversation in a terminal.
func (a *app) talk(ctx context.Context, c chat.Conversation) error {
	// An interrupt ends an answer here, and not the program.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM)
	defer stop()

	t := &chat.Terminal{
		Out: a.stdout, Notes: a.stderr, Lines: chatLines(a), Interrupts: interrupts,
		Dim: a.dimNote, Printable: a.contents, Explain: func(err error) { a.report(err) },
	}
	if a.stdinTTY {
		t.Prompt = "> "
	}
	c.Screen = t
	conversation, err := chat.New(ctx, c)
	if err != nil {
		return err
	}
	if a.stdinTTY {
		a.say("%s, store %s; /help shows the commands", line(c.Session.Model), line(c.Session.Store))
	}
	err = t.Run(ctx, conversation)
	a.noteSession(c.Session)
	return err
}

// chatLines returns the lines of standard input.
func chatLines(a *app) <-chan chat.Line {
	lines := make(chan chat.Line)
	go func() {
		for l := range readLines(a.stdin, maxMessage) {
			next := chat.Line{Text: string(l.text), End: l.end || l.err != nil, Err: l.err}
			if l.tooLong {
				next.Err = fmt.Errorf("%w: a message can have at most %d bytes", memento.ErrTooLarge, maxMessage)
			}
			lines <- next
		}
	}()
	return lines
}

// dimNote makes a note on standard error less bright.
func (a *app) dimNote(text string) string {
	if !a.stderrTTY || !wantsColour() {
		return text
	}
	return "\x1b[" + string(dim) + "m" + text + "\x1b[0m"
}
