package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"memento"
)

// An examination is one check of one store.
type examination struct {
	doctor *Doctor
	info   memento.StoreInfo
	heads  map[memento.MemoryID]memento.Version // newest versions of existing memories according to the history, without contents; nil if the history cannot be read
	faults []Fault
	alike  lookalikes

	notices []Notice
	seen    Counts
	done    int64

	damaged map[memento.VersionID]bool
}

func (x *examination) fault(what, repair string) {
	if len(x.faults) < maxFaults {
		x.faults = append(x.faults, Fault{Store: x.info.ID, Text: what, Repair: repair})
	}
}

func (x *examination) faultf(repair, format string, args ...any) {
	x.fault(fmt.Sprintf(format, args...), repair)
}

func (x *examination) step() {
	x.done++
	if x.doctor.Progress != nil && x.done%100 == 0 {
		x.doctor.Progress(x.info, x.done)
	}
}

func (x *examination) newest(ctx context.Context) (int64, error) {
	for v, err := range x.doctor.Backend.ListVersions(ctx, x.info.ID, memento.VersionListOptions{Limit: 1}) {
		if IsDamage(err) { // reported by the check of the history
			err = nil
		}
		return v.Seq, err
	}
	return 0, nil
}

func (x *examination) look(ctx context.Context) error {
	if err := x.history(ctx); err != nil {
		return err
	}
	usage, whole, err := x.memories(ctx)
	if err != nil {
		return err
	}
	if whole {
		for id, v := range x.heads {
			x.faultf(repairCopy, "according to the history, memory %s exists with version %s, but it is missing", id, v.ID)
		}
	}
	info, err := x.doctor.Backend.GetStore(ctx, x.info.Workspace, x.info.ID)
	switch {
	case IsDamage(err):
		x.faultf(repairStore, "its description cannot be read: %v", err)
	case err != nil:
		return err
	case whole && info.Usage != usage:
		x.faultf(repairCopy, "it counts %d memories with %d bytes, but has %d with %d", info.Usage.Memories, info.Usage.Bytes, usage.Memories, usage.Bytes)
	}
	if err == nil && (info.ID != x.info.ID || info.Workspace != x.info.Workspace) {
		x.faultf(repairCopy, "its description is that of store %s in workspace %q", info.ID, info.Workspace)
	}
	if !whole {
		return nil
	}
	return x.rolledUp(ctx, usage)
}

// ahead is how far a time may be ahead of this machine's clock.
const ahead = time.Minute

func (x *examination) history(ctx context.Context) error {
	x.heads = map[memento.MemoryID]memento.Version{}
	ids := map[memento.VersionID]bool{}
	var seq int64
	future := int64(0)
	contents := true
	var damages []memento.Version
	opts := memento.VersionListOptions{OldestFirst: true, Contents: true}
	for {
		var failed error
		for v, err := range x.doctor.Backend.ListVersions(ctx, x.info.ID, opts) {
			if err != nil {
				failed = err
				break
			}
			x.step()
			x.seen.Versions++
			if v.Seq <= seq {
				x.faultf(repairHistory, "version %s is out of order: its number is %d, after %d", v.ID, v.Seq, seq)
			}
			if v.ID == "" || ids[v.ID] {
				x.faultf(repairHistory, "version %q exists twice", v.ID)
			}
			ids[v.ID], seq = true, max(seq, v.Seq)
			if v.CreatedAt.Sub(x.doctor.now()) > ahead {
				future++
			}
			if !contents { // read them one by one, to find those that cannot be read
				one, err := x.doctor.Backend.GetVersion(ctx, x.info.ID, v.ID)
				switch {
				case err == nil:
					v.Content = one.Content
					x.version(&v, true)
				case errors.Is(err, memento.ErrDamaged):
					damages = append(damages, v)
					x.version(&v, false)
				case IsDamage(err):
					x.faultf(repairOf(err), "version %s of memory %s cannot be read: %v", v.ID, v.Memory, withoutPath(err))
					x.version(&v, false)
				default:
					return err
				}
			} else {
				x.version(&v, true)
			}
			if v.Content = ""; v.Operation == memento.Deleted {
				delete(x.heads, v.Memory)
			} else {
				x.heads[v.Memory] = v
			}
		}
		switch {
		case failed == nil:
			if future > 0 {
				x.faultf(repairClock, "%d versions have times in the future", future)
			}
			return x.damages(ctx, damages)
		case !IsDamage(failed):
			return failed
		case !contents:
			x.faultf(repairHistory, "its history cannot be read: %v", withoutPath(failed))
			x.heads = nil // it may be incomplete
			return nil
		}
		contents, opts.Contents, opts.After = false, false, seq
	}
}

// version checks one version by itself.
func (x *examination) version(v *memento.Version, contents bool) {
	empty := v.Redacted() || v.Operation == memento.Deleted
	switch v.Operation {
	case memento.Created, memento.Modified, memento.Deleted:
	default:
		x.faultf(repairHistory, "version %s has the unknown operation %q", v.ID, v.Operation)
	}
	switch {
	case v.Memory == "":
		x.faultf(repairHistory, "version %s has no memory", v.ID)
	case empty && (v.Content != "" || v.SHA256 != "" || v.Digest != "" || v.Size != 0):
		x.faultf(repairHistory, "version %s should be empty, but is not", v.ID)
	case v.Redacted() != (v.Path == ""):
		x.faultf(repairHistory, "version %s is redacted and has a path, or neither", v.ID)
	case !empty && contents && (v.SHA256 != memento.HashContent(v.Content) || v.Digest == "" && v.Size != int64(len(v.Content))):
		x.faultf(repairContents, "version %s of memory %s has contents that do not match its hash or its size", v.ID, v.Memory)
	}
	if v.Path != "" {
		if _, err := memento.ParsePath(string(v.Path)); err != nil {
			x.faultf(repairHistory, "version %s has a path that is not valid", v.ID)
		}
	}
	if v.CreatedAt.IsZero() {
		x.faultf(repairHistory, "version %s has no time", v.ID)
	}
}

// withoutPath returns an error without the path of a memory.
func withoutPath(err error) error {
	if at, ok := asError(err); ok && at.Path != "" {
		return &memento.Error{Op: at.Op, Err: at.Err}
	}
	return err
}
