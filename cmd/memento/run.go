package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"memento/backend/embedding"
	"memento/sensitive"

	"github.com/spf13/cobra"
)

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	a := newApp(stdin, stdout, stderr)
	defer func() {
		// A panic is a bug in memento. Print a message without a stack.
		if fault := recover(); fault != nil {
			fmt.Fprintf(stderr, "memento: internal error: %v\nmemento: hint: this is a bug in memento; please report it with the command that you ran\n", fault)
			code = exitFailure
		}
	}()
	root := a.rootCommand()
	root.SetArgs(args)
	a.json = slices.Contains(args, "--json") // for errors of the command line itself
	err := root.ExecuteContext(ctx)
	if flushed := a.out.Flush(); err == nil {
		err = flushed
	}
	return a.report(err)
}

// An app is one run of the program.
type app struct {
	stdin  io.Reader
	stdout io.Writer // unbuffered
	out    *bufio.Writer
	stderr io.Writer
	now    func() time.Time

	detector *sensitive.Detector
	meaning  *embedding.Searcher // while a command searches by meaning; else nil

	stdinTTY, stdoutTTY, stderrTTY bool
	colour                         bool // whether stdout gets colours

	running bool // whether the command line was parsed without errors

	serving bool     // whether this is "serve", which logs the warnings
	exposed []string // warnings about files: see storeurl.Exposed

	// Flags of all commands.
	backendURL string
	keyFile    string

	usedKeyFile string // the file that the API key was read from; "" for none

	encryptionFile string
	encryptNames   bool

	workspaceName string
	storeName     string
	json          bool
	quiet         bool
	profile       *profile // once it was read; see usedProfile
	profileName   string
	version       bool // --version without a command
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *app {
	a := &app{
		stdin:     stdin,
		stdout:    stdout,
		out:       bufio.NewWriterSize(stdout, 32<<10),
		stderr:    stderr,
		now:       time.Now,
		detector:  sensitive.Default(),
		stdinTTY:  isTerminal(stdin),
		stdoutTTY: isTerminal(stdout),
		stderrTTY: isTerminal(stderr),
	}
	a.colour = a.stdoutTTY && wantsColour()
	return a
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "memento",
		Short: "Storage for Claude's memory tool",
		Long: `memento stores the memories of Claude: small text files in stores, with history,
limits and safe concurrent edits. "memento tool" executes the calls of Claude's
memory tool. The other commands are for users and administrators.

Paths are relative to the store: the agent's path /memories/notes/a.md is
/notes/a.md here.`,
		Example: `  memento tool < calls.jsonl          execute the calls of an agent
  memento ls                          list the memories
  memento log /notes/a.md             list the versions of a memory
  memento restore --as-of 2h          restore the state of two hours ago`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.version {
				return a.printVersion()
			}
			return cmd.Help()
		},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.Flags().BoolVar(&a.version, "version", false, "print the version")
	flags := root.PersistentFlags()
	flags.StringVarP(&a.backendURL, "backend", "b", "", "`URL` of the backend: sqlite:PATH, dir:PATH, postgres://HOST/DATABASE, s3://BUCKET/PREFIX, https://HOST or mem: (env MEMENTO_BACKEND)")
	flags.StringVar(&a.keyFile, "key-file", "", "`file` with the API key for a server (env MEMENTO_KEY_FILE, or the key itself in MEMENTO_KEY)")
	flags.StringVar(&a.encryptionFile, "encryption-keys", "", "`file` with the encryption keys (env MEMENTO_ENCRYPTION_KEYS_FILE, or the keys themselves in MEMENTO_ENCRYPTION_KEYS)")
	flags.BoolVar(&a.encryptNames, "encrypt-names", false, "with encryption, new stores also encrypt the paths of memories (env MEMENTO_ENCRYPTION_NAMES)")
	flags.StringVarP(&a.storeName, "store", "s", "", "`NAME` or ID of the store (env MEMENTO_STORE; default \"default\")")
	flags.StringVar(&a.workspaceName, "workspace", "", "`NAME` of the workspace of the stores (env MEMENTO_WORKSPACE; default \"default\", or that of the key for a server)")
	flags.BoolVar(&a.json, "json", false, "print JSON, one object per line")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print errors only")
	root.SetIn(a.stdin)
	root.SetOut(a.out)
	root.SetErr(a.stderr)

	const agents, memories, history, stores, maintenance, serving, other = "agents", "memories", "history", "stores", "maintenance", "serving", "other"
	root.AddGroup(
		&cobra.Group{ID: agents, Title: "For agents:"},
		&cobra.Group{ID: memories, Title: "Memories:"},
		&cobra.Group{ID: history, Title: "History:"},
		&cobra.Group{ID: stores, Title: "Stores:"},
		&cobra.Group{ID: maintenance, Title: "Maintenance:"},
		&cobra.Group{ID: serving, Title: "Server:"},
		&cobra.Group{ID: other, Title: "Other:"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(agents, a.toolCommand(), a.mcpCommand(), a.chatCommand(), a.demoCommand())
	add(memories, a.lsCommand(), a.catCommand(), a.putCommand(), a.editCommand(), a.cpCommand(), a.mvCommand(), a.rmCommand(), a.searchCommand())
	add(history, a.logCommand(), a.diffCommand(), a.restoreCommand(), a.undoCommand(), a.redactCommand())
	add(stores, a.storesCommand(), a.statsCommand(), a.protectCommand(), a.unprotectCommand(), a.exportCommand(), a.importCommand(), a.syncCommand())
	add(maintenance, a.scanCommand(), a.expireCommand(), a.gcCommand(), a.maintainCommand(), a.backupCommand(), a.copyCommand(), a.doctorCommand())
	add(serving, a.serveCommand(), a.consoleCommand(), a.configCommand(), a.gatewayCommand(), a.keysCommand(), a.encryptionCommand())
	add(other, a.profileCommand(), a.versionCommand())
	root.AddCommand(exitCodesTopic(), flagsTopic(), a.manCommand())
	root.SetHelpCommand(helpCommand())
	root.SetUsageFunc(usageText)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommandGroupID(other)
	root.SetCompletionCommandGroupID(other)
	_ = root.RegisterFlagCompletionFunc("store", a.completeStores)
	_ = root.RegisterFlagCompletionFunc("backend", completeBackends)
	_ = root.RegisterFlagCompletionFunc("workspace", a.completeWorkspaces)
	a.watch(root)
	return root
}

// watch makes every command set running. Errors before that are usage errors.
func (a *app) watch(c *cobra.Command) {
	checkArgs(c)
	if do := c.RunE; do != nil {
		c.RunE = func(cmd *cobra.Command, args []string) error {
			if err := checkGlobalFlags(cmd); err != nil {
				return err
			}
			a.running = true
			return do(cmd, args)
		}
	}
	for _, sub := range c.Commands() {
		a.watch(sub)
	}
}
