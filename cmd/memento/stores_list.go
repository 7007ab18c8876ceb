package main

import (
	"memento"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

func (a *app) storesListCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the stores, newest first",
		Example: `  memento stores list
  memento stores list --all --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withAccess(cmd.Context(), reading, func(b memento.Backend) error {
				none := true
				for info, err := range b.ListStores(cmd.Context(), a.workspace(), memento.StoreListOptions{IncludeArchived: all}) {
					if err == nil && none {
						none = false
						err = a.header("%-35s  %-16s  %6s  %7s  NAME", "ID", "CREATED", "COUNT", "SIZE")
					}
					if err == nil {
						err = a.storeLine(info)
					}
					if err != nil {
						return err
					}
				}
				if none {
					return a.noStores(cmd.Context(), b)
				}
				return nil
			})
		},
	}
	c.Flags().BoolVar(&all, "all", false, "include archived stores")
	return c
}

func (a *app) storeLine(s memento.StoreInfo) error {
	if a.json {
		return a.writeJSON(wire.FromStore(s))
	}
	name := a.paint(bold, line(s.Name))
	if s.Archived() {
		name += " (archived)"
	}
	return a.print("%s  %s  %6d  %7s  %s\n", s.ID, a.paint(dim, minute(s.CreatedAt)), s.Usage.Memories, humanSize(s.Usage.Bytes), name)
}
