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
		Long: `Limits changes the given limits and prints the store. 0 means the default. If a store
exceeds a lowered limit, it keeps its memories, and can shrink but not grow.`,
		Example: `  memento stores limits team --max-memories 50000
  memento stores limits team --max-memory-bytes 200K --max-bytes 500M`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(1, a.completeStores),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withFound(cmd.Context(), args[0], func(b memento.Backend, info memento.StoreInfo) error {
				if limits, changed := f.limits(cmd, info.Limits); changed {
					var err error
					info, err = b.UpdateStore(cmd.Context(), a.workspace(), info.ID, memento.StoreUpdate{Limits: &limits})
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
