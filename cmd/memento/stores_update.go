package main

import (
	"memento"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

func (a *app) storesUpdateCommand() *cobra.Command {
	var (
		description      string
		metadata, remove []string
	)
	c := &cobra.Command{
		Use:   "update NAME",
		Short: "Change the description and the metadata of a store",
		Long: `Update changes what is given and prints the store. Agents see the description. The name is
changed by "memento stores rename", limits and settings by "limits" and "settings".`,
		Example: `  memento stores update team --description "What the team's agents know"
  memento stores update team --metadata owner=ana --remove-metadata site`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(1, a.completeStores),
		RunE: func(cmd *cobra.Command, args []string) error {
			var u memento.StoreUpdate
			if cmd.Flags().Changed("description") {
				u.Description = &description
			}
			pairs, err := parseMetadata(metadata)
			if err != nil {
				return err
			}
			u.Metadata = map[string]*string{}
			for k, v := range pairs {
				u.Metadata[k] = &v
			}
			for _, k := range remove {
				u.Metadata[k] = nil
			}
			if u.Description == nil && len(u.Metadata) == 0 {
				return usage("give --description, --metadata or --remove-metadata")
			}
			return a.withFound(cmd.Context(), args[0], func(b memento.Backend, info memento.StoreInfo) error {
				info, err := b.UpdateStore(cmd.Context(), a.workspace(), info.ID, u)
				if err != nil {
					return err
				}
				if a.json {
					return a.writeJSON(wire.FromStore(info))
				}
				return a.showStore(info)
			})
		},
	}
	c.Flags().StringVar(&description, "description", "", "new description; \"\" removes it")
	c.Flags().StringArrayVar(&metadata, "metadata", nil, "add or change a pair `KEY=VALUE`; can be repeated")
	c.Flags().StringArrayVar(&remove, "remove-metadata", nil, "remove the pair with this `KEY`; can be repeated")
	return c
}
