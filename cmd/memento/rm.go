package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"memento"

	"github.com/spf13/cobra"
)

func (a *app) rmCommand() *cobra.Command {
	var recursive bool
	c := &cobra.Command{
		Use:   "rm PATH...",
		Short: "Remove memories, or directories with -r",
		Long: `Rm removes all given memories, or none if there is an error. With -r it also removes
directories with everything in them. Removed memories stay in the history: "memento
restore" restores them, "memento redact" erases them permanently. A memory can also be
given by its ID, for example if its path contains a secret.`,
		Example: `  memento rm /notes/a.md
  memento rm mem_01kb...
  memento rm -r /old /tmp`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completePaths,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withStore(cmd.Context(), func(s *memento.Store) error {
				paths, ids, err := toRemove(cmd.Context(), s, args)
				if err != nil {
					return err
				}
				return a.rm(cmd.Context(), s, paths, ids, recursive)
			})
		},
	}
	c.Flags().BoolVarP(&recursive, "recursive", "r", false, "also remove directories with everything in them")
	return c
}

// toRemove returns the paths and the IDs that the arguments name.
func toRemove(ctx context.Context, s *memento.Store, args []string) (paths []memento.Path, ids []memento.MemoryID, err error) {
	for _, arg := range args {
		if isMemoryID(arg) {
			id, err := memoryID(ctx, s, arg)
			if err != nil {
				return nil, nil, err
			}
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
			continue
		}
		p, err := storeDir(ctx, s, arg)
		if err != nil {
			return nil, nil, err
		}
		if p.IsRoot() {
			return nil, nil, hint(&memento.PathError{Path: arg, Reason: "it is the root of the store"},
				`remove its memories by path, or the whole store with "memento stores delete"`)
		}
		if !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	return paths, ids, nil
}

func (a *app) rm(ctx context.Context, s *memento.Store, paths []memento.Path, ids []memento.MemoryID, recursive bool) error {
	for {
		changes := make([]memento.Change, len(paths), len(paths)+len(ids))
		for i, p := range paths {
			remove := memento.Remove{Path: p}
			if !recursive {
				m, err := s.Stat(ctx, memento.ByPath(p))
				switch {
				case errors.Is(err, memento.ErrIsDir):
					return hint(reworded(err, "%s is a directory", p), "to remove it with everything in it, use rm -r")
				case err != nil:
					return err
				}
				remove.If = memento.IfVersion(m.Version) // so that a directory created in its place is not removed
			}
			changes[i] = remove
		}
		named := map[memento.Path]memento.MemoryID{}
		for _, id := range ids {
			m, err := s.Stat(ctx, memento.ByID(id))
			if err != nil {
				return fmt.Errorf("memory %q: %w", id, err)
			}
			if slices.Contains(paths, m.Path) {
				continue
			}
			named[m.Path] = id
			changes = append(changes, memento.Remove{Path: m.Path, If: memento.IfVersion(m.Version)})
		}
		err := a.applyUnnamed(ctx, s, named, changes...)
		if (!recursive || len(ids) > 0) && errors.Is(err, memento.ErrConflict) && ctx.Err() == nil {
			continue // it was changed by another process; try again
		}
		return err
	}
}
