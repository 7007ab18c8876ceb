package main

import (
	"time"

	"memento/backend/apikey"

	"github.com/spf13/cobra"
)

func (a *app) keysCreateCommand() *cobra.Command {
	var (
		role    string
		expires = span{word: "never"}
	)
	c := &cobra.Command{
		Use:   "create NAME",
		Short: "Create an API key",
		Long: `Create creates an API key and prints its secret, and nothing else, to standard output.
The name describes what the key is for.`,
		Example: `  KEY=$(memento keys create ci --role write)
  memento keys create dashboard --role read --workspace team-a --expires 90d
  memento keys create laptop --role admin > ~/.config/memento.key`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if role == "" {
				return usage("--role is required: read, write or admin")
			}
			var ends time.Time
			switch {
			case !cmd.Flags().Changed("expires"):
			case expires.value < 0: // never
			case expires.value == 0:
				return usage("--expires must not be 0; give a duration, such as %s, or never", spanForms)
			default:
				ends = a.now().Add(expires.value)
			}
			return a.withKeyring(cmd.Context(), creating, func(keys keyring) error {
				k, secret, err := apikey.New(keys.Workspace(), args[0], apikey.Role(role), a.now(), ends)
				if err != nil {
					return err
				}
				if k, err = keys.CreateKey(cmd.Context(), k); err != nil {
					return err
				}
				return a.printSecret(k, secret)
			})
		},
	}
	expires.means = -1
	c.Flags().StringVar(&role, "role", "", "role of the key: read, write or admin")
	c.Flags().Var(&expires, "expires", "time until the key expires, such as "+spanForms+", or never (default never)")
	_ = c.RegisterFlagCompletionFunc("role", cobra.FixedCompletions([]string{"read", "write", "admin"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}
