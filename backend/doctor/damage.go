package doctor

import (
	"context"
	"errors"
	"fmt"

	"memento"
	"memento/backend"
)

// damages reports the versions whose contents are damaged. x.heads must be complete.
func (x *examination) damages(ctx context.Context, found []memento.Version) error {
	whole := map[memento.MemoryID]memento.VersionID{}
	for _, v := range found {
		d := Damage{Version: v, Newest: x.heads[v.Memory].ID == v.ID}
		if _, known := whole[v.Memory]; !known {
			id, err := memento.LastWhole(ctx, x.doctor.Backend, x.info.ID, v.Memory)
			if err != nil && !IsDamage(err) {
				return err
			}
			whole[v.Memory] = id
		}
		d.Whole = whole[v.Memory]
		x.damage(d)
	}
	return nil
}

func (x *examination) damage(d Damage) {
	if x.damaged == nil {
		x.damaged = map[memento.VersionID]bool{}
	}
	x.damaged[d.Version.ID] = true
	f := Fault{Store: x.info.ID, Damage: &d}
	v := d.Version
	switch {
	case !d.Newest:
		f.Text = fmt.Sprintf("version %s of memory %s is damaged; it is not the newest", v.ID, v.Memory)
		f.Repair = fmt.Sprintf("a backup may have its contents; otherwise \"memento redact --store %s %s\" records in the history that they are lost; then the store can be exported and copied again", x.info.ID, v.ID)
	case d.Whole == "":
		f.Text = fmt.Sprintf("memory %s is damaged, in its newest version %s, and no version of it is undamaged", v.Memory, v.ID)
		f.Repair = "a backup may have its contents; otherwise write the memory again, or remove it"
	default:
		f.Text = fmt.Sprintf("memory %s is damaged, in its newest version %s; its newest undamaged version is %s", v.Memory, v.ID, d.Whole)
		f.Repair = fmt.Sprintf("\"memento restore --store %s %s\" brings that version back; \"memento doctor --repair\" does so for all damaged memories", x.info.ID, d.Whole)
	}
	if len(x.faults) < maxFaults {
		x.faults = append(x.faults, f)
	}
}

// Actor is the actor of the versions that [Doctor.RepairMemory] writes.
var Actor = memento.Actor{Kind: memento.ActorSystem, ID: "repair"}

// A Repaired says how a damaged memory was repaired, or would be in a dry run.
type Repaired struct {
	Damage
	Exact bool              // whether the repaired contents are exactly those that were damaged
	From  memento.VersionID // version with the contents; "" if they come from another copy of the damaged version
	New   memento.VersionID // version that was written; "" in a dry run
}

// ErrBeyondRepair says that damaged contents cannot be repaired from what the backend
// keeps.
var ErrBeyondRepair = errors.New("cannot be repaired from the data in the backend")

// RepairMemory writes a damaged memory again, as a version made by [Actor]. It uses
// exactly the damaged contents if another version, or a second copy that the backend
// keeps, has them; otherwise the contents of the newest undamaged version. With dryRun it
// only reports what it would write.
//
// Errors: ErrBeyondRepair if the version is not the newest of its memory, or if no
// version is undamaged; memento.ErrDecrypt if the store is encrypted and the backend was
// opened without its keys; memento.ErrConflict if the memory was written to since; those
// of [memento.Put].
func (d *Doctor) RepairMemory(ctx context.Context, info memento.StoreInfo, x Damage, dryRun bool) (Repaired, error) {
	m := Repaired{Damage: x}
	switch {
	case !x.Newest:
		return m, ErrBeyondRepair
	case info.Envelope != "":
		return m, fmt.Errorf("%w: give its keys", memento.ErrDecrypt)
	}
	text, err := d.source(ctx, info.ID, &m)
	if err != nil || dryRun {
		return m, err
	}
	m.New, err = d.overwrite(ctx, info.ID, x.Version, text)
	return m, err
}

// overwrite writes contents over those of a memory that is damaged, on condition that v
// is still its newest version, and returns the new version. It does not mask them: they
// are contents that the memory had before.
func (d *Doctor) overwrite(ctx context.Context, store memento.StoreID, v memento.Version, content string) (memento.VersionID, error) {
	put := memento.Put{Path: v.Path, Content: content, If: memento.IfVersion(v.ID)}
	done, err := d.Backend.Apply(ctx, store, Actor, []memento.Change{put})
	if err == nil && len(done.Versions) == 0 {
		done, err = d.Backend.Apply(ctx, store, Actor, put.Forced())
	}
	if err != nil {
		return "", err
	}
	return done.Versions[len(done.Versions)-1].ID, nil
}

// source returns the contents to write, and sets in m where they come from.
func (d *Doctor) source(ctx context.Context, store memento.StoreID, m *Repaired) (string, error) {
	if now, err := d.Backend.Get(ctx, store, memento.ByID(m.Version.Memory)); err == nil && now.Version == m.Version.ID {
		m.Exact = true // only the copy in the history is damaged
		return now.Content, nil
	}
	if s, ok := d.Backend.(backend.Salvager); ok {
		text, err := s.Salvage(ctx, store, m.Version.ID)
		if err == nil {
			m.Exact = true
			return text, nil
		}
		if !errors.Is(err, memento.ErrNotExist) {
			return "", err
		}
	}
	for v, err := range d.Backend.ListVersions(ctx, store, memento.VersionListOptions{}) {
		if err != nil {
			return "", err
		}
		if m.Version.SHA256 == "" || v.SHA256 != m.Version.SHA256 {
			continue
		}
		switch v, err := d.Backend.GetVersion(ctx, store, v.ID); {
		case err == nil && v.SHA256 == m.Version.SHA256:
			m.Exact, m.From = true, v.ID
			return v.Content, nil
		case err != nil && !IsDamage(err):
			return "", err
		}
	}
	if m.Whole == "" {
		return "", ErrBeyondRepair
	}
	v, err := d.Backend.GetVersion(ctx, store, m.Whole)
	m.From, m.Exact = v.ID, v.ID == m.Version.ID
	return v.Content, err
}

// RepairBackend lets the backend repair what it keeps twice, if it is a
// [backend.Repairer]. It returns a sentence for each repair.
func (d *Doctor) RepairBackend(ctx context.Context, dryRun bool) ([]string, error) {
	r, ok := d.Backend.(backend.Repairer)
	if !ok {
		return nil, nil
	}
	repaired, err := r.Repair(ctx, dryRun)
	if errors.Is(err, memento.ErrUnsupported) {
		return nil, nil
	}
	return repaired, err
}
