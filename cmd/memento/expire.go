package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"memento"
	"memento/maintenance"

	"github.com/spf13/cobra"
)

type expireFlags struct {
	dryRun, all, force bool
	at                 string
}

func (a *app) expireCommand() *cobra.Command {
	var f expireFlags
	c := &cobra.Command{
		Use:   "expire",
		Short: "Delete expired memories",
		Long: `Expire deletes the memories that were neither read nor written for the time that the
store settings define, except memories that the settings keep and read-only memories. It
lists them with the time since the last use, the size and the path, longest unused first.

Expired memories can be restored as long as their history is retained. "memento maintain"
runs this regularly.
` + heldHelp,
		Example: `  memento stores settings --expire-after 90d --never-expire '/people/**'
  memento expire --dry-run
  memento expire --dry-run --at +30d
  memento expire --all-stores`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var at time.Time // now
			if f.at != "" {
				if !f.dryRun {
					return usage("--at needs --dry-run")
				}
				var err error
				if at, err = parseWhen(f.at, a.now()); err != nil {
					return err
				}
			}
			return a.expire(cmd.Context(), f, at)
		},
	}
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would be deleted, and change nothing")
	addForce(c, &f.force)
	c.Flags().StringVar(&f.at, "at", "", "with --dry-run, show what would be deleted at this `time`: +30d (from now), or "+timeForms)
	addAllStores(c, &f.all)
	return c
}

// parseWhen is parseTime that also accepts times in the future, such as "+30d".
func parseWhen(s string, now time.Time) (time.Time, error) {
	if ahead, ok := strings.CutPrefix(s, "+"); ok {
		if d, ok := parseAgo(ahead); ok {
			return now.Add(d).UTC(), nil
		}
	}
	return parseTime(s, now)
}

// expire deletes the expired memories. A dry run lists those that are expired at the time
// at; zero means now.
func (a *app) expire(ctx context.Context, f expireFlags, at time.Time) error {
	var t *maintenanceRun
	return a.eachStore(ctx, f.all, func(b memento.Backend, s *memento.Store, info memento.StoreInfo) (err error) {
		if info.Settings.Expiry.After == 0 {
			if !f.all {
				a.say(`store %s has no expiry; set it with "memento stores settings --expire-after 90d"`, line(info.Name))
			}
			return nil
		}
		if t == nil {
			if t, err = a.beginMaintenance(ctx, b, f.force, f.dryRun); err != nil {
				return err
			}
			if !at.IsZero() {
				t.At = at
			}
		}
		expired, failed := t.keeper.Expire(ctx, s, t.ClockCheck, f.dryRun)
		for _, x := range expired {
			if err := a.showExpired(info.ID, x, t.At, f.dryRun); err != nil {
				return err
			}
		}
		held, isHeld := errors.AsType[*maintenance.HeldError](failed)
		switch {
		case failed != nil && !(isHeld && f.dryRun):
			return hintHeld(failed, "expire", info.ID)
		case len(expired) == 0:
			a.say("no expired memories in store %s", line(info.Name))
		case f.dryRun:
			a.say("%s would be deleted from store %s; nothing was changed", describeExpired(expired), line(info.Name))
		default:
			a.say("deleted %s from store %s", describeExpired(expired), line(info.Name))
		}
		if isHeld {
			a.sayHeld(held)
		}
		return nil
	})
}

func (a *app) showExpired(store memento.StoreID, x maintenance.Expired, at time.Time, dryRun bool) error {
	if a.json {
		return a.writeJSON(expiredJSON{
			Type: "memory_expiry", Memory: x.Memory.ID, Store: store, Path: x.Memory.Path,
			Size: x.Memory.Size, UsedAt: x.Used, DryRun: dryRun,
		})
	}
	return a.print("%6s  %7s  %s\n", ageText(at.Sub(x.Used)), humanSize(x.Memory.Size), line(string(x.Memory.Path)))
}

// describeExpired returns a summary: "3 memories (1.2K)".
func describeExpired(expired []maintenance.Expired) string {
	return plural(len(expired), "memory", "memories") + " (" + humanSize(expiredBytes(expired)) + ")"
}

func expiredBytes(expired []maintenance.Expired) (sum int64) {
	for _, x := range expired {
		sum += x.Memory.Size
	}
	return sum
}
