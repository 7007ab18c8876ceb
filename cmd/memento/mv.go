package main

import (
	"strings"

	"memento"

	"github.com/spf13/cobra"
)

func (a *app) mvCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "mv FROM TO",
		Short: "Rename or move a memory or a directory",
		Long: `Mv renames a memory, or a directory with everything in it, and never overwrites.
If TO ends with a slash, FROM keeps its name and goes into that directory.`,
		Example: `  memento mv /draft.md /notes/final.md
  memento mv /projects/done /archive/`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: first(2, a.completePaths),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := memento.ParseDir(args[0])
			if err != nil {
				return err
			}
			to, err := memento.ParseDir(args[1])
			if err != nil {
				return err
			}
			if strings.HasSuffix(args[1], "/") {
				to = to.Join(from.Base())
			}
			return a.withStore(cmd.Context(), func(s *memento.Store) error {
				a.noteAgentPath(to)
				return a.apply(cmd.Context(), s, memento.Move{From: from, To: to})
			})
		},
	}
}
