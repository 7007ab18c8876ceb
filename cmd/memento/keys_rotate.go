package main

import (
	"errors"
	"time"

	"memento"

	"github.com/spf13/cobra"
)

func (a *app) keysRotateCommand(ws *string) *cobra.Command {
	grace := span{value: 24 * time.Hour}
	c := &cobra.Command{
		Use:   "rotate ID",
		Short: "Make a key that takes the place of another",
		Long: `Rotate makes a key with the name, the role and the end of another, and writes it to
standard output, alone. The old one ends when the time of grace is over: until then
both let their holders in.`,
		Example: `  KEY=$(memento keys rotate apikey_01kb...)
  memento keys rotate apikey_01kb... --grace 0`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(1, a.completeKeys),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withKeyring(cmd.Context(), *ws, func(keys keyring) error {
				// The name and the role are those of the old key.
				next, secret, err := memento.NewKey(keys.Workspace(), "new", memento.RoleRead, a.now(), time.Time{})
				if err != nil {
					return err
				}
				if next, err = keys.RotateKey(cmd.Context(), memento.KeyID(args[0]), grace.value, next); err != nil {
					return noKey(err)
				}
				return a.tellSecret(next, secret)
			})
		},
	}
	c.Flags().Var(&grace, "grace", "how long the old key still lets its holder in, such as "+spanForms+" (default 1d)")
	return c
}

// noKey gives the next step to who has named no key.
func noKey(err error) error {
	if errors.Is(err, memento.ErrNotExist) {
		return hint(err, `"memento keys list --all" shows the keys, by their IDs`)
	}
	return err
}
