package main

import (
	"errors"

	"memento/server"

	"github.com/spf13/cobra"
)

func (a *app) configCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Check or show the configuration of a server",
		Long: `The configuration of "memento serve" comes from flags, from environment variables
that begin with MEMENTO_, and from one YAML file. Flags override the environment, and the
environment overrides the file. The commands below accept the same flags as "serve".`,
		Example: `  memento config check --config memento.yaml
  memento config show --config memento.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(a.configCheckCommand(), a.configShowCommand())
	return c
}

func (a *app) configCheckCommand() *cobra.Command {
	var f *configFlags
	c := &cobra.Command{
		Use:   "check",
		Short: "Check a configuration for errors",
		Long: `Check lists all errors of a configuration. It reads the files that the configuration
names, but does not open the backend, listen on the addresses or connect to other
servers. The exit code is 6 if there are errors.`,
		Example: `  memento config check --config memento.yaml
  memento config check --config memento.yaml --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := a.loadChecked(f)
			faults, ok := errors.AsType[server.ConfigErrors](err)
			if err != nil && !ok {
				return err
			}
			if a.json {
				if err := a.writeJSON(checkedJSONOf(faults)); err != nil {
					return err
				}
			}
			for _, fault := range faults {
				if !a.json {
					if err := a.print("%s\n", line(fault.String())); err != nil {
						return err
					}
				}
			}
			if len(faults) > 0 {
				return silence(exitInvalid)
			}
			a.say("the configuration is valid")
			return nil
		},
	}
	f = a.addConfigFlags(c)
	return c
}

func (a *app) configShowCommand() *cobra.Command {
	var f *configFlags
	c := &cobra.Command{
		Use:   "show",
		Short: "Print the effective configuration",
		Long: `Show prints the effective configuration as YAML, with the source of each value.
Secrets are left out.`,
		Example: `  memento config show
  memento config show --config memento.yaml --log-level debug`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return usage("show prints YAML; leave out --json")
			}
			c, err := a.load(f)
			if err != nil {
				return a.reportConfigErrors(err)
			}
			text, err := c.YAML()
			if err != nil {
				return err
			}
			return a.print("%s", printable(string(text)))
		},
	}
	f = a.addConfigFlags(c)
	return c
}

// What "config check --json" writes.
type checkedJSON struct {
	Type   string      `json:"type"` // "memento_config_check"
	Valid  bool        `json:"valid"`
	Faults []faultJSON `json:"faults"`
}

type faultJSON struct {
	Setting string        `json:"setting"` // "" for the file as a whole
	Source  server.Source `json:"source"`
	Name    string        `json:"name,omitempty"` // of the flag or the environment variable
	Line    int           `json:"line,omitempty"` // in the file
	Message string        `json:"message"`
}

func checkedJSONOf(faults server.ConfigErrors) checkedJSON {
	j := checkedJSON{Type: "memento_config_check", Valid: len(faults) == 0, Faults: []faultJSON{}}
	for _, f := range faults {
		j.Faults = append(j.Faults, faultJSON(f))
	}
	return j
}
