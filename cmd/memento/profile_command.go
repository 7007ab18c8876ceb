package main

import (
	"cmp"
	"path/filepath"
	"strings"

	"memento"
	"memento/backend/storeurl"

	"github.com/spf13/cobra"
)

func (a *app) profileCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "profile",
		Short: "Manage profiles: defaults for backend, store and key",
		Long: `A profile is a name for a backend with a workspace, a store, a key file and a file of
encryption keys. "profile use" selects the one whose values count where a flag and its
environment variable are not given; MEMENTO_PROFILE selects another for one command.
With --backend or MEMENTO_BACKEND no profile is used.

Profiles are in the file memento/profiles.json of the user's configuration directory
(~/.config on Linux). They name files with keys, and contain no secrets.`,
		Example: `  memento profile set work --backend https://memory.example.com --store team --key-file ~/.config/work.key
  memento profile use work
  MEMENTO_PROFILE=home memento ls
  memento profile list`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(a.profileListCommand(), a.profileShowCommand(), a.profileSetCommand(), a.profileUseCommand(), a.profileDeleteCommand())
	return c
}

// A profileJSON is a profile in --json output.
type profileJSON struct {
	Type    string `json:"type"` // "memento_profile"
	Name    string `json:"name"`
	Current bool   `json:"current"` // whether it is in use
	profile
}

func (a *app) profileListCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the profiles",
		Long:    "List prints the profiles in order of their names, with an asterisk at the one in use.",
		Example: "  memento profile list",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			all, err := loadProfiles()
			if err != nil {
				return err
			}
			for _, name := range all.names() {
				p := all.Profiles[name]
				if a.json {
					err = a.writeJSON(profileJSON{"memento_profile", name, name == all.Current, p})
				} else {
					mark := " "
					if name == all.Current {
						mark = "*"
					}
					err = a.print("%s %-16s  %s\n", mark, a.paint(bold, line(name)), line(strings.Join(strings.Fields(p.Backend+" "+p.Store), "  ")))
				}
				if err != nil {
					return err
				}
			}
			if len(all.Profiles) == 0 {
				a.say(`there are no profiles; "memento profile set" makes one`)
			}
			return nil
		},
	}
}

func (a *app) profileShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "show [NAME]",
		Short:             "Show a profile, or the one in use",
		Example:           "  memento profile show\n  memento profile show work --json",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: first(1, completeProfiles),
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := loadProfiles()
			if err != nil {
				return err
			}
			name := strings.Join(args, "")
			if name == "" {
				if _, name, err = a.usedProfile(); err != nil {
					return err
				}
			}
			if name == "" {
				a.say("no profile is in use")
				return nil
			}
			p, err := all.find(name)
			if err != nil {
				return err
			}
			if a.json {
				return a.writeJSON(profileJSON{"memento_profile", name, name == all.Current, p})
			}
			return a.printRows([][2]string{
				{"profile", name}, {"backend", p.Backend}, {"workspace", p.Workspace}, {"store", p.Store}, {"key file", p.KeyFile}, {"encryption", p.EncryptionKeys},
			})
		},
	}
}

func (a *app) profileSetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "set NAME --backend URL [flags]",
		Short: "Make or replace a profile",
		Long: `Set makes a profile from --backend, --workspace, --store, --key-file and
--encryption-keys, or replaces the one of this name. Relative paths are made absolute.`,
		Example: `  memento profile set home --backend sqlite:notes.db
  memento profile set work --backend https://memory.example.com --store team --key-file work.key`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(1, completeProfiles),
		RunE: func(_ *cobra.Command, args []string) error {
			if a.backendURL == "" {
				return usage("profile set needs --backend")
			}
			if name := memento.Workspace(args[0]); name.Check() != nil {
				return usage("a profile's name has 1 to 64 letters, digits, hyphens, dots and underscores")
			}
			p := profile{Backend: a.backendURL, Workspace: a.workspaceName, Store: a.storeName}
			if err := p.check(); err != nil {
				return err
			}
			var err error
			if p.Backend, err = absoluteBackend(p.Backend); err != nil {
				return err
			}
			for _, file := range []struct {
				to   *string
				from string
			}{{&p.KeyFile, a.keyFile}, {&p.EncryptionKeys, a.encryptionFile}} {
				if file.from == "" {
					continue
				}
				if *file.to, err = filepath.Abs(file.from); err != nil {
					return err
				}
			}
			all, err := loadProfiles()
			if err != nil {
				return err
			}
			all.Profiles[args[0]] = p
			if err := all.save(); err != nil {
				return err
			}
			a.say("profile %s is %s; \"memento profile use %[1]s\" selects it", args[0], line(cmp.Or(p.Backend, "-")))
			return nil
		},
	}
}

// absoluteBackend returns the URL of a backend with an absolute path, for programs that
// start in another directory.
func absoluteBackend(url string) (string, error) {
	scheme, path, ok := storeurl.Local(url)
	if !ok || filepath.IsAbs(path) {
		return url, nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	absolute := storeurl.SQLite(path)
	if scheme == "dir" {
		absolute = storeurl.Dir(path)
	}
	if _, query, asked := strings.Cut(url, "?"); asked {
		absolute += "?" + query
	}
	return absolute, nil
}

func (a *app) profileUseCommand() *cobra.Command {
	var none bool
	c := &cobra.Command{
		Use:               "use [NAME]",
		Short:             "Select the profile in use, or none",
		Example:           "  memento profile use work\n  memento profile use --none",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: first(1, completeProfiles),
		RunE: func(_ *cobra.Command, args []string) error {
			if none == (len(args) == 1) {
				return usage("give the name of a profile, or --none")
			}
			all, err := loadProfiles()
			if err != nil {
				return err
			}
			all.Current = strings.Join(args, "")
			if all.Current != "" {
				if _, err := all.find(all.Current); err != nil {
					return err
				}
			}
			if err := all.save(); err != nil {
				return err
			}
			if none {
				a.say("no profile is in use")
				return nil
			}
			a.say("profile %s is in use", all.Current)
			return nil
		},
	}
	c.Flags().BoolVar(&none, "none", false, "use no profile")
	return c
}

func (a *app) profileDeleteCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "delete NAME",
		Short:             "Delete a profile",
		Long:              "Delete removes a profile. Its backend is not touched.",
		Example:           "  memento profile delete work",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(1, completeProfiles),
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := loadProfiles()
			if err != nil {
				return err
			}
			if _, err := all.find(args[0]); err != nil {
				return err
			}
			delete(all.Profiles, args[0])
			if all.Current == args[0] {
				all.Current = ""
			}
			if err := all.save(); err != nil {
				return err
			}
			a.say("deleted profile %s", args[0])
			return nil
		},
	}
}

// completeProfiles suggests names of profiles.
func completeProfiles(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	all, err := loadProfiles()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var found []string
	for _, name := range all.names() {
		if strings.HasPrefix(name, typed) {
			found = append(found, cobra.CompletionWithDesc(name, all.Profiles[name].Backend))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}
