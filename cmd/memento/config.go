package main

import (
	"errors"

	"memento/server"

	"github.com/spf13/cobra"
)

func (a *app) configCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Look at the configuration of a server",
		Long: `The configuration of "memento serve" comes from flags, from variables of the
environment that begin with MEMENTO_, and from one YAML file; flags count for more than
the environment, and that for more than the file. The commands below take the flags
that "serve" takes.`,
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
		Short: "Find everything that is wrong with a configuration",
		Long: `Check finds what is wrong with a configuration, but for what only starting shows:
whether the backend opens, addresses are free, and others can be reached. It reads the
files that the configuration names, and opens nothing else. It lists all it finds, and
then ends with exit code 6.`,
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
		Short: "Show the configuration that would be used",
		Long: `Show writes the configuration as a YAML file that would give it, with where each
setting has its value from. Secrets are left out.`,
		Example: `  memento config show
  memento config show --config memento.yaml --log-level debug`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return usage("what show writes is YAML; leave out --json")
			}
			c, err := a.load(f)
			if err != nil {
				return a.explainFaults(err)
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
	Setting string        `json:"setting"` // "" for the file as such
	Source  server.Source `json:"source"`
	Name    string        `json:"name,omitempty"` // of the flag or the variable
	Line    int           `json:"line,omitempty"` // of the file
	Message string        `json:"message"`
}

func checkedJSONOf(faults server.ConfigErrors) checkedJSON {
	j := checkedJSON{Type: "memento_config_check", Valid: len(faults) == 0, Faults: []faultJSON{}}
	for _, f := range faults {
		j.Faults = append(j.Faults, faultJSON(f))
	}
	return j
}
