package main

import (
	"context"
	"errors"

	"memento"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

func (a *app) storesSettingsCommand() *cobra.Command {
	var f settingFlags
	c := &cobra.Command{
		Use:   "settings [NAME]",
		Short: "Show or change what a store does with what it remembers",
		Long: `Settings changes the settings of a store that are given, leaves the others, and shows
them all. Without a name it is the store that --store names.

Secrets in what is written are replaced by [REDACTED:KIND], unless --sensitive says
to reject the write, or off. Memories expire only if --expire-after is set. History
is kept for 30 days, and at least the last 10 versions of each memory.

There are lists of texts that are allowed, of memories that never expire, and of
memories that are read-only. A flag adds to its list, --remove-… removes from it, and
each may be repeated. A pattern of paths is a path, in which * stands for a part of a
name and ** for any directories, and means everything below too; without a slash it
is a name, wherever it is. Quote patterns, or your shell expands them.`,
		Example: `  memento stores settings
  memento stores settings team --sensitive reject --personal
  memento stores settings team --allow-path /fixtures --remove-allow-path /tests
  memento stores settings team --expire-after 90d --keep /people --keep '*.keep.md'
  memento stores settings team --history-age 7d --history-versions 3
  memento stores settings team --no-history`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: first(1, a.completeStores),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && a.storeName != "" {
				return usage("give a name or --store, not both")
			}
			name := a.chosenStore()
			if len(args) > 0 {
				name = args[0]
			}
			return a.withFound(cmd.Context(), name, func(b memento.Backend, info memento.StoreInfo) error {
				if f.changed(cmd) {
					var err error
					if info, err = a.changeSettings(cmd.Context(), b, info, func(s memento.Settings) (memento.Settings, error) {
						return f.settings(cmd, s)
					}); err != nil {
						return err
					}
				}
				return a.showSettings(info)
			})
		},
	}
	f.add(c, true)
	return c
}

// changeSettings makes of a store's settings what change does. If others change
// them meanwhile, it does so again.
func (a *app) changeSettings(ctx context.Context, b memento.Backend, info memento.StoreInfo, change func(memento.Settings) (memento.Settings, error)) (memento.StoreInfo, error) {
	settings, err := change(info.Settings)
	if err != nil {
		return info, err
	}
	before := info.Settings.Retention
	updated, err := b.UpdateStore(ctx, workspace, info.ID, memento.StoreUpdate{Settings: &settings, IfUpdatedAt: info.UpdatedAt})
	switch {
	case errors.Is(err, memento.ErrConflict):
		if info, err = b.GetStore(ctx, workspace, info.ID); err != nil {
			return info, err
		}
		return a.changeSettings(ctx, b, info, change)
	case err != nil:
		return info, err
	}
	info = updated
	if settings.Retention != before && (settings.Retention.Age < before.Age || settings.Retention.Versions < before.Versions) {
		a.say(`note: history that is there already goes with the next "memento gc" or "memento maintain"`)
	}
	return info, nil
}

// showSettings lists the settings of a store.
func (a *app) showSettings(info memento.StoreInfo) error {
	if a.json {
		return a.writeJSON(wire.FromStore(info))
	}
	return a.printRows(append([][2]string{{"store", info.Name + " (" + string(info.ID) + ")"}}, settingRows(info.Settings)...))
}
