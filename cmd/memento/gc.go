package main

import (
	"context"
	"errors"

	"memento"
	"memento/maintenance"

	"github.com/spf13/cobra"
)

func (a *app) gcCommand() *cobra.Command {
	var dryRun, all, force bool
	c := &cobra.Command{
		Use:   "gc",
		Short: "Prune old versions from the history",
		Long: `Gc permanently removes the versions that the retention settings of the store do not
keep, and frees their space. The newest version of a memory is always kept.

"memento maintain" runs this regularly.
` + heldHelp,
		Example: `  memento gc --dry-run
  memento stores settings --history-age 7d --history-versions 3
  memento gc --all-stores --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.gc(cmd.Context(), all, force, dryRun)
		},
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be removed, and change nothing")
	addForce(c, &force)
	addAllStores(c, &all)
	return c
}

func (a *app) gc(ctx context.Context, all, force, dryRun bool) error {
	var t *maintenanceRun
	return a.eachStore(ctx, all, func(b memento.Backend, s *memento.Store, info memento.StoreInfo) (err error) {
		if t == nil {
			if t, err = a.beginMaintenance(ctx, b, force, dryRun); err != nil {
				return err
			}
		}
		pruned, failed := t.keeper.PruneHistory(ctx, s, t.ClockCheck, dryRun)
		held, isHeld := errors.AsType[*maintenance.HeldError](failed)
		switch {
		case failed != nil && !(isHeld && dryRun):
			return hintHeld(failed, "gc", info.ID)
		case a.json:
			if err := a.writeJSON(collectedJSON{
				Type: "memory_history_collection", Store: info.ID,
				Versions: pruned.Versions, Bytes: pruned.Bytes, DryRun: dryRun,
			}); err != nil {
				return err
			}
		case dryRun:
			a.say("%s would be removed from store %s; nothing was changed", describePruned(pruned), line(info.Name))
		default:
			a.say("removed %s from store %s", describePruned(pruned), line(info.Name))
		}
		if isHeld {
			a.sayHeld(held)
		}
		return nil
	})
}

// describePruned returns a summary: "12 versions (3.4K)".
func describePruned(p memento.Pruned) string {
	return plural(int(p.Versions), "version", "versions") + " (" + humanSize(p.Bytes) + ")"
}
