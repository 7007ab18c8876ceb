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
// returns the memory's path, and what was replaced in the contents because it is
// sensitive. That the contents are already there is no error. A memory whose present
// contents are damaged is written anew.
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
			r, err = s.Apply(ctx, by, overwriteChanges(put)...)
		}
		if !errors.Is(err, ErrConflict) {
			return put.Path, r.Masked, err
		}
	}
}

// A Restoration says what [Store.RestoreAsOf] did, or would do.
type Restoration struct {
	Written []Path // memories made or written back
	Removed []Path // memories that did not exist then, at that path

	// Lost are the memories of then that do not come back: those whose contents
	// or path are no longer known, being redacted or pruned, which stay as they
	// are now, and those in whose place one of these is.
	Lost []Path

	Masked []FindingLocation // what was replaced in the memories written; a dry run does not tell
}

// RestoreAsOf brings the store back to what it held at a time, as one change
// that can itself be restored. Memories that are as they were then are not
// touched; one that was renamed since is made anew at its old path. With dryRun
// it only says what it would do.
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
		// Others wrote between the look and the leap: look again.
		if tries == maxPlans && errors.Is(err, ErrConflict) {
			return Restoration{}, &Error{Op: "restore", Err: fmt.Errorf("%w: others keep writing to the store; stop them, and restore again", ErrConflict)}
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
	gone := maps.Clone(lost) // those lost that are not there now
	var stay []Path          // what cannot be restored, and so is left as it is
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

// stateAt returns the newest version, by path, of each memory that lived at a
// time, and those of which it is not known any more what they were, with the last
// path that is known of them.
func (s *Store) stateAt(ctx context.Context, at time.Time) (then map[Path]Version, lost map[MemoryID]Path, err error) {
	then, lost = map[Path]Version{}, map[MemoryID]Path{}
	seen := map[MemoryID]bool{}     // with a version of then
	since := map[MemoryID]Version{} // the oldest version after then of the others
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
		case then[v.Path].ID == "": // see uncontested
			then[v.Path] = v
		}
		seen[v.Memory] = true
	}
	for id, v := range since {
		if !seen[id] && v.Operation != Created {
			lost[id] = v.Path // it was there, but what it was is pruned
		}
	}
	return then, lost, nil
}

// uncontested removes from a state the older of two versions that cannot stand
// beside each other, and returns the paths of those. Only an imported history
// whose times are not in order has such a state.
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
