package main

import (
	"errors"
	"time"

	"memento"
	"memento/backend/apikey"

	"github.com/spf13/cobra"
)

func (a *app) keysRotateCommand() *cobra.Command {
	grace := span{value: 24 * time.Hour}
	c := &cobra.Command{
		Use:   "rotate ID",
		Short: "Replace an API key with a new one",
		Long: `Rotate creates a key with the same name, role and expiry as an existing one, and prints
its secret, and nothing else, to standard output. The old key still works for the grace
period.`,
		Example: `  KEY=$(memento keys rotate apikey_01kb...)
  memento keys rotate apikey_01kb... --grace 0`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(1, a.completeKeys),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withKeyring(cmd.Context(), access{}, func(keys keyring) error {
				// RotateKey replaces the name and the role by those of the old key.
				next, secret, err := apikey.New(keys.Workspace(), "new", apikey.RoleRead, a.now(), time.Time{})
				if err != nil {
					return err
				}
				id, err := keyID(keys.Keys(cmd.Context()), args[0])
				if err != nil {
					return err
				}
				if next, err = keys.RotateKey(cmd.Context(), id, grace.value, next); err != nil {
					return noKey(err)
				}
				return a.printSecret(next, secret)
			})
		},
	}
	c.Flags().Var(&grace, "grace", "how long the old key still works, such as "+spanForms+" (default 1d)")
	return c
}

// noKey adds a hint to the error for a key that does not exist.
func noKey(err error) error {
	if errors.Is(err, memento.ErrNotExist) {
		return hint(err, `"memento keys list --all" lists the keys with their IDs`)
	}
	return err
}
