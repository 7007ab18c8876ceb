package main

import (
	"cmp"
	"context"
	"log/slog"
	"os"

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
}

func (a *app) mcpCommand() *cobra.Command {
	f := &mcpFlags{}
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Give an agent memory over the Model Context Protocol",
		Long: `Mcp is an MCP server on standard input and output: a client, such as an editor or a
desktop assistant, starts it and gives its tools to a model. It ends with its input.`,
		Example: `  memento mcp
  memento mcp --store work --tools six`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.mcp(cmd.Context(), f) },
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.mounts, "mount", nil, "show a store as a directory: `NAME=STORE`, or NAME=STORE:ro if it is read-only; can be repeated")
	flags.StringVar(&f.session, "session", "", "session ID to record changes under (env MEMENTO_SESSION; default a new one)")
	flags.StringVar(&f.tools, "tools", string(mcpserver.OneTool), "form of the commands: one (the tool memory) or six (a tool for each command)")
	flags.BoolVar(&f.readOnly, "read-only", false, "let the agent read everything, but change nothing")
	flags.BoolVar(&f.history, "history", false, "let the agent see the history and restore versions")
	flags.IntVar(&f.viewChars, "view-chars", 0, "maximum number of characters that one view of a file shows (default 16000)")
	_ = c.RegisterFlagCompletionFunc("mount", a.completeMounts)
	_ = c.RegisterFlagCompletionFunc("tools", cobra.FixedCompletions([]string{string(mcpserver.OneTool), string(mcpserver.SixTools)}, cobra.ShellCompDirectiveNoFileComp))
	c.AddCommand(a.mcpInstallCommand(c), a.mcpUninstallCommand())
	return c
}

// mcp serves one client on standard input and output.
func (a *app) mcp(ctx context.Context, f *mcpFlags) error {
	if f.viewChars < 0 {
		return usage("--view-chars is %d; it must not be negative", f.viewChars)
	}
	mounts, err := a.parseMounts(f.mounts)
	if err != nil {
		return err
	}
	session := cmp.Or(f.session, os.Getenv("MEMENTO_SESSION"), newSession(a.now()))
	if err := memento.CheckSessionID(session); err != nil {
		return usage("--session: %w", err)
	}
	logger := slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return a.withAccess(ctx, creating, func(b memento.Backend) error {
		defer watch(ctx, b)()
		s, err := mcpserver.New(mcpserver.Options{
			Open: func(ctx context.Context, _ mcpserver.Client) (mcpserver.Memory, error) {
				shown, err := a.mcpMounts(ctx, b, mounts)
				return mcpserver.Memory{Mounts: shown, Tool: memento.ToolOptions{
					Actor: memento.Actor{Kind: memento.ActorSession, ID: session}, ViewChars: f.viewChars,
				}}, err
			},
			Tools: mcpserver.ToolSet(f.tools), ReadOnly: f.readOnly, History: f.history,
			Version: build().Version, Logger: logger,
		})
		if err != nil {
			return usageError{err}
		}
		defer s.Close()
		return s.Serve(ctx, a.stdin, a.stdout)
	})
}

// mcpMounts opens the mounts of the flags; without any, the selected store.
func (a *app) mcpMounts(ctx context.Context, b memento.Backend, flags []mountFlag) (mounts []memento.Mount, err error) {
	if len(flags) == 0 {
		s, err := a.openStore(ctx, b, memento.StoreSpec{})
		return []memento.Mount{{Store: s}}, err
	}
	return a.openEachMount(ctx, b, flags)
}
