package history

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"memento"
)

// RestoreVersion writes a version's contents back: to its memory, wherever that
// is now, or, if it was deleted, to a new memory at the version's path. It
// returns the memory's path, and the locations of masked secrets. If the memory has the
// contents already, nothing is written. Damaged present contents are overwritten.
//
// Errors: ErrNotExist if there is no such version; ErrInvalid if it has no
// contents, being redacted or a deletion; ErrDamaged; those of [memento.Put].
func RestoreVersion(ctx context.Context, s *memento.Store, by memento.Actor, id memento.VersionID) (memento.Path, []memento.FindingLocation, error) {
	v, err := s.Version(ctx, id)
	if err != nil {
		return "", nil, err
	}
	switch {
	case v.Redacted():
		return "", nil, &memento.Error{Op: "restore", Err: fmt.Errorf("%w: version %s is redacted; its contents are gone", memento.ErrInvalid, id)}
	case v.Operation == memento.Deleted:
		return "", nil, &memento.Error{Op: "restore", Path: v.Path, Err: fmt.Errorf("%w: version %s is a deletion; restore the one before it", memento.ErrInvalid, id)}
	}
	for {
		put := memento.Put{Path: v.Path, Content: v.Content, If: memento.IfAbsent()}
		var damage *memento.DamageError
		var at *memento.Error
		switch m, err := s.Peek(ctx, memento.ByID(v.Memory)); {
		case err == nil:
			put.Path, put.If = m.Path, memento.IfVersion(m.Version)
		case errors.As(err, &damage) && errors.As(err, &at) && at.Path != "":
			put.Path, put.If = at.Path, memento.IfVersion(damage.Version)
		case !errors.Is(err, memento.ErrNotExist):
			return "", nil, err
		}
		r, err := s.Apply(ctx, by, put)
		if err == nil && damage != nil && len(r.Versions) == 0 {
			r, err = s.Apply(ctx, by, put.Forced()...)
		}
		if !errors.Is(err, memento.ErrConflict) {
			return put.Path, r.Masked, err
		}
	}
}

// A Restoration says what [RestoreAsOf] did, or would do.
type Restoration struct {
	Written []memento.Path // memories made or written back
	Removed []memento.Path // memories that did not exist at that path then

	// Lost are the memories of that time that cannot be restored: those whose contents
	// or path are redacted or pruned, which stay as they are now, and those whose path
	// is taken by one of these.
	Lost []memento.Path

	Masked []memento.FindingLocation // secrets that were masked in the memories written; empty for a dry run
}

// RestoreAsOf restores the state of the store at a time, as one atomic change that can
// itself be undone. Memories that have not changed since are not written. A memory that
// was renamed since is created again at its old path. With dryRun it only says what it
// would do.
//
// Errors: ErrConflict if others keep writing, so that each plan is out of date; those of
// [memento.Store.Apply].
func RestoreAsOf(ctx context.Context, s *memento.Store, by memento.Actor, at time.Time, dryRun bool) (Restoration, error) {
	return RestorePathAsOf(ctx, s, by, memento.Root, at, dryRun)
}

// RestorePathAsOf is [RestoreAsOf] for the memory at a path, or for everything below
// a directory. Memories elsewhere are not changed: one that was renamed from p to another
// place since stays there, and is created again at p.
//
// Errors: ErrNotExist if there is nothing at p, and was nothing then; those of
// RestoreAsOf.
func RestorePathAsOf(ctx context.Context, s *memento.Store, by memento.Actor, p memento.Path, at time.Time, dryRun bool) (Restoration, error) {
	for tries := 1; ; tries++ {
		r, changes, err := planRestore(ctx, s, p, at)
		if err != nil || dryRun || len(changes) == 0 {
			return r, err
		}
		receipt, err := s.Apply(ctx, by, changes...)
		if !errors.Is(err, memento.ErrConflict) && !errors.Is(err, memento.ErrExist) {
			r.Masked = receipt.Masked
			return r, err
		}
		// Others wrote after the plan was made: plan again.
		if tries == maxPlans && errors.Is(err, memento.ErrConflict) {
			return Restoration{}, &memento.Error{Op: "restore", Err: fmt.Errorf("%w: other clients keep writing to the store; stop them, then restore again", memento.ErrConflict)}
		}
		if tries == maxPlans {
			return Restoration{}, err
		}
	}
}

func planRestore(ctx context.Context, s *memento.Store, p memento.Path, at time.Time) (Restoration, []memento.Change, error) {
	var r Restoration
	then, lost, err := stateAt(ctx, s, at)
	if err != nil {
		return r, nil, err
	}
	maps.DeleteFunc(then, func(at memento.Path, _ memento.Version) bool { return !includes(p, at) })
	maps.DeleteFunc(lost, func(_ memento.MemoryID, at memento.Path) bool { return !p.IsRoot() && !includes(p, at) })
	any := p.IsRoot() || len(then)+len(lost) > 0 // whether there is, or was, something to restore
	r.Lost = removeOverlaps(then)
	gone := maps.Clone(lost) // lost memories that do not exist now
	var stay []memento.Path  // paths that cannot be restored and stay as they are
	var removes, puts []memento.Change
	write := func(v memento.Version, cond memento.Condition) error {
		full, err := s.Version(ctx, v.ID)
		puts = append(puts, memento.Put{Path: v.Path, Content: full.Content, If: cond})
		r.Written = append(r.Written, v.Path)
		return err
	}
	for e, err := range s.List(ctx, memento.ListOptions{}) {
		if err != nil {
			return r, nil, err
		}
		m := e.Memory
		if !includes(p, m.Path) {
			continue
		}
		any = true
		v, existed := then[m.Path]
		_, unknown := lost[m.ID]
		delete(gone, m.ID)
		switch {
		case e.Foreign:
			stay = append(stay, m.Path)
		case unknown:
			r.Lost = append(r.Lost, m.Path)
			stay = append(stay, m.Path)
		case !existed:
			removes = append(removes, memento.Remove{Path: m.Path, If: memento.IfVersion(m.Version)})
			r.Removed = append(r.Removed, m.Path)
		default:
			delete(then, m.Path)
			if v.SHA256 != m.SHA256 {
				if err := write(v, memento.IfVersion(m.Version)); err != nil {
					return r, nil, err
				}
			}
		}
	}
	if !any {
		return r, nil, &memento.Error{Op: "restore", Path: p, Err: memento.ErrNotExist}
	}
	for _, p := range slices.Sorted(maps.Values(gone)) {
		if p != "" {
			r.Lost = append(r.Lost, p)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(then)) {
		if slices.ContainsFunc(stay, func(q memento.Path) bool { return p == q || p.Contains(q) || q.Contains(p) }) {
			r.Lost = append(r.Lost, p)
		} else if err := write(then[p], memento.IfAbsent()); err != nil {
			return r, nil, err
		}
	}
	return r, append(removes, puts...), nil
}

// includes reports whether q is p or below it.
func includes(p, q memento.Path) bool { return p.IsRoot() || p == q || p.Contains(q) }

// UndoLast reverts the last change of the memory at p, or of the one that was last there,
// as a change that can itself be undone, in the same way: contents and path become those of
// the version before, a removed memory is created again, and one that was created is
// removed. With dryRun it only says what it would do.
//
// Errors: ErrNotExist if there never was a memory at p; ErrIsDir; ErrInvalid if the version
// before is redacted or pruned; ErrDamaged; ErrConflict if others keep writing; those of
// [memento.Store.Apply], such as ErrExist if the old path is taken.
func UndoLast(ctx context.Context, s *memento.Store, by memento.Actor, p memento.Path, dryRun bool) (Restoration, error) {
	for tries := 1; ; tries++ {
		r, change, err := planUndoLast(ctx, s, p)
		if err != nil || dryRun {
			return r, err
		}
		receipt, err := s.Apply(ctx, by, change)
		if !errors.Is(err, memento.ErrConflict) || tries == maxPlans {
			r.Masked = receipt.Masked
			return r, err
		}
	}
}

func planUndoLast(ctx context.Context, s *memento.Store, p memento.Path) (r Restoration, c memento.Change, err error) {
	id, err := MemoryAt(ctx, s, p)
	if err != nil {
		return r, nil, err
	}
	var last []memento.Version // the last change and the version before it
	for v, err := range s.Versions(ctx, memento.VersionListOptions{Memory: id, Limit: 2}) {
		if err != nil {
			return r, nil, err
		}
		last = append(last, v)
	}
	switch {
	case len(last) == 0:
		return r, nil, &memento.Error{Op: "restore", Path: p, Err: memento.ErrNotExist}
	case len(last) == 1 && last[0].Operation != memento.Created:
		return r, nil, &memento.Error{Op: "restore", Path: p, Err: fmt.Errorf("%w: the version before the last change is pruned", memento.ErrInvalid)}
	case len(last) == 1:
		r.Removed = []memento.Path{last[0].Path}
		return r, memento.Remove{Path: last[0].Path, If: memento.IfVersion(last[0].ID)}, nil
	case last[1].Redacted():
		return r, nil, &memento.Error{Op: "restore", Path: p, Err: fmt.Errorf("%w: version %s, the one before the last change, is redacted", memento.ErrInvalid, last[1].ID)}
	}
	now := last[0]
	before, err := s.Version(ctx, last[1].ID)
	if err != nil {
		return r, nil, err
	}
	r.Written = []memento.Path{before.Path}
	switch {
	case now.Operation == memento.Deleted:
		return r, memento.Put{Path: before.Path, Content: before.Content, If: memento.IfAbsent()}, nil
	case now.Path != before.Path:
		r.Removed = []memento.Path{now.Path}
		return r, memento.Move{From: now.Path, To: before.Path, Content: &before.Content, If: memento.IfVersion(now.ID)}, nil
	}
	return r, memento.Put{Path: before.Path, Content: before.Content, If: memento.IfVersion(now.ID)}, nil
}
