package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"memento"
	"memento/maintenance"

	"github.com/spf13/cobra"
)

// minEvery is the minimum of --every.
const minEvery = time.Second

func (a *app) maintainCommand() *cobra.Command {
	every := span{value: time.Hour}
	var once, force bool
	c := &cobra.Command{
		Use:   "maintain",
		Short: "Regularly delete expired memories and prune history",
		Long: `Maintain applies expiry and retention to every store, and prints a line for each store it
changed: it deletes expired memories and prunes versions that the settings do not keep. It
runs at once and then at regular intervals until it is interrupted; the exit code is then
0. An error in one store does not stop the others; the next run tries that store again.

With --once it runs once, for schedulers such as cron. The exit code is then that of the
first error.
` + heldHelp + ` It needs --once.`,
		Example: `  memento maintain
  memento maintain --every 10m --json >> maintenance.jsonl
  memento maintain --once`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if every.value < minEvery {
				return usage("--every must be at least a second")
			}
			if force && !once {
				return usage("--force needs --once")
			}
			if once {
				return a.maintainOnce(cmd.Context(), force)
			}
			return a.maintain(cmd.Context(), every.value)
		},
	}
	c.Flags().Var(&every, "every", "time between runs, such as "+spanForms+" (default 1h)")
	c.Flags().BoolVar(&once, "once", false, "run once and exit")
	addForce(c, &force)
	c.MarkFlagsMutuallyExclusive("every", "once")
	return c
}

// maintain runs until the context ends. It opens the backend for each run, so that other
// processes can use or repair it in between.
func (a *app) maintain(ctx context.Context, every time.Duration) error {
	watching := false
	for first := true; ; first = false {
		if !watching {
			stop, err := a.watchFolder(ctx)
			defer stop()
			watching = err == nil
		}
		opened, err := a.maintainAll(ctx, false)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			if first && !opened {
				return err // the backend cannot be opened at all
			}
			a.warn(err)
		}
		if err := a.out.Flush(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
}

func (a *app) maintainOnce(ctx context.Context, force bool) error {
	_, err := a.maintainAll(ctx, force)
	return err
}

// maintainAll makes one run, and reports whether the backend could be opened. It returns
// the first error and prints the others.
func (a *app) maintainAll(ctx context.Context, force bool) (opened bool, err error) {
	err = a.withBackend(ctx, func(b memento.Backend) error {
		opened = true
		var first error
		keeper := a.maintainer(b, force)
		j, err := keeper.CheckClock(ctx)
		a.noteClockCheck(j)
		if err != nil {
			return hintHeld(err, "", "")
		}
		for u, err := range keeper.Run(ctx, a.workspace(), j) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			for _, held := range u.Held {
				command := "gc"
				if held.What == maintenance.HeldMemories {
					command = "expire"
				}
				err = cmp.Or(err, hintHeld(held, command, u.Store.ID))
			}
			if err := a.maintained(u, j.At, err); err != nil {
				return err
			}
			if err != nil {
				if u.Store.ID != "" {
					err = fmt.Errorf("store %s (%s): %w", u.Store.Name, u.Store.ID, err)
				}
				if first != nil {
					a.warn(err)
					continue
				}
				first = err
			}
		}
		return first
	})
	return opened, err
}

// warn prints an error.
func (a *app) warn(err error) {
	fmt.Fprintf(a.stderr, "memento: %s\n", printable(strings.TrimPrefix(err.Error(), "memento: ")))
}

// maintained prints what was done in a store, if anything.
func (a *app) maintained(u maintenance.Result, at time.Time, failed error) error {
	if u.Store.ID == "" || failed == nil && len(u.Expired) == 0 && u.Pruned.Versions == 0 {
		return nil
	}
	if a.json {
		j := maintenanceJSON{
			Type: "memory_store_maintenance", Store: u.Store.ID, Name: u.Store.Name, At: at.UTC().Truncate(time.Second),
			Expired: len(u.Expired), ExpiredBytes: expiredBytes(u.Expired),
			Versions: u.Pruned.Versions, VersionBytes: u.Pruned.Bytes,
		}
		if failed != nil {
			text := printable(failed.Error())
			j.Error = &text
		}
		return a.writeJSON(j)
	}
	var done []string
	if len(u.Expired) > 0 {
		done = append(done, "deleted "+describeExpired(u.Expired)+" (expired)")
	}
	if u.Pruned.Versions > 0 {
		done = append(done, "pruned "+describePruned(u.Pruned))
	}
	if len(done) > 0 {
		a.say("%s store %s: %s", second(at), line(u.Store.Name), strings.Join(done, ", "))
	}
	return nil
}
