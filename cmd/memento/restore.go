package main

import (
	"context"
	"errors"

	"memento"

	"github.com/spf13/cobra"
)

func (a *app) restoreCommand() *cobra.Command {
	var (
		asOf   string
		dryRun bool
	)
	c := &cobra.Command{
		Use:   "restore VERSION | restore --as-of TIME",
		Short: "Restore a version, or the whole store as of a time",
		Long: `Restore writes the contents of a version to its memory, at the current path of the
memory. A removed memory is restored at its old path.

With --as-of it restores the whole store to its state at a time, in one atomic change.
With --dry-run it only shows what would change. A restore adds versions to the history,
so it can itself be undone.`,
		Example: `  memento restore memver_01kb...
  memento restore --as-of 2h --dry-run
  memento restore --as-of "2026-11-20 09:00"`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: first(1, a.completeVersions),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && asOf != "":
				return usage("give a version or --as-of, not both")
			case len(args) == 0 && asOf == "":
				return usage("give a version, or a time with --as-of")
			case len(args) == 1 && dryRun:
				return usage("--dry-run needs --as-of")
			case len(args) == 1:
				return a.withStore(cmd.Context(), func(s *memento.Store) error {
					return a.restoreVersion(cmd.Context(), s, memento.VersionID(args[0]))
				})
			}
			at, err := parseTime(asOf, a.now())
			if err != nil {
				return err
			}
			return a.withStore(cmd.Context(), func(s *memento.Store) error {
				r, err := s.RestoreAsOf(cmd.Context(), person(), at, dryRun)
				if err != nil {
					return err
				}
				a.noteMasked(r.Masked)
				return a.restored(r, dryRun)
			})
		},
	}
	c.Flags().StringVar(&asOf, "as-of", "", "restore the state of this `time`: "+timeForms)
	c.Flags().BoolVar(&dryRun, "dry-run", false, "show what would change, and change nothing")
	return c
}

func (a *app) restoreVersion(ctx context.Context, s *memento.Store, id memento.VersionID) error {
	p, masked, err := s.RestoreVersion(ctx, person(), id)
	switch {
	case errors.Is(err, memento.ErrNotExist):
		return versionError(err, id)
	case err != nil:
		return err
	}
	a.noteMasked(masked)
	if a.json {
		return a.writeJSON(restoredJSON{Type: "memory_restoration", Written: []memento.Path{p}, Removed: []memento.Path{}, Lost: []memento.Path{}})
	}
	a.say("restored %s", p)
	return nil
}

// restored prints what a restore changed, or would change.
func (a *app) restored(r memento.Restoration, dryRun bool) error {
	if a.json {
		return a.writeJSON(restoredJSON{
			Type: "memory_restoration", DryRun: dryRun,
			Written: orEmpty(r.Written), Removed: orEmpty(r.Removed), Lost: orEmpty(r.Lost),
		})
	}
	for _, step := range []struct {
		what  string
		paths []memento.Path
	}{{"write", r.Written}, {"remove", r.Removed}, {"lost", r.Lost}} {
		for _, p := range step.paths {
			if err := a.print("%-6s  %s\n", step.what, line(string(p))); err != nil {
				return err
			}
		}
	}
	switch {
	case len(r.Written)+len(r.Removed) == 0:
		a.say("nothing to do: the store is in this state already")
	case dryRun:
		a.say("nothing was changed; run it again without --dry-run")
	}
	if len(r.Lost) > 0 {
		a.say("note: lost versions are redacted or pruned and cannot be restored; these memories were not changed")
	}
	return nil
}

// orEmpty is paths, but never null in JSON.
func orEmpty(paths []memento.Path) []memento.Path {
	if paths == nil {
		return []memento.Path{}
	}
	return paths
}
