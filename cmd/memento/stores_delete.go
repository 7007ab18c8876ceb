package main

import (
	"memento"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

func (a *app) storesDeleteCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a store with its memories and history",
		Long:  "Delete permanently deletes a store with all its memories and their history.",
		Example: `  memento stores delete team-2024
  memento stores delete --yes memstore_01kb...`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(1, a.completeStores),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withFound(cmd.Context(), args[0], func(b memento.Backend, info memento.StoreInfo) error {
				err := a.confirm(cmd.Context(), yes, "Delete store %s (%s) with %s and all history?", line(info.Name), info.ID,
					plural(int(info.Usage.Memories), "memory", "memories"))
				if err != nil {
					return err
				}
				if err := b.DeleteStore(cmd.Context(), a.workspace(), info.ID); err != nil {
					return err
				}
				if a.json {
					return a.writeJSON(wire.Deleted{ID: string(info.ID), Type: "memory_store_deleted"})
				}
				a.say("deleted store %s (%s)", line(info.Name), info.ID)
				return nil
			})
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	return c
}
