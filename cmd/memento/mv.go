package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"memento"

	"github.com/spf13/cobra"
)

func (a *app) mvCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "mv FROM TO",
		Short: "Rename or move a memory or a directory",
		Long: `Mv renames a memory, or a directory with everything in it. It never overwrites a
memory. If TO ends with a slash, FROM is moved into that directory and keeps its name.
FROM can also be the ID of a memory, for example if its path contains a secret.`,
		Example: `  memento mv /draft.md /notes/final.md
  memento mv /projects/done /archive/
  memento mv mem_01kb... /accounts/main.md`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: first(2, a.completePaths),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, into := cmd.Context(), strings.HasSuffix(args[1], "/")
			return a.withStore(ctx, func(s *memento.Store) error {
				to, err := storeDir(ctx, s, args[1])
				if err != nil {
					return err
				}
				if isMemoryID(args[0]) {
					id, err := memoryID(ctx, s, args[0])
					if err != nil {
						return err
					}
					return a.mvByID(ctx, s, id, to, into)
				}
				from, err := storeDir(ctx, s, args[0])
				if err != nil {
					return err
				}
				if into {
					to = to.Join(from.Base())
				}
				return a.apply(ctx, s, memento.Move{From: from, To: to})
			})
		},
	}
}

func isMemoryID(arg string) bool { return strings.HasPrefix(arg, "mem_") }

// mvByID moves a memory by its ID, and does not print its old path, which may be sensitive.
func (a *app) mvByID(ctx context.Context, s *memento.Store, id memento.MemoryID, to memento.Path, into bool) error {
	for {
		m, err := s.Stat(ctx, memento.ByID(id))
		if err != nil {
			return fmt.Errorf("memory %q: %w", id, err)
		}
		move := memento.Move{From: m.Path, To: to, If: memento.IfVersion(m.Version)}
		if into {
			move.To = to.Join(m.Path.Base())
		}
		err = a.applyUnnamed(ctx, s, map[memento.Path]memento.MemoryID{m.Path: id}, move)
		if errors.Is(err, memento.ErrConflict) && ctx.Err() == nil {
			continue // it was changed by another process; try again
		}
		return err
	}
}
