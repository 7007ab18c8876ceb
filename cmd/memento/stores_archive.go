package main

import (
	"memento"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

func (a *app) storesArchiveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "archive NAME",
		Short: "Make a store read-only permanently",
		Long: `Archive makes a store read-only permanently. Memories can still be removed and versions
redacted, but nothing new can be written. The name of the store becomes free; use the ID
to open the archived store.

As in the Memory Stores API, an archived store is never opened for writing again: its name
may belong to another one by now, and agents were told that it rests. To go on with what is
in it, import it with its history into a new store.`,
		Example: `  memento stores archive team-2025
  memento --store memstore_01kb... export - | memento --store team-2025 import -`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(1, a.completeStores),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withFound(cmd.Context(), args[0], func(b memento.Backend, info memento.StoreInfo) error {
				info, err := b.UpdateStore(cmd.Context(), a.workspace(), info.ID, memento.StoreUpdate{Archive: true})
				if err != nil {
					return err
				}
				if a.json {
					return a.writeJSON(wire.FromStore(info))
				}
				a.say("archived store %s; to read it, use --store %s", line(info.Name), info.ID)
				return nil
			})
		},
	}
}
