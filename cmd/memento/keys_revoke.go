package main

import (
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

func (a *app) keysRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: "Revoke an API key",
		Long: `Revoke disables a key permanently. Running servers may accept it for a few more
seconds.`,
		Example:           "  memento keys revoke apikey_01kb...",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(1, a.completeKeys),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withKeyring(cmd.Context(), access{}, func(keys keyring) error {
				id, err := keyID(keys.Keys(cmd.Context()), args[0])
				if err != nil {
					return err
				}
				k, err := keys.RevokeKey(cmd.Context(), id)
				if err != nil {
					return noKey(err)
				}
				if a.json {
					return a.writeJSON(wire.FromKey(k))
				}
				a.say("revoked key %s (%s) in workspace %s", line(k.Name), k.ID, k.Workspace)
				return nil
			})
		},
	}
}
