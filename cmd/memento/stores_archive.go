package main

import (
	"memento"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

func (a *app) storesArchiveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "archive NAME",
		Short: "Close a store to new contents, for good",
		Long: `Archive closes a store for good: it can be read, memories can be removed from it and
versions redacted, but nothing new is taken. Its name becomes free; afterwards the
store is opened by its ID.`,
		Example:           "  memento stores archive team-2025",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(1, a.completeStores),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withFound(cmd.Context(), args[0], func(b memento.Backend, info memento.StoreInfo) error {
				info, err := b.UpdateStore(cmd.Context(), workspace, info.ID, memento.StoreUpdate{Archive: true})
				if err != nil {
					return err
				}
				if a.json {
					return a.writeJSON(wire.FromStore(info))
				}
				a.say("archived store %s; read it with --store %s", line(info.Name), info.ID)
				return nil
			})
		},
	}
}
