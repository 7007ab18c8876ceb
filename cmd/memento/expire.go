package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"memento"

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
		Short: "Remove the memories that nobody has used for long",
		Long: `Expire removes the memories that were neither read nor written for as long as the
store's settings say, but for those that they keep and those that are read-only. It
lists them, longest unused first: how long that is, the size and the path.

What expired can be restored until its history ends. "memento maintain" expires
memories now and then.
` + heldHelp,
		Example: `  memento stores settings --expire-after 90d --keep '/people/**'
  memento expire --dry-run
  memento expire --dry-run --at +30d
  memento expire --all-stores`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var at time.Time // now
			if f.at != "" {
				if !f.dryRun {
					return usage("--at goes with --dry-run")
				}
				var err error
				if at, err = parseWhen(f.at, a.now()); err != nil {
					return err
				}
			}
			return a.expire(cmd.Context(), f, at)
		},
	}
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "only show what would be removed")
	addForce(c, &f.force)
	c.Flags().StringVar(&f.at, "at", "", "with --dry-run, what would be at this `time`: +30d from now, or "+timeForms)
	addAllStores(c, &f.all)
	return c
}

// parseWhen is parseTime that also takes times to come, as in "+30d".
func parseWhen(s string, now time.Time) (time.Time, error) {
	if ahead, ok := strings.CutPrefix(s, "+"); ok {
		if d, ok := parseAgo(ahead); ok {
			return now.Add(d).UTC(), nil
		}
	}
	return parseTime(s, now)
}

// expire lets memories expire, or shows what would at a time, which is zero for now.
func (a *app) expire(ctx context.Context, f expireFlags, at time.Time) error {
	var t *maintenanceRun
	return a.eachStore(ctx, f.all, func(b memento.Backend, s *memento.Store, info memento.StoreInfo) (err error) {
		if info.Settings.Expiry.After == 0 {
			if !f.all {
				a.say(`nothing expires in store %s; "memento stores settings --expire-after 90d" changes that`, line(info.Name))
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
		held, isHeld := errors.AsType[*memento.HeldError](failed)
		switch {
		case failed != nil && !(isHeld && f.dryRun):
			return hintHeld(failed, "expire", info.ID)
		case len(expired) == 0:
			a.say("nothing has expired in store %s", line(info.Name))
		case f.dryRun:
			a.say("%s would expire in store %s; nothing was done", describeExpired(expired), line(info.Name))
		default:
			a.say("%s expired in store %s", describeExpired(expired), line(info.Name))
		}
		if isHeld {
			a.sayHeld(held)
		}
		return nil
	})
}

func (a *app) showExpired(store memento.StoreID, x memento.Expired, at time.Time, dryRun bool) error {
	if a.json {
		return a.writeJSON(expiredJSON{
			Type: "memory_expiry", Memory: x.Memory.ID, Store: store, Path: x.Memory.Path,
			Size: x.Memory.Size, UsedAt: x.Used, DryRun: dryRun,
		})
	}
	return a.print("%6s  %7s  %s\n", ageText(at.Sub(x.Used)), humanSize(x.Memory.Size), line(string(x.Memory.Path)))
}

// describeExpired sums up: "3 memories (1.2K)".
func describeExpired(expired []memento.Expired) string {
	return plural(len(expired), "memory", "memories") + " (" + humanSize(expiredBytes(expired)) + ")"
}

func expiredBytes(expired []memento.Expired) (sum int64) {
	for _, x := range expired {
		sum += x.Memory.Size
	}
	return sum
}
