package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"memento"
	"memento/history"

	"github.com/spf13/cobra"
)

func (a *app) restoreCommand() *cobra.Command {
	var (
		asOf   string
		dryRun bool
	)
	c := &cobra.Command{
		Use:   "restore PATH | restore VERSION | restore --as-of TIME [PATH]",
		Short: "Undo the last change of a memory, or restore a version or a time",
		Long: `Restore PATH undoes the last change of one memory: it gets the contents and the path that
it had before, a removed memory comes back, and a new one is removed. To undo that, run
the same command again.

Restore VERSION writes the contents of a version to its memory, at the current path of
the memory. A removed memory is restored at its old path.

With --as-of it restores the state at a time, in one atomic change: of the memory or the
directory at PATH, or of the whole store. With --dry-run it only shows what would change.
A restore adds versions to the history, so it can itself be undone.`,
		Example: `  memento restore /notes/a.md
  memento restore memver_01kb...
  memento restore --as-of yesterday /notes
  memento restore --as-of 2h --dry-run
  memento restore --as-of "2026-11-20 09:00"`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: first(1, a.completePathThenVersions),
		RunE: func(cmd *cobra.Command, args []string) error {
			version := len(args) == 1 && isVersionID(args[0])
			switch {
			case version && asOf != "":
				return usage("give a version or --as-of, not both")
			case len(args) == 0 && asOf == "":
				return usage("restore needs a path, a version, or a time with --as-of: memento restore PATH")
			case version && dryRun:
				return usage("--dry-run is for paths and --as-of")
			case version:
				return a.withStore(cmd.Context(), func(s *memento.Store) error {
					return a.restoreVersion(cmd.Context(), s, args[0])
				})
			}
			return a.withStore(cmd.Context(), func(s *memento.Store) error {
				return a.restorePath(cmd.Context(), s, strings.Join(args, ""), asOf, dryRun)
			})
		},
	}
	a.addAsOf(c, &asOf, "restore the state of this `time`: "+timeForms)
	c.Flags().BoolVar(&dryRun, "dry-run", false, "show what would change, and change nothing")
	return c
}

// restorePath restores what was at a path ("" for the whole store) at a time or, without a
// time, undoes the last change of the memory there.
func (a *app) restorePath(ctx context.Context, s *memento.Store, typed, asOf string, dryRun bool) error {
	p := memento.Root
	var err error
	if typed != "" {
		if p, err = storeDir(ctx, s, typed); err != nil {
			return err
		}
	}
	var r history.Restoration
	if asOf == "" {
		r, err = history.UndoLast(ctx, s, person(), p, dryRun)
		if errors.Is(err, memento.ErrIsDir) {
			return hint(err, "restore a directory to its state at a time with --as-of")
		}
	} else {
		var at time.Time
		if at, err = a.pastTime(asOf); err != nil {
			return err
		}
		r, err = history.RestorePathAsOf(ctx, s, person(), p, at, dryRun)
	}
	if err != nil {
		return err
	}
	a.noteMasked(r.Masked)
	return a.restored(r, dryRun)
}

func (a *app) restoreVersion(ctx context.Context, s *memento.Store, typed string) error {
	id, err := versionID(ctx, s, typed)
	if err != nil {
		return err
	}
	p, masked, err := history.RestoreVersion(ctx, s, person(), id)
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
func (a *app) restored(r history.Restoration, dryRun bool) error {
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
		a.say("nothing to do: everything is in this state already")
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
