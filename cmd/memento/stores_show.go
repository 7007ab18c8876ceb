package main

import (
	"memento"

	"github.com/spf13/cobra"
)

func (a *app) storesShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "show NAME",
		Short:             "Show a store with its limits and settings",
		Example:           "  memento stores show team\n  memento stores show team --json",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(1, a.completeStores),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withFound(cmd.Context(), args[0], func(_ memento.Backend, info memento.StoreInfo) error {
				return a.showStore(info)
			})
		},
	}
}
