package main

import (
	"fmt"

	"memento"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

func (a *app) storesRenameCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "rename NAME NEW",
		Short:             "Rename a store",
		Example:           "  memento stores rename team team-2026",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: first(1, a.completeStores),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, name := cmd.Context(), args[1]
			if isStoreID(name) {
				return usage("the name %q looks like an ID; choose another", name)
			}
			return a.withFound(ctx, args[0], func(b memento.Backend, info memento.StoreInfo) error {
				for other, err := range b.ListStores(ctx, a.workspace(), memento.StoreListOptions{Name: name}) {
					if err != nil {
						return err
					}
					if other.ID != info.ID {
						return fmt.Errorf("store %q %w", name, memento.ErrExist)
					}
				}
				info, err := b.UpdateStore(ctx, a.workspace(), info.ID, memento.StoreUpdate{Name: &name})
				if err != nil {
					return err
				}
				if a.json {
					return a.writeJSON(wire.FromStore(info))
				}
				a.say("renamed store %s to %s", line(args[0]), line(info.Name))
				return nil
			})
		},
	}
}
