package main

import (
	"context"
	"errors"
	"fmt"

	"memento"
	"memento/doctor"
)

// mend writes anew what is damaged in a store, or says what it would write.
func (a *app) mend(ctx context.Context, d *doctor.Doctor, info memento.StoreInfo, damages []doctor.Damage, dryRun bool, sum *checkupJSON) error {
	for _, damage := range damages {
		m, err := d.RepairMemory(ctx, info, damage, dryRun)
		switch {
		case errors.Is(err, doctor.ErrBeyondRepair): // the fault says what can be done
			continue
		case err != nil && !isRefusal(err):
			return err
		case err != nil:
			a.say("memory %s was not repaired: %v", damage.Version.Memory, err)
			continue
		}
		if err := a.tellMended(info.ID, m, dryRun); err != nil {
			return err
		}
		if !dryRun {
			sum.Repaired++
		}
	}
	return nil
}

// isRefusal reports whether an error is about one memory, and says nothing of others.
func isRefusal(err error) bool {
	for _, refusal := range []error{memento.ErrConflict, memento.ErrProtected, memento.ErrArchived, memento.ErrTooLarge, memento.ErrDecrypt, memento.ErrDamaged, memento.ErrNotExist} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}

func (a *app) tellMended(store memento.StoreID, m doctor.Repaired, dryRun bool) error {
	what := fmt.Sprintf("memory %s has again exactly what it should", m.Version.Memory)
	if !m.Exact {
		what = fmt.Sprintf("memory %s has again what it had in version %s; what was written after that is lost", m.Version.Memory, m.From)
	}
	what += fmt.Sprintf("; version %s stays damaged, and keeps the store from being exported whole, until \"memento redact --store %s %s\"", m.Version.ID, store, m.Version.ID)
	if a.json {
		return a.writeJSON(repairJSON{
			Type: "memento_repair", Store: store, Memory: m.Version.Memory, Damaged: m.Version.ID, From: m.From, New: m.New,
			Exact: m.Exact, DryRun: dryRun, Repaired: what,
		})
	}
	return a.tellRepaired(fmt.Sprintf("store %s: %s", store, what), dryRun)
}

func (a *app) tellRepaired(what string, dryRun bool) error {
	state := "repaired:"
	if dryRun {
		state = "would be:"
	}
	return a.print("%s %s\n", state, printable(what))
}

// restoreInside has the backend put right what it keeps twice.
func (a *app) restoreInside(ctx context.Context, d *doctor.Doctor, dryRun bool, sum *checkupJSON) error {
	repaired, err := d.RepairBackend(ctx, dryRun)
	for _, what := range repaired {
		var told error
		if a.json {
			told = a.writeJSON(repairJSON{Type: "memento_repair", Exact: true, DryRun: dryRun, Repaired: what})
		} else {
			told = a.tellRepaired(what, dryRun)
		}
		if told != nil {
			return told
		}
		if !dryRun {
			sum.Repaired++
			sum.Mended++
		}
	}
	return err
}
