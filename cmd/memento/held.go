package main

import (
	"context"
	"errors"
	"time"

	"memento"

	"github.com/spf13/cobra"
)

// heldHelp is what the commands that remove what is old say of themselves.
const heldHelp = `
Nothing is removed, and the exit code is 8, if this machine's clock disagrees with the
storage's, with the last time that something was removed, or with the times of what was
written; or if more than a quarter of a store's memories would expire, or of its
versions go that should have gone more than a day before. --force removes it all the
same.`

func addForce(c *cobra.Command, force *bool) {
	c.Flags().BoolVar(force, "force", false, "believe this machine's clock, and remove more than usual")
}

// A maintenanceRun is one run of a command that removes what is old.
type maintenanceRun struct {
	keeper *memento.Maintainer
	memento.ClockCheck
}

// beginMaintenance judges the clock. A dry run goes on in any case, and says what would be held.
func (a *app) beginMaintenance(ctx context.Context, b memento.Backend, force, dryRun bool) (*maintenanceRun, error) {
	u := &maintenanceRun{keeper: a.maintainer(b, force)}
	var err error
	if dryRun {
		u.ClockCheck, err = u.keeper.CheckClockDry(ctx)
		if errors.Is(err, memento.ErrHeld) {
			a.say("note: %s; without --force nothing would be done", printable(err.Error()))
			err = nil
		}
		return u, err
	}
	if u.ClockCheck, err = u.keeper.CheckClock(ctx); err != nil {
		return nil, hintHeld(err, "", "")
	}
	a.noteClockCheck(u.ClockCheck)
	return u, nil
}

func (a *app) maintainer(b memento.Backend, force bool) *memento.Maintainer {
	return memento.NewMaintainer(b, memento.MaintainerOptions{Now: a.now, Force: force})
}

// noteClockCheck says what is odd about a time that is believed.
func (a *app) noteClockCheck(j memento.ClockCheck) {
	if j.Forced != nil {
		a.say("note: %s; with --force it goes on all the same", printable(j.Forced.Error()))
	}
	if j.Behind > 0 {
		a.say("note: this machine's clock is %s behind the time at which this was done last; less is removed", j.Behind.Round(time.Second))
	}
}

// sayHeld says what a dry run has found.
func (a *app) sayHeld(held *memento.HeldError) {
	a.say("note: without --force nothing would be done: %d of %d %s are more than %d %%", held.Count, held.Of, held.What, held.Share)
}

// hintHeld adds the next step to the error of maintenance that is held.
func hintHeld(err error, command string, store memento.StoreID) error {
	if _, ok := errors.AsType[*memento.ClockError](err); ok {
		return hint(err, "nothing was removed; set the clock that is wrong, or if this one is right, repeat the command with --force")
	}
	if _, ok := errors.AsType[*memento.HeldError](err); ok {
		return hint(err, `nothing was removed; "memento %[1]s --dry-run --store %[2]s" shows what it is; if it is meant, "memento %[1]s --force --store %[2]s" does it`, command, store)
	}
	return err
}
