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
		Short: "Bring back a version, or everything as of a time",
		Long: `Restore writes the contents of a version back to its memory, wherever that is now;
a memory that was removed comes back where it was.

With --as-of, it brings the whole store back to what it was at a time, as one
change. --dry-run only shows what would be done. Restoring is a change like any
other, and can be restored itself.`,
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
				return usage("--dry-run goes with --as-of")
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
	c.Flags().StringVar(&asOf, "as-of", "", "bring everything back to what it was at this `time`: "+timeForms)
	c.Flags().BoolVar(&dryRun, "dry-run", false, "only show what would be done")
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

// restored says what a restoration did, or would do.
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
		a.say("nothing to do: everything is as it was then")
	case dryRun:
		a.say("nothing was done; run it again without --dry-run")
	}
	if len(r.Lost) > 0 {
		a.say("note: what was lost is redacted or pruned and cannot come back; it was left as it is now")
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
