package main

import (
	"context"
	"errors"
	"time"

	"memento"
	"memento/maintenance"

	"github.com/spf13/cobra"
)

// heldHelp is the part of the help that expire, gc and maintain share.
const heldHelp = `
As a protection, nothing is removed and the exit code is 8 in two cases. First, the clock
of this machine disagrees with the clock of the storage, with the time of the last run, or
with the times of recent versions. Second, a run would delete more than a quarter of the
memories of a store, or would remove more than a quarter of its versions that were due for
more than a day. --force overrides both.`

func addForce(c *cobra.Command, force *bool) {
	c.Flags().BoolVar(force, "force", false, "trust the clock of this machine, and remove any number of memories and versions")
}

// A maintenanceRun is one run of expire or gc.
type maintenanceRun struct {
	keeper *maintenance.Runner
	maintenance.ClockCheck
}

// beginMaintenance checks the clock. A dry run continues with a wrong clock and prints a
// note.
func (a *app) beginMaintenance(ctx context.Context, b memento.Backend, force, dryRun bool) (*maintenanceRun, error) {
	u := &maintenanceRun{keeper: a.maintainer(b, force)}
	var err error
	if dryRun {
		u.ClockCheck, err = u.keeper.CheckClockDry(ctx)
		if errors.Is(err, maintenance.ErrHeld) {
			a.say("note: %s; without --force nothing would be removed", printable(err.Error()))
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

func (a *app) maintainer(b memento.Backend, force bool) *maintenance.Runner {
	return maintenance.New(b, maintenance.Options{Now: a.now, Force: force})
}

// noteClockCheck prints notes about a clock that is accepted.
func (a *app) noteClockCheck(j maintenance.ClockCheck) {
	if j.Forced != nil {
		a.say("note: %s; continuing because of --force", printable(j.Forced.Error()))
	}
	if j.Behind > 0 {
		a.say("note: the clock of this machine is %s behind the time of the last run, so fewer memories and versions are removed", j.Behind.Round(time.Second))
	}
}

// sayHeld prints that a dry run found more than the permitted share.
func (a *app) sayHeld(held *maintenance.HeldError) {
	a.say("note: without --force nothing would be removed: %d of %d %s are more than %d %%", held.Count, held.Of, held.What, held.Share)
}

// hintHeld adds a hint to an ErrHeld.
func hintHeld(err error, command string, store memento.StoreID) error {
	if _, ok := errors.AsType[*maintenance.ClockError](err); ok {
		return hint(err, "nothing was removed; correct the wrong clock; if the clock of this machine is right, run the command with --force")
	}
	if _, ok := errors.AsType[*maintenance.HeldError](err); ok {
		return hint(err, `nothing was removed; "memento %[1]s --dry-run --store %[2]s" lists what would be removed, and "memento %[1]s --force --store %[2]s" removes it`, command, store)
	}
	return err
}
