package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"memento/cmd/memento/internal/clientconfig"
	"memento/internal/placeholder"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// clientFlags are the flags of "mcp install" and "mcp uninstall".
type clientFlags struct {
	name   string // of the entry
	scope  string
	file   string
	yes    bool
	dryRun bool
}

func (f *clientFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.name, "name", "memento", "`NAME` of the server in the client")
	flags.StringVar(&f.scope, "scope", string(clientconfig.User), "for whom: user (the current user, everywhere) or project (everybody, in the current directory)")
	flags.StringVar(&f.file, "file", "", "configuration `file` of the client, instead of the usual one")
	flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask for confirmation")
	flags.BoolVarP(&f.dryRun, "dry-run", "n", false, "show the difference, and change nothing")
	scopes := []string{string(clientconfig.User), string(clientconfig.Project)}
	_ = c.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions(scopes, cobra.ShellCompDirectiveNoFileComp))
}

// mcpInstallCommand is "mcp install". The flags of the server are flags of it, too.
func (a *app) mcpInstallCommand(server *cobra.Command, flags *mcpFlags) *cobra.Command {
	var f clientFlags
	var list bool
	var program, profileName string
	var own []*pflag.Flag // of the server
	c := &cobra.Command{
		Use:   "install CLIENT [flags] | install --list",
		Short: "Configure a client to start the server",
		Long: `Install adds memento to the servers that a client starts: it shows the difference of the
client's configuration file, asks, and writes it. Comments and other servers stay as they
are. The file as it was is kept beside it, with ".before-" and the name of the server at
the end; "memento mcp uninstall" restores it.

The clients are ` + clientNames() + `.

The flags of "memento mcp", and --backend, --store, --workspace, --key-file,
--encryption-keys and --encrypt-names, become the arguments of the server. Relative paths
are made absolute. With a profile, the server uses what the profile says when it starts.
Variables of the environment are not written: a client has an environment of its own.

Of a server that was installed before, only the command and its arguments are changed.`,
		Example: `  memento mcp install --list
  memento mcp install claude-code
  memento mcp install cursor --scope project --store my-project --dry-run
  memento mcp install claude-desktop --name notes --backend dir:notes --read-only`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: first(1, completeClients),
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				if len(args) > 0 {
					return usage("with --list give no client")
				}
				return a.listClients(&f)
			}
			if len(args) == 0 {
				return usage("install needs a client: %s", clientNames())
			}
			if _, err := a.checkMCP(flags); err != nil {
				return err
			}
			s, err := a.clientServer(own, program, profileName)
			if err != nil {
				return err
			}
			return a.installClient(cmd.Context(), &f, args[0], s)
		},
	}
	f.add(c)
	c.Flags().BoolVar(&list, "list", false, "list the clients: which are found, and which have the server")
	c.Flags().StringVar(&program, "command", "", "`program` that the client starts, if not this one; a name is searched in the client's PATH")
	c.Flags().StringVar(&profileName, "profile", "", "`NAME` of the profile that the server uses")
	_ = c.RegisterFlagCompletionFunc("profile", completeProfiles)
	server.Flags().VisitAll(func(flag *pflag.Flag) {
		if flag.Name != "session" { // one session is one start of the server
			own = append(own, flag)
			c.Flags().AddFlag(flag)
		}
	})
	return c
}

func (a *app) mcpUninstallCommand() *cobra.Command {
	var f clientFlags
	c := &cobra.Command{
		Use:   "uninstall CLIENT",
		Short: "Remove the server from the configuration of a client",
		Long: `Uninstall removes memento from the servers that a client starts, after it has shown the
difference. If nothing else has changed since "memento mcp install", the file is again
what it was, byte for byte. Memories are not touched.`,
		Example:           "  memento mcp uninstall claude-code\n  memento mcp uninstall cursor --scope project --yes",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(1, completeClients),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.uninstallClient(cmd.Context(), &f, args[0])
		},
	}
	f.add(c)
	return c
}

// clientNames lists the names of the clients.
func clientNames() string {
	names := clientconfig.Names()
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// completeClients suggests names of clients.
func completeClients(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var found []string
	for _, c := range clientconfig.Clients {
		if strings.HasPrefix(c.Name, typed) {
			found = append(found, cobra.CompletionWithDesc(c.Name, c.Title))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// thisSystem describes where the clients of the current user are.
func thisSystem() (s clientconfig.System, err error) {
	s = clientconfig.System{OS: runtime.GOOS, Env: os.Getenv, Glob: filepath.Glob}
	if s.Home, err = os.UserHomeDir(); err != nil {
		return s, hint(err, "give the client's configuration file with --file")
	}
	s.Folder, err = os.Getwd()
	return s, err
}

// openClient returns a client and its configuration file.
func openClient(f *clientFlags, name string) (c clientconfig.Client, file *clientconfig.File, err error) {
	c, ok := clientconfig.Find(name)
	if !ok {
		if better := near(name, clientconfig.Names()); better != "" {
			return c, nil, usage("there is no client %q; did you mean %q?", name, better)
		}
		return c, nil, usage("there is no client %q; there are %s", name, clientNames())
	}
	if f.scope != string(clientconfig.User) && f.scope != string(clientconfig.Project) {
		return c, nil, usage("--scope is user or project, not %q", f.scope)
	}
	if f.file != "" {
		path, err := filepath.Abs(f.file)
		if err != nil {
			return c, nil, err
		}
		file, err = clientconfig.Open(path, "")
		return c, file, err
	}
	s, err := thisSystem()
	if err != nil {
		return c, nil, err
	}
	path, err := c.Path(s, clientconfig.Scope(f.scope))
	if err != nil {
		return c, nil, usage("%s has no configuration for a project; leave out --scope, or give a file with --file", c.Title)
	}
	root := ""
	if f.scope == string(clientconfig.Project) {
		root = s.Folder
	}
	file, err = clientconfig.Open(path, root)
	return c, file, err
}

// clientServer returns what a client is to start, from the flags of install.
func (a *app) clientServer(own []*pflag.Flag, program, profileName string) (s clientconfig.Server, err error) {
	// A variable that an earlier install has set is removed.
	s = clientconfig.Server{Command: program, Args: []string{"mcp"}, Env: map[string]string{profileVariable: profileName}}
	if program == "" {
		if s.Command, err = thisProgram(); err != nil {
			return s, hint(err, "give the program with --command")
		}
	}
	if profileName != "" {
		if a.backendURL != "" {
			return s, usage("give --profile or --backend: with a backend no profile is used")
		}
		all, err := loadProfiles()
		if err != nil {
			return s, err
		}
		if _, err := all.find(profileName); err != nil {
			return s, err
		}
	}
	backend := a.backendURL
	if backend != "" {
		if err := (profile{Backend: backend}).check(); err != nil {
			return s, err
		}
		if backend, err = absoluteBackend(backend); err != nil {
			return s, err
		}
	}
	files := map[string]string{"key-file": a.keyFile, "encryption-keys": a.encryptionFile}
	for name, file := range files {
		if file == "" {
			continue
		}
		if files[name], err = filepath.Abs(file); err != nil {
			return s, err
		}
	}
	for _, flag := range [][2]string{
		{"backend", backend}, {"workspace", a.workspaceName}, {"store", a.storeName},
		{"key-file", files["key-file"]}, {"encryption-keys", files["encryption-keys"]},
	} {
		if flag[1] != "" {
			s.Args = append(s.Args, "--"+flag[0], flag[1])
		}
	}
	if a.encryptNames {
		s.Args = append(s.Args, "--encrypt-names")
	}
	for _, flag := range own {
		many, repeated := flag.Value.(pflag.SliceValue)
		switch {
		case !flag.Changed:
		case repeated:
			for _, value := range many.GetSlice() {
				s.Args = append(s.Args, "--"+flag.Name, value)
			}
		case flag.Value.Type() == "bool":
			s.Args = append(s.Args, "--"+flag.Name+strings.TrimSuffix("="+flag.Value.String(), "=true"))
		case flag.Annotations[cobra.BashCompSubdirsInDir] != nil: // a folder
			folder, err := filepath.Abs(flag.Value.String())
			if err != nil {
				return s, err
			}
			s.Args = append(s.Args, "--"+flag.Name, folder)
		default:
			s.Args = append(s.Args, "--"+flag.Name, flag.Value.String())
		}
	}
	return s, nil
}

// thisProgram returns the absolute path of this program: the one under which it was found,
// which may be a link that stays when a newer version is installed.
func thisProgram() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	if strings.Contains(path, string(filepath.Separator)+"go-build") {
		return "", errors.New(`"go run" removes this program when it ends`)
	}
	found, err := exec.LookPath(os.Args[0])
	if err == nil {
		found, err = filepath.Abs(found)
	}
	if err != nil {
		return path, nil
	}
	own, err := os.Stat(path)
	other, errToo := os.Stat(found)
	if err == nil && errToo == nil && os.SameFile(own, other) {
		return found, nil
	}
	return path, nil
}

// An installationJSON is a change of a client's configuration.
type installationJSON struct {
	Type    string             `json:"type"` // "mcp_installation"
	Client  string             `json:"client"`
	Scope   clientconfig.Scope `json:"scope"`
	Path    string             `json:"path"`
	Name    string             `json:"name"`    // of the server
	Present bool               `json:"present"` // whether the client has the server now
	Changed bool               `json:"changed"`
	DryRun  bool               `json:"dry_run"`
	Backup  *string            `json:"backup"` // path; null if there is none
	Diff    string             `json:"diff"`   // "" if nothing changes; secrets are masked
}

// installClient adds a server to the configuration of a client.
func (a *app) installClient(ctx context.Context, f *clientFlags, client string, s clientconfig.Server) error {
	c, file, err := openClient(f, client)
	if err != nil {
		return err
	}
	text, err := c.Set(file.Text, f.name, s)
	if err != nil {
		return fmt.Errorf("%s: %w", file.Path, err)
	}
	if bytes.Equal(text, file.Text) {
		a.say("%s starts the server %s already; nothing was changed", c.Title, f.name)
		return a.printInstallation(f, c, file, text, true, false)
	}
	_, present, err := c.Get(file.Text, f.name)
	if err != nil {
		return err
	}
	if err := a.agreeOnDiff(ctx, f, c, file, text); err != nil {
		return err
	}
	if !f.dryRun {
		// The first version is what "uninstall" restores.
		if !present {
			if err := file.KeepBackup(f.name); err != nil {
				return err
			}
		}
		if err := file.Replace(text); err != nil {
			return err
		}
		a.say("%s starts the server %s from now on; restart it if it is running", c.Title, f.name)
	}
	return a.printInstallation(f, c, file, text, !f.dryRun || present, true)
}

// uninstallClient removes a server from the configuration of a client.
func (a *app) uninstallClient(ctx context.Context, f *clientFlags, client string) error {
	c, file, err := openClient(f, client)
	if err != nil {
		return err
	}
	text, present, err := c.Remove(file.Text, f.name)
	if err != nil {
		return fmt.Errorf("%s: %w", file.Path, err)
	}
	if !present {
		a.say("%s has no server %s; nothing was changed", c.Title, f.name)
		return a.printInstallation(f, c, file, file.Text, false, false)
	}
	first, existed, restored := file.Restored(c, f.name)
	if restored {
		text = first
	}
	if err := a.agreeOnDiff(ctx, f, c, file, text); err != nil {
		return err
	}
	if !f.dryRun {
		if restored && !existed {
			err = file.Remove()
		} else {
			err = file.Replace(text)
		}
		if err == nil && restored {
			if err = os.Remove(file.Backup(f.name)); errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		}
		if err != nil {
			return err
		}
		a.say("%s does not start the server %s any more; restart it if it is running", c.Title, f.name)
		if backup := file.Backup(f.name); !restored && exists(backup) {
			a.say("other parts of the file have changed and stay; as it was before the server is in %s", line(backup))
		}
	}
	return a.printInstallation(f, c, file, text, f.dryRun, true)
}

// agreeOnDiff shows what would change, and asks.
func (a *app) agreeOnDiff(ctx context.Context, f *clientFlags, c clientconfig.Client, file *clientconfig.File, text []byte) error {
	if !a.json {
		if err := a.printDiff(a.clientDiff(file, text)); err != nil {
			return err
		}
		if err := a.out.Flush(); err != nil {
			return err
		}
	}
	if f.dryRun {
		return nil
	}
	return a.ask(ctx, f.yes, "this changes the configuration of "+c.Title, "Change %s?", line(file.Path))
}

// clientDiff returns the difference of a client's file, with secrets masked: the lines around
// a change can be those of other servers.
func (a *app) clientDiff(file *clientconfig.File, text []byte) string {
	found := string(diff.Diff(file.Path, file.Text, file.Path, text))
	if _, unified, ok := strings.Cut(found, "\n"); ok {
		found = unified // without the first line, "diff OLD NEW"
	}
	var b strings.Builder
	end := 0
	for _, secret := range a.detector.Detect(found, false) {
		b.WriteString(found[end:secret.Start])
		b.WriteString(placeholder.Of(secret.Kind))
		end = secret.End
	}
	return b.String() + found[end:]
}

func (a *app) printInstallation(f *clientFlags, c clientconfig.Client, file *clientconfig.File, text []byte, present, changed bool) error {
	if !a.json {
		return nil
	}
	j := installationJSON{
		Type: "mcp_installation", Client: c.Name, Scope: clientconfig.Scope(f.scope), Path: file.Path, Name: f.name,
		Present: present, Changed: changed && !f.dryRun, DryRun: f.dryRun, Diff: a.clientDiff(file, text),
	}
	if backup := file.Backup(f.name); exists(backup) {
		j.Backup = &backup
	}
	return a.writeJSON(j)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// A clientJSON is a client with one of its configuration files.
type clientJSON struct {
	Type    string             `json:"type"` // "mcp_client"
	Client  string             `json:"client"`
	Title   string             `json:"title"`
	Found   bool               `json:"found"` // whether it seems to be installed
	Scope   clientconfig.Scope `json:"scope"`
	Path    string             `json:"path"`
	Name    string             `json:"name"`    // of the server
	Present bool               `json:"present"` // whether the file has the server
	Error   *string            `json:"error"`   // why the file cannot be read; null if it can
}

// listClients prints the clients, and whether they have the server.
func (a *app) listClients(f *clientFlags) error {
	s, err := thisSystem()
	if err != nil {
		return err
	}
	for _, c := range clientconfig.Clients {
		found := false
		for _, path := range c.Traces(s) {
			found = found || exists(path)
		}
		for _, scope := range clientconfig.Scopes {
			path, err := c.Path(s, scope)
			if errors.Is(err, clientconfig.ErrNoScope) {
				continue
			}
			j := clientJSON{Type: "mcp_client", Client: c.Name, Title: c.Title, Found: found, Scope: scope, Path: path, Name: f.name}
			file, err := clientconfig.Open(path, "")
			if err == nil {
				_, j.Present, err = c.Get(file.Text, f.name)
			}
			if err != nil {
				text := err.Error()
				j.Error = &text
			}
			if err := a.printClient(j); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *app) printClient(j clientJSON) error {
	if a.json {
		return a.writeJSON(j)
	}
	state := "not found"
	switch {
	case j.Error != nil:
		state = "unreadable"
	case j.Present:
		state = "installed"
	case j.Scope == clientconfig.Project:
		state = "-"
	case j.Found:
		state = "found"
	}
	return a.print("%-14s  %-7s  %-10s  %s\n", j.Client, j.Scope, state, line(j.Path))
}
