package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"time"

	"memento/sensitive"

	"github.com/spf13/cobra"
)

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	a := newApp(stdin, stdout, stderr)
	defer func() {
		// A fault of memento itself: said in a sentence, without a stack.
		if fault := recover(); fault != nil {
			fmt.Fprintf(stderr, "memento: internal error: %v\nmemento: hint: this is a fault in memento; please report it with the command that you ran\n", fault)
			code = exitFailure
		}
	}()
	root := a.rootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if flushed := a.out.Flush(); err == nil {
		err = flushed
	}
	return a.report(err)
}

// An app is one run of the program.
type app struct {
	stdin  io.Reader
	stdout io.Writer // bare, for what must leave at once
	out    *bufio.Writer
	stderr io.Writer
	now    func() time.Time

	detector *sensitive.Detector

	stdinTTY, stdoutTTY, stderrTTY bool
	colour                         bool // of what goes to stdout

	running bool // whether the command line was understood

	serving bool     // whether a server is run, whose log has the warnings
	exposed []string // what there is to warn of then, see storeurl.Exposed

	// Flags of all commands.
	backendURL string
	keyFile    string

	encryptionFile string
	encryptNames   bool

	storeName string
	json      bool
	quiet     bool
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
		Short: "A home for what Claude remembers",
		Long: `memento keeps what Claude remembers: small text files in stores, with history,
limits and safe concurrent edits. "memento tool" executes the calls of Claude's
memory tool; the other commands are for people.

Paths are those of a store: what an agent calls /memories/notes/a.md is
/notes/a.md here.`,
		Example: `  memento tool < calls.jsonl          execute an agent's calls
  memento ls                          see what is remembered
  memento log /notes/a.md             see how it came to be
  memento restore --as-of 2h          bring back what was two hours ago`,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.backendURL, "backend", "", "where memories are: sqlite:PATH, dir:PATH, postgres://HOST/DATABASE, s3://BUCKET/PREFIX, https://HOST or mem: (env MEMENTO_BACKEND)")
	flags.StringVar(&a.keyFile, "key-file", "", "file with the key of a server (env MEMENTO_KEY_FILE, or the key itself in MEMENTO_KEY)")
	flags.StringVar(&a.encryptionFile, "encryption-keys", "", "`file` with the keys for encryption at rest (env MEMENTO_ENCRYPTION_KEYS_FILE, or the keys themselves in MEMENTO_ENCRYPTION_KEYS)")
	flags.BoolVar(&a.encryptNames, "encrypt-names", false, "with encryption, encrypt the names of memories, too, in stores that are made (env MEMENTO_ENCRYPTION_NAMES)")
	flags.StringVar(&a.storeName, "store", "", "name or ID of the store (env MEMENTO_STORE; default \"default\")")
	flags.BoolVar(&a.json, "json", false, "write JSON, an object a line")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "say nothing but errors")
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
	add(agents, a.toolCommand())
	add(memories, a.lsCommand(), a.catCommand(), a.putCommand(), a.editCommand(), a.mvCommand(), a.rmCommand(), a.searchCommand())
	add(history, a.logCommand(), a.diffCommand(), a.restoreCommand(), a.undoCommand(), a.redactCommand())
	add(stores, a.storesCommand(), a.statsCommand(), a.protectCommand(), a.unprotectCommand(), a.exportCommand(), a.importCommand())
	add(maintenance, a.scanCommand(), a.expireCommand(), a.gcCommand(), a.maintainCommand(), a.backupCommand(), a.restoreBackupCommand(), a.copyCommand(), a.doctorCommand())
	add(serving, a.serveCommand(), a.configCommand(), a.keysCommand())
	add(other, a.versionCommand())
	root.AddCommand(exitCodesTopic())
	root.SetHelpCommandGroupID(other)
	root.SetCompletionCommandGroupID(other)
	_ = root.RegisterFlagCompletionFunc("store", a.completeStores)
	a.watch(root)
	return root
}

// watch makes every command note that it is running: an error before that is
// one of the command line.
func (a *app) watch(c *cobra.Command) {
	if do := c.RunE; do != nil {
		c.RunE = func(cmd *cobra.Command, args []string) error {
			a.running = true
			return do(cmd, args)
		}
	}
	for _, sub := range c.Commands() {
		a.watch(sub)
	}
}
