// Package doctor checks a backend of any kind: whether its data is consistent, and
// whether it keeps the guarantees of memento.Backend.
//
//	d := doctor.Doctor{Backend: b, Report: func(f doctor.Fault) { … }}
//	stores, err := d.Stores(ctx, workspace)
//	for _, info := range stores {
//		counts, err := d.Store(ctx, info)
//	}
//
// It changes nothing, except [Doctor.TryWrites], which writes to a store of its own, and
// [Doctor.RepairMemory] and [Doctor.RepairBackend]. Other processes may read and write at
// the same time: a store that was written to during the check is checked again if faults
// were found, and only faults found every time are reported.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"memento"
	"memento/backend"
	"memento/backend/apikey"
)

// A Doctor checks one backend. It is used by one goroutine.
type Doctor struct {
	Backend memento.Backend
	Report  func(Fault)      // called with each fault, up to 100 for a store
	Notice  func(Notice)     // called with each notice, up to 100 for a store; may be nil
	Now     func() time.Time // nil means time.Now

	// Progress, if not nil, is called with the number of versions and memories of a store
	// that were checked so far.
	Progress func(info memento.StoreInfo, done int64)
}

// A Fault is one thing that is wrong.
type Fault struct {
	Store  memento.StoreID // "" if it concerns the backend as a whole
	Text   string          // a sentence without its full stop; names memories by their IDs
	Repair string          // what can be done about it

	// Damage identifies the damaged version, for [Doctor.RepairMemory]; nil for other
	// faults.
	Damage *Damage
}

// A Notice is something that is no fault, and that a person should know.
type Notice struct {
	Store    memento.StoreID
	Memories []memento.MemoryID // that it is about
	Text     string             // a sentence without its full stop; names memories by their IDs
	Advice   string             // what can be done about it
}

// A Damage is a version whose contents are not those that were written.
type Damage struct {
	Version memento.Version // without contents
	Newest  bool            // whether it is the newest version of a memory that exists
	Whole   memento.VersionID
}

// Counts says what was checked.
type Counts struct {
	Stores, Memories, Versions, Bytes, Faults, Notices int64

	// Busy counts stores that were written to during every check, so that inconsistencies
	// found in them may not be faults.
	Busy int64
}

// Add adds o to s.
func (s *Counts) Add(o Counts) {
	s.Stores += o.Stores
	s.Memories += o.Memories
	s.Versions += o.Versions
	s.Bytes += o.Bytes
	s.Faults += o.Faults
	s.Notices += o.Notices
	s.Busy += o.Busy
}

// Suggestions for repair.
const (
	repairCopy     = `"memento copy" to a new backend builds it again from the history; or restore a backup`
	repairContents = `"memento restore" brings back an older version of the memory; a backup may have this one; if it is lost, "memento redact" records that in the history`
	repairStore    = "restore an earlier backup"
	repairHistory  = "restore an earlier backup; the memories as they are now can be saved with \"memento export\""
	repairMemory   = "write the memory again, which makes a new version"
	repairInside   = `restore a backup of the database, or "memento copy" to a new backend, which reports what is lost`
	repairClock    = "set the clocks of this machine and of the storage; later versions then have the right time"
	repairKeys     = "give the keys that it was encrypted with; if they are right, somebody has changed the storage: restore a backup"
	repairPromise  = "do not let several programs write there: edits can be lost; see the documentation for the requirements on the storage"
)

// maxFaults is the maximum number of faults, and of notices, reported for a store.
const maxFaults = 100

// attempts is the maximum number of checks of a store that is written to at the same
// time.
const attempts = 3

// Store checks a store that [Doctor.Stores] returned. It uses ID and workspace of info.
//
// Errors: those of the backend that do not concern its data, such as
// memento.ErrUnavailable; memento.ErrNoStore if the store was deleted meanwhile.
func (d *Doctor) Store(ctx context.Context, info memento.StoreInfo) (Counts, error) {
	var lasting []Fault // found in every check so far
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
		for _, n := range x.notices {
			if d.Notice != nil {
				d.Notice(n)
			}
		}
		x.seen.Stores, x.seen.Faults = 1, int64(len(x.faults))
		return x.seen, nil
	}
}

// VerifyBackend calls the backend's own checks, if it is a [backend.Verifier].
//
// Errors: those of the backend that do not concern its data.
func (d *Doctor) VerifyBackend(ctx context.Context) (faults int64, err error) {
	v, ok := d.Backend.(backend.Verifier)
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

// Keys checks and counts the API keys, if the backend keeps any.
func (d *Doctor) Keys(ctx context.Context) (keys, faults int64, err error) {
	keeper, ok := d.Backend.(apikey.Keeper)
	if !ok {
		return 0, 0, nil
	}
	ids := map[memento.KeyID]bool{}
	hashes := map[apikey.Hash]bool{}
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
			fault(k.ID, "exists twice")
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

// IsDamage reports whether an error of a backend says that stored data is damaged, rather
// than that it could not be read now.
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
