package main

import (
	"context"
	"errors"
	"fmt"

	"memento"
	"memento/backend/doctor"
)

// repair restores the damaged memories of a store. A dry run only prints what it would do.
func (a *app) repair(ctx context.Context, d *doctor.Doctor, info memento.StoreInfo, damages []doctor.Damage, dryRun bool, sum *doctorJSON) error {
	for _, damage := range damages {
		m, err := d.RepairMemory(ctx, info, damage, dryRun)
		switch {
		case errors.Is(err, doctor.ErrBeyondRepair): // the printed fault has advice
			continue
		case err != nil && !isRefusal(err):
			return err
		case err != nil:
			a.say("memory %s was not repaired: %v", damage.Version.Memory, err)
			continue
		}
		if err := a.printRepair(info.ID, m, dryRun); err != nil {
			return err
		}
		if !dryRun {
			sum.Repaired++
		}
	}
	return nil
}

// isRefusal reports whether an error concerns one memory only.
func isRefusal(err error) bool {
	for _, refusal := range []error{memento.ErrConflict, memento.ErrProtected, memento.ErrArchived, memento.ErrTooLarge, memento.ErrDecrypt, memento.ErrDamaged, memento.ErrNotExist} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}

func (a *app) printRepair(store memento.StoreID, m doctor.Repaired, dryRun bool) error {
	what := fmt.Sprintf("memory %s has its exact contents again", m.Version.Memory)
	if !m.Exact {
		what = fmt.Sprintf("memory %s has the contents of version %s again; later changes are lost", m.Version.Memory, m.From)
	}
	what += fmt.Sprintf("; version %s is still damaged and prevents an export with history; remove it with \"memento redact --store %s %s\"", m.Version.ID, store, m.Version.ID)
	if a.json {
		return a.writeJSON(repairJSON{
			Type: "memento_repair", Store: store, Memory: m.Version.Memory, Damaged: m.Version.ID, From: m.From, New: m.New,
			Exact: m.Exact, DryRun: dryRun, Repaired: what,
		})
	}
	return a.printRepaired(fmt.Sprintf("store %s: %s", store, what), dryRun)
}

func (a *app) printRepaired(what string, dryRun bool) error {
	state := "repaired:"
	if dryRun {
		state = "would repair:"
	}
	return a.print("%s %s\n", state, printable(what))
}

// repairBackend repairs what the backend stores redundantly, such as the files of dirstore.
func (a *app) repairBackend(ctx context.Context, d *doctor.Doctor, dryRun bool, sum *doctorJSON) error {
	repaired, err := d.RepairBackend(ctx, dryRun)
	for _, what := range repaired {
		var printed error
		if a.json {
			printed = a.writeJSON(repairJSON{Type: "memento_repair", Exact: true, DryRun: dryRun, Repaired: what})
		} else {
			printed = a.printRepaired(what, dryRun)
		}
		if printed != nil {
			return printed
		}
		if !dryRun {
			sum.Repaired++
			sum.Resolved++
		}
	}
	return err
}
