package main

import (
	"memento"

	"github.com/spf13/cobra"
)

func (a *app) storesCreateCommand() *cobra.Command {
	var (
		description string
		metadata    []string
		limits      limitFlags
	)
	c := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a store",
		Long:  "Create makes an empty store. Its name must be free. It need not be made before it\nis written to, unless it is to have a description or limits of its own.",
		Example: `  memento stores create team --description "What the team's agents know"
  memento stores create support --metadata owner=ana --max-memories 50000 --max-bytes 500M`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if isStoreID(args[0]) {
				return usage("the name %q looks like an ID; choose another", args[0])
			}
			spec := memento.StoreSpec{Name: args[0], Description: description, UniqueName: true}
			spec.Limits, _ = limits.limits(cmd, memento.Limits{})
			var err error
			if spec.Metadata, err = parseMetadata(metadata); err != nil {
				return err
			}
			return a.withBackend(cmd.Context(), func(b memento.Backend) error {
				info, err := b.CreateStore(cmd.Context(), workspace, spec)
				if err != nil {
					return err
				}
				if a.json {
					return a.writeJSON(wireStore(info))
				}
				return a.print("%s\n", info.ID)
			})
		},
	}
	c.Flags().StringVar(&description, "description", "", "what the store is for; agents see it")
	c.Flags().StringArrayVar(&metadata, "metadata", nil, "a pair key=value; may be repeated")
	limits.add(c)
	return c
}
