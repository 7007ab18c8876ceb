package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"memento"
	"memento/backend"

	"github.com/spf13/cobra"
)

// maxLine is the maximum length of a line of input, in bytes.
const maxLine = 16 << 20

// toolFlags are the flags of "tool" and its subcommands.
type toolFlags struct {
	mounts           []string
	session          string
	createOverwrites bool
	search           bool
	profile          string
	viewChars        int
}

func (a *app) toolCommand() *cobra.Command {
	f := &toolFlags{}
	c := &cobra.Command{
		Use:   "tool",
		Short: "Execute calls of Claude's memory tool",
		Long: `Tool executes calls of Claude's memory tool, memory_20250818.

Without arguments it reads JSON Lines from standard input: each line is the input
of a tool_use block, or the whole block. It executes them in order, and writes a
tool_result block on one line for each before it reads the next, so that a program
can keep it running:

  {"command":"view","path":"/memories"}
  {"type":"tool_use","id":"toolu_1","name":"memory","input":{"command":"view","path":"/memories"}}

For a line that cannot be executed it writes an error, and goes on with the next.
Empty lines are skipped. A line can have at most 16 MiB. The exit code is 0 at the
end of the input, even if commands failed: their results have "is_error": true.

With --mount the tool shows several stores: each is a directory in /memories, with
limits and settings of its own, and /memories has nothing else. Files cannot be
renamed from one store to another. STORE is a store's name or ID; a store that does
not exist is empty, and the first write makes it. NAME=STORE:ro is read-only.

The commands below execute one call and write the text of its result. A refusal
goes to standard error, with exit code 1. Paths are those of the agent, which start
with /memories.

Changes are recorded under a session: the one that --session names, or a new one for
each run.`,
		Example: `  memento tool < calls.jsonl
  memento --store team tool --session sesn_support_42 < calls.jsonl
  memento tool --mount user=alice --mount team=handbook:ro < calls.jsonl
  memento tool view /memories
  memento tool create /memories/notes.md --text "first line"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withTool(cmd.Context(), f, func(t *memento.Tool) error {
				return a.serve(cmd.Context(), t)
			})
		},
	}
	flags := c.PersistentFlags()
	flags.StringArrayVar(&f.mounts, "mount", nil, "show a store as a directory: `NAME=STORE`, or NAME=STORE:ro if it is read-only; can be repeated")
	flags.StringVar(&f.session, "session", "", "session ID to record changes under (env MEMENTO_SESSION; default a new one)")
	flags.BoolVar(&f.createOverwrites, "create-overwrites", false, "let create overwrite an existing file")
	flags.BoolVar(&f.search, "search", false, "let the agent search: a view of /memories/.search/WORDS shows the passages that match best")
	flags.StringVar(&f.profile, "profile", memento.ProfileDocumentation, "texts of the answers: documentation (those of the tool's documentation), or typescript or python (those of the SDKs' local tools)")
	flags.IntVar(&f.viewChars, "view-chars", 0, "maximum number of characters that one view of a file shows (default 16000)")
	_ = c.RegisterFlagCompletionFunc("mount", a.completeMounts)
	_ = c.RegisterFlagCompletionFunc("profile", cobra.FixedCompletions(memento.ProfileNames(), cobra.ShellCompDirectiveNoFileComp))
	c.AddCommand(a.toolViewCommand(f), a.toolCreateCommand(f), a.toolReplaceCommand(f),
		a.toolInsertCommand(f), a.toolDeleteCommand(f), a.toolRenameCommand(f))
	return c
}

// withTool opens the memory tool on the stores of the flags, calls do with it, and
// closes the backend.
func (a *app) withTool(ctx context.Context, f *toolFlags, do func(*memento.Tool) error) error {
	if f.viewChars < 0 {
		return usage("--view-chars is %d; it must not be negative", f.viewChars)
	}
	profile, err := memento.ProfileNamed(f.profile)
	if err != nil {
		return usageError{fmt.Errorf("--profile: %w", err)}
	}
	mounts, err := a.parseMounts(f.mounts)
	if err != nil {
		return err
	}
	session := f.session
	if session == "" {
		session = os.Getenv("MEMENTO_SESSION")
	}
	if session == "" {
		session = newSession(a.now())
	}
	if err := memento.CheckSessionID(session); err != nil {
		return usageError{fmt.Errorf("--session: %w", err)}
	}
	opts := &memento.ToolOptions{
		Actor:            memento.Actor{Kind: memento.ActorSession, ID: session},
		CreateOverwrites: f.createOverwrites,
		Search:           f.search,
		Profile:          profile,
		ViewChars:        f.viewChars,
		Logger:           slog.New(slog.NewTextHandler(a.stderr, nil)),
	}
	if len(mounts) == 0 {
		return a.withNewStore(ctx, func(s *memento.Store) error { return do(memento.NewTool(s, opts)) })
	}
	return a.withAccess(ctx, creating, func(b memento.Backend) error {
		t, err := a.openMounts(ctx, b, mounts, opts)
		if err != nil {
			return err
		}
		return do(t)
	})
}

// newSession returns the ID of a new session, in the form of the other IDs.
func newSession(at time.Time) string {
	_, id, _ := strings.Cut(string(backend.NewMemoryID(at)), "_")
	return "sesn_" + id
}

// serve executes the lines of standard input until it ends.
func (a *app) serve(ctx context.Context, t *memento.Tool) error {
	if a.stdinTTY {
		a.say("reading JSON Lines from the terminal; end with Ctrl-D")
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	lines := readLines(a.stdin, maxLine)
	for {
		var l inputLine
		select {
		case <-ctx.Done():
			return ctx.Err()
		case l = <-lines:
		}
		var block memento.ResultBlock
		switch {
		case l.err != nil:
			return fmt.Errorf("read standard input: %w", l.err)
		case l.end:
			return nil
		case l.tooLong:
			block = memento.TooLong(maxLine)
		case len(bytes.TrimSpace(l.text)) == 0:
			continue
		default:
			block = t.RunBlock(ctx, l.text)
		}
		out.Reset()
		if err := enc.Encode(block); err != nil {
			return err
		}
		// One write, without a buffer: the program at the other end waits for it.
		if _, err := a.stdout.Write(out.Bytes()); err != nil {
			return err
		}
	}
}
