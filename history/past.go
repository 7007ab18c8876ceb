package history

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"memento"
)

// MemoryAt returns the memory at p or, if there is none, the one that was there last.
//
// Errors: ErrNotExist if there never was one; ErrIsDir.
func MemoryAt(ctx context.Context, s *memento.Store, p memento.Path) (memento.MemoryID, error) {
	m, missing := s.Stat(ctx, memento.ByPath(p))
	if !errors.Is(missing, memento.ErrNotExist) {
		return m.ID, missing
	}
	for v, err := range s.Versions(ctx, memento.VersionListOptions{Path: p}) {
		switch {
		case err != nil:
			return "", err
		case v.Path == p:
			return v.Memory, nil
		}
	}
	return "", missing
}

// A Snapshot describes the memories of a store at a time in the past, as far as the
// history tells.
type Snapshot struct {
	store    *memento.Store
	versions map[memento.Path]memento.Version

	// Lost is the number of memories of that time of which no path or contents are known
	// any more, because they are redacted or pruned.
	Lost int
}

// AsOf returns the state of the store at a time. It reads the descriptions of all versions.
func AsOf(ctx context.Context, s *memento.Store, at time.Time) (*Snapshot, error) {
	then, lost, err := stateAt(ctx, s, at)
	if err != nil {
		return nil, err
	}
	return &Snapshot{store: s, Lost: len(lost) + len(removeOverlaps(then)), versions: then}, nil
}

// Versions returns the versions of that time at a path or below it, in byte order of
// their paths and without contents.
func (p *Snapshot) Versions(at memento.Path) (found []memento.Version) {
	for _, path := range slices.Sorted(maps.Keys(p.versions)) {
		if includes(at, path) {
			found = append(found, p.versions[path])
		}
	}
	return found
}

// Get returns the version of that time at a path, with its contents.
//
// Errors: ErrNotExist; ErrIsDir; ErrDamaged.
func (p *Snapshot) Get(ctx context.Context, at memento.Path) (memento.Version, error) {
	v, ok := p.versions[at]
	switch {
	case ok:
		return p.store.Version(ctx, v.ID)
	case at.IsRoot(), len(p.Versions(at)) > 0:
		return v, &memento.Error{Op: "get", Path: at, Err: memento.ErrIsDir}
	}
	return v, &memento.Error{Op: "get", Path: at, Err: memento.ErrNotExist}
}

// RenamedFrom returns, for each of the versions that changed the path of its memory, the
// path before. versions are part of what [memento.Store.Versions] yields for opts, in its order.
// Renames whose previous version is redacted or pruned are not found.
//
// It reads one more version for each memory that was modified; if opts selects versions by
// anything but their memory, it reads the part of the memory's history that the versions
// span.
func RenamedFrom(ctx context.Context, s *memento.Store, opts memento.VersionListOptions, versions []memento.Version) (map[memento.VersionID]memento.Path, error) {
	of := map[memento.MemoryID][]memento.Version{}
	for _, v := range versions {
		of[v.Memory] = append(of[v.Memory], v)
	}
	gaps := opts.Path != "" || opts.Operation != "" || opts.CreatedBy != (memento.Actor{}) || !opts.CreatedFrom.IsZero() || !opts.CreatedTo.IsZero()
	from := map[memento.VersionID]memento.Path{}
	for id, listed := range of {
		slices.SortFunc(listed, func(a, b memento.Version) int { return cmp.Compare(b.Seq, a.Seq) })
		if !slices.ContainsFunc(listed, func(v memento.Version) bool { return v.Operation == memento.Modified }) {
			continue
		}
		newest, oldest := listed[0], listed[len(listed)-1]
		before := memento.VersionListOptions{Memory: id, After: oldest.Seq, Limit: 1}
		all := listed
		if gaps {
			all = []memento.Version{newest}
			before = memento.VersionListOptions{Memory: id, After: newest.Seq}
		}
		if gaps || oldest.Operation == memento.Modified {
			for v, err := range s.Versions(ctx, before) {
				if err != nil {
					return nil, err
				}
				if all = append(all, v); v.Seq < oldest.Seq {
					break
				}
			}
		}
		for i, v := range all[:len(all)-1] {
			if old := all[i+1]; v.Operation == memento.Modified && !v.Redacted() && !old.Redacted() && old.Path != v.Path {
				from[v.ID] = old.Path
			}
		}
	}
	return from, nil
}

// stateAt returns the newest version, by path, of each memory that existed at a time, and
// the memories whose state at that time is no longer known, with their next known path.
func stateAt(ctx context.Context, s *memento.Store, at time.Time) (then map[memento.Path]memento.Version, lost map[memento.MemoryID]memento.Path, err error) {
	then, lost = map[memento.Path]memento.Version{}, map[memento.MemoryID]memento.Path{}
	seen := map[memento.MemoryID]bool{}             // memories with a version of that time
	since := map[memento.MemoryID]memento.Version{} // of other memories, the oldest version after that time
	there := pastState{at: at}
	for v, err := range s.Versions(ctx, memento.VersionListOptions{}) {
		switch {
		case err != nil:
			return nil, nil, err
		case !there.includes(&v):
			since[v.Memory] = v
			continue
		case seen[v.Memory] || v.Operation == memento.Deleted:
		case v.Redacted():
			lost[v.Memory] = ""
		case then[v.Path].ID == "": // see removeOverlaps
			then[v.Path] = v
		}
		seen[v.Memory] = true
	}
	for id, v := range since {
		if !seen[id] && v.Operation != memento.Created {
			lost[id] = v.Path // it existed, but its version is pruned
		}
	}
	return then, lost, nil
}

// removeOverlaps removes from a state the older of two versions of which one path contains
// the other, and returns the removed paths. Only an imported history whose times are not
// in order has such a state.
func removeOverlaps(then map[memento.Path]memento.Version) (removed []memento.Path) {
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
func (a *pastState) includes(v *memento.Version) bool {
	early := !v.CreatedAt.After(a.at)
	if v.IsLocal() {
		a.fromHere = a.fromHere || early
	}
	return early || a.fromHere
}
