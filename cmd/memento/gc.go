package main

import (
	"context"

	"memento"

	"github.com/spf13/cobra"
)

func (a *app) gcCommand() *cobra.Command {
	var dryRun, all bool
	c := &cobra.Command{
		Use:   "gc",
		Short: "Remove history that is no longer kept",
		Long: `Gc removes, for good, the versions that the store's settings do not ask to keep, and
gives their space back. The newest version of a memory always stays.

"memento maintain" does this now and then.`,
		Example: `  memento gc --dry-run
  memento stores settings --history-age 7d --history-versions 3
  memento gc --all-stores --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.gc(cmd.Context(), all, dryRun)
		},
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "only show what would be removed")
	addAllStores(c, &all)
	return c
}

func (a *app) gc(ctx context.Context, all, dryRun bool) error {
	return a.eachStore(ctx, all, func(s *memento.Store, info memento.StoreInfo) error {
		pruned, err := s.CollectHistory(ctx, a.now(), dryRun)
		switch {
		case err != nil:
			return err
		case a.json:
			return a.writeJSON(collectedJSON{
				Type: "memory_history_collection", Store: info.ID,
				Versions: pruned.Versions, Bytes: pruned.Bytes, DryRun: dryRun,
			})
		case dryRun:
			a.say("%s would be removed from store %s; nothing was done", describePruned(pruned), line(info.Name))
		default:
			a.say("removed %s from store %s", describePruned(pruned), line(info.Name))
		}
		return nil
	})
}

// describePruned sums up: "12 versions (3.4K)".
func describePruned(p memento.Pruned) string {
	return plural(int(p.Versions), "version", "versions") + " (" + humanSize(p.Bytes) + ")"
}
