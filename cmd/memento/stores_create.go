package main

import (
	"memento"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

func (a *app) storesCreateCommand() *cobra.Command {
	var (
		description string
		metadata    []string
		limits      limitFlags
		settings    settingFlags
	)
	c := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a store",
		Long:  "Create creates an empty store and prints its ID. The name must not be in use. The first\nwrite to a store also creates it; use this command to set a description, limits or\nsettings. \"memento stores settings --help\" explains the settings.",
		Example: `  memento stores create team --description "What the team's agents know"
  memento stores create support --metadata owner=ana --max-memories 50000 --max-bytes 500M
  memento stores create private --sensitive reject --personal --expire-after 90d --no-history`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if isStoreID(args[0]) {
				return usage("the name %q looks like an ID; choose another", args[0])
			}
			spec := memento.StoreSpec{Name: args[0], Description: description, UniqueName: true}
			spec.Limits, _ = limits.limits(cmd, memento.Limits{})
			chosen, err := settings.settings(cmd, memento.DefaultSettings())
			if err != nil {
				return err
			}
			spec.Settings = &chosen
			if spec.Metadata, err = parseMetadata(metadata); err != nil {
				return err
			}
			return a.withAccess(cmd.Context(), creating, func(b memento.Backend) error {
				info, err := b.CreateStore(cmd.Context(), a.workspace(), spec)
				if err != nil {
					return err
				}
				if a.json {
					return a.writeJSON(wire.FromStore(info))
				}
				return a.print("%s\n", info.ID)
			})
		},
	}
	c.Flags().StringVar(&description, "description", "", "description of the store; agents see it")
	c.Flags().StringArrayVar(&metadata, "metadata", nil, "a pair `KEY=VALUE`; can be repeated")
	limits.add(c)
	settings.add(c, false)
	return c
}
