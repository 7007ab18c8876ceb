// Package doctor looks for what is wrong with a backend, of whatever kind: whether
// what its stores say of themselves fits together, and whether it keeps the promises
// of memento.Backend.
//
//	d := doctor.Doctor{Backend: b, Report: func(f doctor.Fault) { … }}
//	stores, err := d.Stores(ctx, workspace)
//	for _, info := range stores {
//		seen, err := d.Store(ctx, info)
//	}
//
// It changes nothing, but for [Doctor.TryWrites], which writes to a store of its own, and
// [Doctor.RepairMemory], which writes to the memories that it mends.
// Others may read and write meanwhile: a store that was written to while it was looked
// at is looked at again, if something seems to be wrong with it, and what is not wrong
// each time is no fault.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"memento"
)

// A Doctor looks at one backend. It is used by one goroutine.
type Doctor struct {
	Backend memento.Backend
	Report  func(Fault)      // told of each fault, up to 100 of a store
	Now     func() time.Time // nil: time.Now

	// Progress is told how many versions and memories of a store were looked at, if
	// it is not nil.
	Progress func(info memento.StoreInfo, done int64)
}

// A Fault is one thing that is wrong.
type Fault struct {
	Store  memento.StoreID // "" if it is of the backend as such
	Text   string          // a sentence without its end; it names memories by their IDs
	Repair string          // what can be done about it

	// Damage is what is damaged, for [Doctor.RepairMemory]; nil for other faults.
	Damage *Damage
}

// A Damage is a version whose contents are not those that were written.
type Damage struct {
	Version memento.Version // without contents
	Newest  bool            // whether it is the newest of a memory that exists
	Whole   memento.VersionID
}

// Counts is what was looked at.
type Counts struct {
	Stores, Memories, Versions, Bytes, Faults int64

	// Busy counts stores that were written to all the time, and in which things
	// did not fit together that may just have been in motion.
	Busy int64
}

// Add sums up.
func (s *Counts) Add(o Counts) {
	s.Stores += o.Stores
	s.Memories += o.Memories
	s.Versions += o.Versions
	s.Bytes += o.Bytes
	s.Faults += o.Faults
	s.Busy += o.Busy
}

// What can be done.
const (
	repairCopy     = `"memento copy" to a new place makes it anew from the history; or restore a backup`
	repairContents = `"memento restore" brings back an older version of the memory; a backup may have this one, and if it is lost, "memento redact" says so in the history`
	repairStore    = "restore a backup from before"
	repairHistory  = "restore a backup from before; the memories as they are now can be saved with \"memento export\""
	repairMemory   = "write the memory once more, which makes a version of it"
	repairInside   = `restore a backup of the database, or "memento copy" to a new place, which says what of the stores is lost`
	repairClock    = "set the clocks of this machine and of the storage; what is written from then on has the right time"
	repairKeys     = "give the keys that it was encrypted with; if they are right, the storage was changed by others: restore a backup"
	repairPromise  = "do not let several programs write there: edits can be lost; see docs for what the storage must be able to do"
)

// maxFaults bounds how many faults of a store are told.
const maxFaults = 100

// attempts is how often a store is looked at that is written to meanwhile.
const attempts = 3

// Store looks at a store that [Doctor.Stores] found. Of info it needs the ID and the
// workspace.
//
// Errors: those of the backend that say nothing of what it keeps, such as
// memento.ErrUnavailable; memento.ErrNoStore if it was deleted meanwhile.
func (d *Doctor) Store(ctx context.Context, info memento.StoreInfo) (Counts, error) {
	var lasting []Fault // found each time so far
	for n := 1; ; n++ {
		x := examination{doctor: d, info: info}
		before, err := x.newest(ctx)
		if err == nil {
			err = x.look(ctx)
		}
		if err != nil {
			return x.seen, err
		}
		after, err := x.newest(ctx)
		if err != nil {
			return x.seen, err
		}
		if len(x.faults) > 0 && before != after {
			if n > 1 {
				x.faults = slices.DeleteFunc(x.faults, func(f Fault) bool { return !slices.Contains(lasting, f) })
			}
			if lasting = x.faults; n < attempts {
				continue
			}
			x.seen.Busy = 1
		}
		for _, f := range x.faults {
			d.Report(f)
		}
		x.seen.Stores, x.seen.Faults = 1, int64(len(x.faults))
		return x.seen, nil
	}
}

// Inside has the backend look for what only it can see, if it is a
// [memento.Verifier]; otherwise there is nothing to do.
//
// Errors: those of the backend that say nothing of what it keeps.
func (d *Doctor) VerifyBackend(ctx context.Context) (faults int64, err error) {
	v, ok := d.Backend.(memento.Verifier)
	if !ok {
		return 0, nil
	}
	found, err := v.Verify(ctx)
	if errors.Is(err, memento.ErrUnsupported) {
		return 0, nil
	}
	for _, what := range found {
		d.Report(Fault{Text: what, Repair: repairInside})
	}
	return int64(len(found)), err
}

// Keys looks at the API keys, if the backend keeps any, and counts them.
func (d *Doctor) Keys(ctx context.Context) (keys, faults int64, err error) {
	keeper, ok := d.Backend.(memento.KeyKeeper)
	if !ok {
		return 0, 0, nil
	}
	ids := map[memento.KeyID]bool{}
	hashes := map[memento.KeyHash]bool{}
	fault := func(id memento.KeyID, what string) {
		faults++
		d.Report(Fault{Text: fmt.Sprintf("API key %s %s", id, what), Repair: "revoke it, and make another"})
	}
	for k, err := range keeper.ListKeys(ctx, "") {
		if err != nil {
			return keys, faults, err
		}
		keys++
		if err := k.Check(); err != nil {
			fault(k.ID, "is not valid: "+err.Error())
		}
		if ids[k.ID] || hashes[k.Hash] {
			fault(k.ID, "is there twice")
		}
		ids[k.ID], hashes[k.Hash] = true, true
	}
	return keys, faults, nil
}

func (d *Doctor) now() time.Time {
	if d.Now != nil {
		return d.Now()
	}
	return time.Now()
}

// IsDamage reports whether an error of a backend says that something kept is
// damaged, rather than that it could not be asked for.
func IsDamage(err error) bool {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, memento.ErrUnavailable), errors.Is(err, memento.ErrNoStore), errors.Is(err, memento.ErrClosed), errors.Is(err, memento.ErrDenied):
		return false
	}
	return true
}

func repairOf(err error) string {
	if errors.Is(err, memento.ErrDecrypt) {
		return repairKeys
	}
	return repairContents
}
