package main

import (
	"memento"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

func (a *app) keysRevokeCommand(ws *string) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: "End a key, for good",
		Long: `Revoke ends a key at once, for good. A server that has the file open lets its holder in
for some seconds more.`,
		Example:           "  memento keys revoke apikey_01kb...",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(1, a.completeKeys),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withKeyring(cmd.Context(), *ws, func(keys keyring) error {
				k, err := keys.RevokeKey(cmd.Context(), memento.KeyID(args[0]))
				if err != nil {
					return noKey(err)
				}
				if a.json {
					return a.writeJSON(wire.FromKey(k))
				}
				a.say("revoked key %s (%s) of workspace %s", line(k.Name), k.ID, k.Workspace)
				return nil
			})
		},
	}
}
