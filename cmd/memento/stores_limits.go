package main

import (
	"memento"

	"github.com/spf13/cobra"
)

func (a *app) storesLimitsCommand() *cobra.Command {
	var f limitFlags
	c := &cobra.Command{
		Use:   "limits NAME",
		Short: "Change the limits of a store",
		Long: `Limits changes the limits that are given, and leaves the others; 0 is the default. A
store that is over a lowered limit keeps what it has, and may shrink, but not grow.`,
		Example: `  memento stores limits team --max-memories 50000
  memento stores limits team --max-memory-bytes 200K --max-bytes 500M`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(1, a.completeStores),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withFound(cmd.Context(), args[0], func(b memento.Backend, info memento.StoreInfo) error {
				if limits, changed := f.limits(cmd, info.Limits); changed {
					var err error
					info, err = b.UpdateStore(cmd.Context(), workspace, info.ID, memento.StoreUpdate{Limits: &limits})
					if err != nil {
						return err
					}
				}
				return a.showStore(info)
			})
		},
	}
	f.add(c)
	return c
}
