package memento

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// RestoreVersion writes a version's contents back: to its memory, wherever that
// is now, or, if it was deleted, to a new memory at the version's path. It
// returns the memory's path, and the locations of masked secrets. If the memory has the
// contents already, nothing is written. Damaged present contents are overwritten.
//
// Errors: ErrNotExist if there is no such version; ErrInvalid if it has no
// contents, being redacted or a deletion; ErrDamaged; those of [Put].
func (s *Store) RestoreVersion(ctx context.Context, by Actor, id VersionID) (Path, []FindingLocation, error) {
	v, err := s.Version(ctx, id)
	if err != nil {
		return "", nil, err
	}
	switch {
	case v.Redacted():
		return "", nil, &Error{Op: "restore", Err: fmt.Errorf("%w: version %s is redacted; its contents are gone", ErrInvalid, id)}
	case v.Operation == Deleted:
		return "", nil, &Error{Op: "restore", Path: v.Path, Err: fmt.Errorf("%w: version %s is a deletion; restore the one before it", ErrInvalid, id)}
	}
	for {
		put := Put{Path: v.Path, Content: v.Content, If: IfAbsent()}
		var damage *DamageError
		var at *Error
		switch m, err := s.Peek(ctx, ByID(v.Memory)); {
		case err == nil:
			put.Path, put.If = m.Path, IfVersion(m.Version)
		case errors.As(err, &damage) && errors.As(err, &at) && at.Path != "":
			put.Path, put.If = at.Path, IfVersion(damage.Version)
		case !errors.Is(err, ErrNotExist):
			return "", nil, err
		}
		r, err := s.Apply(ctx, by, put)
		if err == nil && damage != nil && len(r.Versions) == 0 {
			r, err = s.Apply(ctx, by, put.Forced()...)
		}
		if !errors.Is(err, ErrConflict) {
			return put.Path, r.Masked, err
		}
	}
}

// A Restoration says what [Store.RestoreAsOf] did, or would do.
type Restoration struct {
	Written []Path // memories made or written back
	Removed []Path // memories that did not exist at that path then

	// Lost are the memories of that time that cannot be restored: those whose contents
	// or path are redacted or pruned, which stay as they are now, and those whose path
	// is taken by one of these.
	Lost []Path

	Masked []FindingLocation // secrets that were masked in the memories written; empty for a dry run
}

// RestoreAsOf restores the state of the store at a time, as one atomic change that can
// itself be undone. Memories that have not changed since are not written. A memory that
// was renamed since is created again at its old path. With dryRun it only says what it
// would do.
//
// Errors: ErrConflict if others keep writing, so that each plan is out of date; those of
// [Store.Apply].
func (s *Store) RestoreAsOf(ctx context.Context, by Actor, at time.Time, dryRun bool) (Restoration, error) {
	for tries := 1; ; tries++ {
		r, changes, err := s.planRestore(ctx, at)
		if err != nil || dryRun || len(changes) == 0 {
			return r, err
		}
		receipt, err := s.Apply(ctx, by, changes...)
		if !errors.Is(err, ErrConflict) && !errors.Is(err, ErrExist) {
			r.Masked = receipt.Masked
			return r, err
		}
		// Others wrote after the plan was made: plan again.
		if tries == maxPlans && errors.Is(err, ErrConflict) {
			return Restoration{}, &Error{Op: "restore", Err: fmt.Errorf("%w: other clients keep writing to the store; stop them, then restore again", ErrConflict)}
		}
		if tries == maxPlans {
			return Restoration{}, err
		}
	}
}

func (s *Store) planRestore(ctx context.Context, at time.Time) (Restoration, []Change, error) {
	var r Restoration
	then, lost, err := s.stateAt(ctx, at)
	if err != nil {
		return r, nil, err
	}
	r.Lost = removeOverlaps(then)
	gone := maps.Clone(lost) // lost memories that do not exist now
	var stay []Path          // paths that cannot be restored and stay as they are
	var removes, puts []Change
	write := func(v Version, cond Condition) error {
		full, err := s.Version(ctx, v.ID)
		puts = append(puts, Put{Path: v.Path, Content: full.Content, If: cond})
		r.Written = append(r.Written, v.Path)
		return err
	}
	for e, err := range s.List(ctx, ListOptions{}) {
		if err != nil {
			return r, nil, err
		}
		m := e.Memory
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
			removes = append(removes, Remove{Path: m.Path, If: IfVersion(m.Version)})
			r.Removed = append(r.Removed, m.Path)
		default:
			delete(then, m.Path)
			if v.SHA256 != m.SHA256 {
				if err := write(v, IfVersion(m.Version)); err != nil {
					return r, nil, err
				}
			}
		}
	}
	for _, p := range slices.Sorted(maps.Values(gone)) {
		if p != "" {
			r.Lost = append(r.Lost, p)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(then)) {
		if slices.ContainsFunc(stay, func(q Path) bool { return p == q || p.Contains(q) || q.Contains(p) }) {
			r.Lost = append(r.Lost, p)
		} else if err := write(then[p], IfAbsent()); err != nil {
			return r, nil, err
		}
	}
	return r, append(removes, puts...), nil
}

// stateAt returns the newest version, by path, of each memory that existed at a time, and
// the memories whose state at that time is no longer known, with their next known path.
func (s *Store) stateAt(ctx context.Context, at time.Time) (then map[Path]Version, lost map[MemoryID]Path, err error) {
	then, lost = map[Path]Version{}, map[MemoryID]Path{}
	seen := map[MemoryID]bool{}     // memories with a version of that time
	since := map[MemoryID]Version{} // of other memories, the oldest version after that time
	there := pastState{at: at}
	for v, err := range s.Versions(ctx, VersionListOptions{}) {
		switch {
		case err != nil:
			return nil, nil, err
		case !there.includes(&v):
			since[v.Memory] = v
			continue
		case seen[v.Memory] || v.Operation == Deleted:
		case v.Redacted():
			lost[v.Memory] = ""
		case then[v.Path].ID == "": // see removeOverlaps
			then[v.Path] = v
		}
		seen[v.Memory] = true
	}
	for id, v := range since {
		if !seen[id] && v.Operation != Created {
			lost[id] = v.Path // it existed, but its version is pruned
		}
	}
	return then, lost, nil
}

// removeOverlaps removes from a state the older of two versions of which one path contains
// the other, and returns the removed paths. Only an imported history whose times are not
// in order has such a state.
func removeOverlaps(then map[Path]Version) (removed []Path) {
	for _, p := range slices.Sorted(maps.Keys(then)) {
		for dir := range p.Ancestors() {
			above, taken := then[dir]
			switch v, here := then[p]; {
			case !taken || !here:
			case above.Seq < v.Seq:
				delete(then, dir)
				removed = append(removed, dir)
			default:
				delete(then, p)
				removed = append(removed, p)
			}
		}
	}
	return removed
}

// A pastState decides which versions of a store existed at a time. includes must be
// called for all versions, newest first. The time that counts is the earliest among a
// version's own and those of all later versions that were made in the store: a later
// change cannot have an earlier time unless a clock was ahead.
//
// Source: docs/reliability.md, "A later change is not earlier".
type pastState struct {
	at       time.Time
	fromHere bool // whether all older versions existed; imported ones are decided by their own times
}

// includes reports whether v existed.
func (a *pastState) includes(v *Version) bool {
	early := !v.CreatedAt.After(a.at)
	if v.isLocal() {
		a.fromHere = a.fromHere || early
	}
	return early || a.fromHere
}
