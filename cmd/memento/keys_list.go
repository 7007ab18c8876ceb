package main

import (
	"github.com/spf13/cobra"
)

func (a *app) keysListCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List API keys, oldest first",
		Long: `List prints the active keys with creation time, role, workspace, expiry, the time of
the last use (accurate to some minutes) and name.`,
		Example: `  memento keys list
  memento keys list --all --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withKeyring(cmd.Context(), access{}, func(keys keyring) error {
				none := true
				for k, err := range keys.Keys(cmd.Context()) {
					if err != nil {
						return err
					}
					if !all && !k.Active(a.now()) {
						continue
					}
					if none {
						if err := a.header("%-33s  %-16s  %-5s  %-8s  %-5s  %-21s  NAME", "ID", "CREATED", "ROLE", "WORKSPACE", "ENDS", "USED"); err != nil {
							return err
						}
					}
					none = false
					if err := a.showKey(k); err != nil {
						return err
					}
				}
				if none && !a.json {
					a.say("there are no active keys; \"memento keys create\" creates one")
				}
				return nil
			})
		},
	}
	c.Flags().BoolVar(&all, "all", false, "include revoked and expired keys")
	return c
}
