package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"unicode"

	"memento"
	"memento/mcpserver"

	"github.com/spf13/cobra"
)

// mcpFlags are the flags of "mcp".
type mcpFlags struct {
	mounts    []string
	session   string
	tools     string
	readOnly  bool
	history   bool
	viewChars int
	search    bool
	project   string
}

func (a *app) mcpCommand() *cobra.Command {
	f := &mcpFlags{}
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Give an agent memory over the Model Context Protocol",
		Long: `Mcp is a server of the Model Context Protocol on standard input and output. A client,
such as an editor, a desktop assistant or a coding agent, starts it and offers its tools to
a model. It ends when its input ends. "memento mcp install" configures clients; "memento
serve" has the same at /mcp, for clients of other machines.

The tool memory has the six commands of Claude's memory tool; with --tools six each is a
tool of its own, which some clients handle better. memory_search finds memories by words,
and shows the lines around each match. With --history the model can also see the history
and restore versions. Clients can read the memories as resources, and are told when
somebody else changes them. A listing, a search or a page of the history has at most
16,000 bytes, about 4,000 tokens, and says how to go on.

With --mount the memory has several stores: each is a directory in /memories. In the name
of a store, "{project}" stands for the project that the client works on: the folder of
--project, or the first that the client names, or the working directory, and of a Git
repository the whole.

Changes are recorded under a session: the one that --session names, or a new one with the
name of the client. Messages for people go to standard error.`,
		Example: `  memento mcp
  memento mcp --store "{project}"
  memento mcp --mount project={project} --mount me=me --mount team=handbook:ro
  memento --backend dir:$HOME/.notes mcp --read-only
  memento --backend https://memory.example.com --key-file key mcp --tools six`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.mcp(cmd.Context(), f) },
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.mounts, "mount", nil, "show a store as a directory: `NAME=STORE`, or NAME=STORE:ro if it is read-only; can be repeated")
	flags.StringVar(&f.session, "session", "", "session ID to record changes under (env MEMENTO_SESSION; default a new one)")
	flags.StringVar(&f.tools, "tools", string(mcpserver.OneTool), "form of the commands: one (the tool memory) or six (a tool for each command)")
	flags.BoolVar(&f.readOnly, "read-only", false, "let the agent read everything, but change nothing")
	flags.BoolVar(&f.history, "history", false, "let the agent see the history and restore versions")
	flags.BoolVar(&f.search, "search", false, "let the agent also search by views of /memories/.search/WORDS")
	flags.IntVar(&f.viewChars, "view-chars", 0, "maximum number of characters that one view of a file shows (default 16000)")
	flags.StringVar(&f.project, "project", "", "`folder` of the project that {project} stands for, in names of stores (default: what the client says, or the working directory)")
	_ = c.MarkFlagDirname("project")
	_ = c.RegisterFlagCompletionFunc("mount", a.completeMounts)
	_ = c.RegisterFlagCompletionFunc("tools", cobra.FixedCompletions([]string{string(mcpserver.OneTool), string(mcpserver.SixTools)}, cobra.ShellCompDirectiveNoFileComp))
	c.AddCommand(a.mcpInstallCommand(c, f), a.mcpUninstallCommand())
	return c
}

// checkMCP returns the mounts of the flags, or what is wrong with the flags.
func (a *app) checkMCP(f *mcpFlags) ([]mountFlag, error) {
	if f.viewChars < 0 {
		return nil, usage("--view-chars is %d; it must not be negative", f.viewChars)
	}
	if tools := mcpserver.ToolSet(f.tools); tools != mcpserver.OneTool && tools != mcpserver.SixTools {
		return nil, usage("--tools is %s or %s, not %q", mcpserver.OneTool, mcpserver.SixTools, f.tools)
	}
	if _, err := a.mcpSession(f, mcpserver.Client{}); err != nil {
		return nil, err
	}
	return a.parseMounts(f.mounts)
}

// mcp serves one client on standard input and output.
func (a *app) mcp(ctx context.Context, f *mcpFlags) error {
	mounts, err := a.checkMCP(f)
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	how := creating
	how.meaning = true
	return a.withAccess(ctx, how, func(b memento.Backend) error {
		defer watch(ctx, b)()
		idle := startIdleTimer()
		defer idle.stop()
		s, err := mcpserver.New(mcpserver.Options{
			Open: func(ctx context.Context, client mcpserver.Client) (mcpserver.Memory, error) {
				session, err := a.mcpSession(f, client)
				if err != nil {
					return mcpserver.Memory{}, err
				}
				shown, err := a.mcpMounts(ctx, b, f, mounts, client)
				return mcpserver.Memory{Mounts: shown, Tool: memento.ToolOptions{
					Actor: memento.Actor{Kind: memento.ActorSession, ID: session}, ViewChars: f.viewChars, Search: f.search,
				}}, err
			},
			Tools: mcpserver.ToolSet(f.tools), ReadOnly: f.readOnly, History: f.history,
			Version: build().Version, Logger: logger,
			ToolCalled: func(context.Context, mcpserver.ToolCall) { idle.used() },
		})
		if err != nil {
			return usageError{err}
		}
		defer s.Close()
		return s.Serve(ctx, a.stdin, a.stdout)
	})
}

// mcpSession returns the ID that the client's changes are recorded under.
func (a *app) mcpSession(f *mcpFlags, client mcpserver.Client) (string, error) {
	if given := cmp.Or(f.session, os.Getenv("MEMENTO_SESSION")); given != "" {
		if err := memento.CheckSessionID(given); err != nil {
			return "", usageError{fmt.Errorf("--session: %w", err)}
		}
		return given, nil
	}
	session := newSession(a.now())
	name := strings.Trim(strings.Map(func(r rune) rune {
		if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '.' || r == '_') {
			return r
		}
		return '-'
	}, client.Name), "-")
	if name != "" {
		session += "-" + name[:min(len(name), 40)]
	}
	return session, nil
}

// mcpMounts opens the mounts of the flags; without any, the selected store.
func (a *app) mcpMounts(ctx context.Context, b memento.Backend, f *mcpFlags, mounts []mountFlag, client mcpserver.Client) ([]memento.Mount, error) {
	if len(mounts) == 0 {
		mounts = []mountFlag{{store: a.chosenStore()}}
	}
	var (
		opened  []memento.Mount
		project string
	)
	for _, m := range mounts {
		if strings.Contains(m.store, projectPlaceholder) {
			if project == "" {
				var err error
				if project, err = projectOf(ctx, f.project, client); err != nil {
					return nil, err
				}
			}
			m.store = strings.ReplaceAll(m.store, projectPlaceholder, project)
		}
		s, err := a.openNamed(ctx, b, memento.StoreSpec{Name: m.store})
		if err != nil {
			return nil, err
		}
		opened = append(opened, memento.Mount{Name: m.name, Store: s, ReadOnly: m.readOnly})
	}
	return opened, nil
}
