package main

import (
	"context"
	"errors"
	"strings"

	"memento"

	"github.com/spf13/cobra"
)

func (a *app) cpCommand() *cobra.Command {
	var recursive bool
	c := &cobra.Command{
		Use:   "cp FROM TO",
		Short: "Copy a memory, or a directory with -r",
		Long: `Cp copies a memory or, with -r, a directory with everything in it, in one atomic change.
It never overwrites a memory. If TO ends with a slash, the copy is made in that directory
and keeps the name. A copy is a new memory with a history of its own.`,
		Example: `  memento cp /templates/plan.md /projects/plan.md
  memento cp -r /projects/a /archive/`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: first(2, a.completePaths),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return a.withStore(ctx, func(s *memento.Store) error {
				from, err := storeDir(ctx, s, args[0])
				if err != nil {
					return err
				}
				to, err := storeDir(ctx, s, args[1])
				if err != nil {
					return err
				}
				if strings.HasSuffix(args[1], "/") {
					to = to.Join(from.Base())
				}
				return a.cp(ctx, s, from, to, recursive)
			})
		},
	}
	c.Flags().BoolVarP(&recursive, "recursive", "r", false, "copy a directory with everything in it")
	return c
}

func (a *app) cp(ctx context.Context, s *memento.Store, from, to memento.Path, recursive bool) error {
	m, err := s.Get(ctx, memento.ByPath(from))
	switch {
	case err == nil:
		return a.apply(ctx, s, memento.Put{Path: to, Content: m.Content, If: memento.IfAbsent()})
	case !errors.Is(err, memento.ErrIsDir):
		return err
	case !recursive:
		return hint(reworded(err, "%s is a directory", from), "to copy it with everything in it, use cp -r")
	case from == to, from.Contains(to), from.IsRoot():
		return &memento.PathError{Path: string(to), Reason: "it is in the directory that is copied"}
	}
	var changes []memento.Change
	for e, err := range s.List(ctx, memento.ListOptions{Dir: from, Contents: true}) {
		if err != nil {
			return err
		}
		if !e.Foreign {
			changes = append(changes, memento.Put{Path: e.Path.Moved(from, to), Content: e.Memory.Content, If: memento.IfAbsent()})
		}
	}
	return a.apply(ctx, s, changes...)
}
