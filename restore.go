package memento

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// RestoreVersion writes a version's contents back: to its memory, wherever that
// is now, or, if it was deleted, to a new memory at the version's path. It
// returns the memory's path. That the contents are already there is no error.
//
// Errors: ErrNotExist if there is no such version; ErrInvalid if it has no
// contents, being redacted or a deletion; those of [Put].
func (s *Store) RestoreVersion(ctx context.Context, by Actor, id VersionID) (Path, error) {
	v, err := s.Version(ctx, id)
	if err != nil {
		return "", err
	}
	switch {
	case v.Redacted():
		return "", &Error{Op: "restore", Err: fmt.Errorf("%w: version %s is redacted; its contents are gone", ErrInvalid, id)}
	case v.Operation == Deleted:
		return "", &Error{Op: "restore", Path: v.Path, Err: fmt.Errorf("%w: version %s is a deletion; restore the one before it", ErrInvalid, id)}
	}
	for {
		put := Put{Path: v.Path, Content: v.Content, If: IfAbsent()}
		switch m, err := s.peek(ctx, ByID(v.Memory)); {
		case err == nil:
			put.Path, put.If = m.Path, IfVersion(m.Version)
		case !errors.Is(err, ErrNotExist):
			return "", err
		}
		_, err := s.Apply(ctx, by, put)
		if !errors.Is(err, ErrConflict) {
			return put.Path, err
		}
	}
}

// A Restoration says what [Store.RestoreAsOf] did, or would do.
type Restoration struct {
	Written []Path // memories made or written back
	Removed []Path // memories that did not exist then, at that path

	// Lost are the memories of then that do not come back: those whose contents
	// or path are no longer known, which stay as they are now, and those in
	// whose place one of these is.
	Lost []Path
}

// RestoreAsOf brings the store back to what it held at a time, as one change
// that can itself be restored. Memories that are as they were then are not
// touched; one that was renamed since is made anew at its old path. With dryRun
// it only says what it would do.
func (s *Store) RestoreAsOf(ctx context.Context, by Actor, at time.Time, dryRun bool) (Restoration, error) {
	for {
		r, changes, err := s.planRestore(ctx, at)
		if err != nil || dryRun || len(changes) == 0 {
			return r, err
		}
		_, err = s.Apply(ctx, by, changes...)
		if !errors.Is(err, ErrConflict) && !errors.Is(err, ErrExist) {
			return r, err
		}
		// Others wrote between the look and the leap: look again.
	}
}

func (s *Store) planRestore(ctx context.Context, at time.Time) (Restoration, []Change, error) {
	var r Restoration
	// What each memory was at the time: its newest version not after it.
	then := map[MemoryID]Version{}
	for v, err := range s.Versions(ctx, VersionListOptions{CreatedTo: at}) {
		if err != nil {
			return r, nil, err
		}
		if _, seen := then[v.Memory]; !seen {
			then[v.Memory] = v
		}
	}
	lost := map[MemoryID]bool{}
	for id, v := range then {
		if v.Redacted() && v.Operation != Deleted {
			lost[id] = true
		}
	}

	var removes, puts []Change
	for e, err := range s.List(ctx, ListOptions{}) {
		if err != nil {
			return r, nil, err
		}
		m := e.Memory
		v, existed := then[m.ID]
		switch {
		case lost[m.ID]:
			r.Lost = append(r.Lost, m.Path)
			delete(then, m.ID)
		case existed && v.Operation != Deleted && v.Path == m.Path:
			if v.SHA256 != m.SHA256 {
				full, err := s.Version(ctx, v.ID)
				if err != nil {
					return r, nil, err
				}
				puts = append(puts, Put{Path: m.Path, Content: full.Content, If: IfVersion(m.Version)})
				r.Written = append(r.Written, m.Path)
			}
			delete(then, m.ID)
		default: // it did not exist, or not here
			removes = append(removes, Remove{Path: m.Path, If: IfVersion(m.Version)})
			r.Removed = append(r.Removed, m.Path)
		}
	}
	stay := r.Lost
	for _, v := range slices.SortedFunc(maps.Values(then), func(a, b Version) int { return cmp.Compare(a.Path, b.Path) }) {
		if v.Operation == Deleted || lost[v.Memory] {
			continue
		}
		if slices.ContainsFunc(stay, func(p Path) bool { return p == v.Path || p.Contains(v.Path) || v.Path.Contains(p) }) {
			r.Lost = append(r.Lost, v.Path)
			continue
		}
		full, err := s.Version(ctx, v.ID)
		if err != nil {
			return r, nil, err
		}
		puts = append(puts, Put{Path: v.Path, Content: full.Content, If: IfAbsent()})
		r.Written = append(r.Written, v.Path)
	}
	return r, append(removes, puts...), nil
}
