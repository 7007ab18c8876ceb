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
		Short: "Show or change the settings of a store",
		Long: `Settings changes the given settings of a store and prints all of them. Without NAME it
uses the store of --store.

By default, secrets in writes are masked: each is replaced by [REDACTED:KIND]. With
"--sensitive reject" such writes are rejected; with "--sensitive off" nothing is checked.
With "--instructions mark", text that addresses the model which reads it later is told to
whoever writes or reads it, and in "log"; with "--instructions reject" it is rejected.
Memories expire only if --expire-after is set. By default, history is kept for 30 days, and
at least the last 10 versions of each memory.

The settings contain lists: allowed texts, memories that never expire, and read-only
memories. A flag adds an entry to its list, and --remove-… removes one; these flags can be
repeated. A path pattern is a path in which * matches a part of a name and ** any number of
directories; it includes everything below. A pattern without a slash matches names in
every directory. Quote patterns, so that your shell does not expand them.`,
		Example: `  memento stores settings
  memento stores settings team --sensitive reject --personal
  memento stores settings team --instructions mark --allow-path /prompts
  memento stores settings team --allow-path /fixtures --remove-allow-path /tests
  memento stores settings team --expire-after 90d --never-expire /people --never-expire '*.core.md'
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

// changeSettings applies change to the settings of a store. It retries if another process
// changes them at the same time.
func (a *app) changeSettings(ctx context.Context, b memento.Backend, info memento.StoreInfo, change func(memento.Settings) (memento.Settings, error)) (memento.StoreInfo, error) {
	settings, err := change(info.Settings)
	if err != nil {
		return info, err
	}
	before := info.Settings.Retention
	updated, err := b.UpdateStore(ctx, a.workspace(), info.ID, memento.StoreUpdate{Settings: &settings, IfUpdatedAt: info.UpdatedAt})
	switch {
	case errors.Is(err, memento.ErrConflict):
		if info, err = b.GetStore(ctx, a.workspace(), info.ID); err != nil {
			return info, err
		}
		return a.changeSettings(ctx, b, info, change)
	case err != nil:
		return info, err
	}
	info = updated
	if settings.Retention != before && (settings.Retention.Age < before.Age || settings.Retention.Versions < before.Versions) {
		a.say(`note: the existing history is pruned by the next "memento gc" or "memento maintain"`)
	}
	return info, nil
}

// showSettings prints the settings of a store.
func (a *app) showSettings(info memento.StoreInfo) error {
	if a.json {
		return a.writeJSON(wire.FromStore(info))
	}
	return a.printRows(append([][2]string{{"store", info.Name + " (" + string(info.ID) + ")"}}, settingRows(info.Settings)...))
}
