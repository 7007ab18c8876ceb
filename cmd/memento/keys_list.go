package main

import (
	"github.com/spf13/cobra"
)

func (a *app) keysListCommand(ws *string) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the keys, oldest first",
		Long: `List shows the keys that let somebody in: when they were made, their roles and
workspaces, how they end, when they were used, to some minutes, and their names.`,
		Example: `  memento keys list
  memento keys list --all --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withKeyring(cmd.Context(), *ws, func(keys keyring) error {
				none := true
				for k, err := range keys.Keys(cmd.Context()) {
					if err != nil {
						return err
					}
					if !all && !k.Active(a.now()) {
						continue
					}
					none = false
					if err := a.showKey(k); err != nil {
						return err
					}
				}
				if none && !a.json {
					a.say("there are no keys that let anybody in; \"memento keys create\" makes one")
				}
				return nil
			})
		},
	}
	c.Flags().BoolVar(&all, "all", false, "those that were revoked or have expired too")
	return c
}
