package main

import (
	"context"
	"fmt"

	"memento"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

func (a *app) storesArchiveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "archive NAME",
		Short: "Make a store read-only",
		Long: `Archive makes a store read-only. Memories can still be removed and versions redacted,
but nothing new can be written. The name of the store becomes free; use the ID to open
the archived store. "memento stores unarchive" takes it into use again.`,
		Example:           `  memento stores archive team-2025`,
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

func (a *app) storesUnarchiveCommand() *cobra.Command {
	var name string
	c := &cobra.Command{
		Use:   "unarchive NAME",
		Short: "Take an archived store into use again",
		Long: `Unarchive takes an archived store into use again, with its memories, history, settings and
limits. If another store has its name by now, use its ID and give it a new name.`,
		Example: `  memento stores unarchive team-2025
  memento stores unarchive memstore_01kb... --name team-2025-again`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(1, a.completeStores),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withFound(cmd.Context(), args[0], func(b memento.Backend, info memento.StoreInfo) error {
				if !info.Archived() {
					return hint(fmt.Errorf("%w: store %s is not archived", memento.ErrInvalid, line(info.Name)),
						`for an archived store of the same name, use its ID: "memento stores list --all"`)
				}
				u := memento.StoreUpdate{Unarchive: true, IfUpdatedAt: info.UpdatedAt}
				if name != "" {
					u.Name = &name
				} else if err := a.checkNameIsFree(cmd.Context(), b, info.Name); err != nil {
					return err
				}
				info, err := b.UpdateStore(cmd.Context(), a.workspace(), info.ID, u)
				if err != nil {
					return err
				}
				if a.json {
					return a.writeJSON(wire.FromStore(info))
				}
				a.say("store %s is in use again", line(info.Name))
				return nil
			})
		},
	}
	c.Flags().StringVar(&name, "name", "", "its new name")
	return c
}

// checkNameIsFree returns ErrExist if a store that is not archived has the name.
func (a *app) checkNameIsFree(ctx context.Context, b memento.Backend, name string) error {
	for info, err := range b.ListStores(ctx, a.workspace(), memento.StoreListOptions{Name: name}) {
		if err != nil {
			return err
		}
		return hint(fmt.Errorf("%w: another store, %s, is named %s by now", memento.ErrExist, info.ID, line(name)), "add --name with another name")
	}
	return nil
}
