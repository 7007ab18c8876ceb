package memento

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"memento/internal/lines"
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
	return s.RestorePathAsOf(ctx, by, Root, at, dryRun)
}

// RestorePathAsOf is [Store.RestoreAsOf] for the memory at a path, or for everything below
// a directory. Memories elsewhere are not changed: one that was renamed from p to another
// place since stays there, and is created again at p.
//
// Errors: ErrNotExist if there is nothing at p, and was nothing then; those of
// RestoreAsOf.
func (s *Store) RestorePathAsOf(ctx context.Context, by Actor, p Path, at time.Time, dryRun bool) (Restoration, error) {
	for tries := 1; ; tries++ {
		r, changes, err := s.planRestore(ctx, p, at)
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

func (s *Store) planRestore(ctx context.Context, p Path, at time.Time) (Restoration, []Change, error) {
	var r Restoration
	then, lost, err := s.stateAt(ctx, at)
	if err != nil {
		return r, nil, err
	}
	maps.DeleteFunc(then, func(at Path, _ Version) bool { return !p.includes(at) })
	maps.DeleteFunc(lost, func(_ MemoryID, at Path) bool { return !p.IsRoot() && !p.includes(at) })
	any := p.IsRoot() || len(then)+len(lost) > 0 // whether there is, or was, something to restore
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
		if !p.includes(m.Path) {
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
	if !any {
		return r, nil, &Error{Op: "restore", Path: p, Err: ErrNotExist}
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

// includes reports whether q is p or below it.
func (p Path) includes(q Path) bool { return p.IsRoot() || p == q || p.Contains(q) }

// UndoLast reverts the last change of the memory at p, or of the one that was last there,
// as a change that can itself be undone, in the same way: contents and path become those of
// the version before, a removed memory is created again, and one that was created is
// removed. With dryRun it only says what it would do.
//
// Errors: ErrNotExist if there never was a memory at p; ErrIsDir; ErrInvalid if the version
// before is redacted or pruned; ErrDamaged; ErrConflict if others keep writing; those of
// [Store.Apply], such as ErrExist if the old path is taken.
func (s *Store) UndoLast(ctx context.Context, by Actor, p Path, dryRun bool) (Restoration, error) {
	for tries := 1; ; tries++ {
		r, change, err := s.planUndoLast(ctx, p)
		if err != nil || dryRun {
			return r, err
		}
		receipt, err := s.Apply(ctx, by, change)
		if !errors.Is(err, ErrConflict) || tries == maxPlans {
			r.Masked = receipt.Masked
			return r, err
		}
	}
}

func (s *Store) planUndoLast(ctx context.Context, p Path) (r Restoration, c Change, err error) {
	id, err := s.MemoryAt(ctx, p)
	if err != nil {
		return r, nil, err
	}
	var last []Version // the last change and the version before it
	for v, err := range s.Versions(ctx, VersionListOptions{Memory: id, Limit: 2}) {
		if err != nil {
			return r, nil, err
		}
		last = append(last, v)
	}
	switch {
	case len(last) == 0:
		return r, nil, &Error{Op: "restore", Path: p, Err: ErrNotExist}
	case len(last) == 1 && last[0].Operation != Created:
		return r, nil, &Error{Op: "restore", Path: p, Err: fmt.Errorf("%w: the version before the last change is pruned", ErrInvalid)}
	case len(last) == 1:
		r.Removed = []Path{last[0].Path}
		return r, Remove{Path: last[0].Path, If: IfVersion(last[0].ID)}, nil
	case last[1].Redacted():
		return r, nil, &Error{Op: "restore", Path: p, Err: fmt.Errorf("%w: version %s, the one before the last change, is redacted", ErrInvalid, last[1].ID)}
	}
	now := last[0]
	before, err := s.Version(ctx, last[1].ID)
	if err != nil {
		return r, nil, err
	}
	r.Written = []Path{before.Path}
	switch {
	case now.Operation == Deleted:
		return r, Put{Path: before.Path, Content: before.Content, If: IfAbsent()}, nil
	case now.Path != before.Path:
		r.Removed = []Path{now.Path}
		return r, Move{From: now.Path, To: before.Path, Content: &before.Content, If: IfVersion(now.ID)}, nil
	}
	return r, Put{Path: before.Path, Content: before.Content, If: IfVersion(now.ID)}, nil
}

// MemoryAt returns the memory at p or, if there is none, the one that was there last.
//
// Errors: ErrNotExist if there never was one; ErrIsDir.
func (s *Store) MemoryAt(ctx context.Context, p Path) (MemoryID, error) {
	m, missing := s.Stat(ctx, ByPath(p))
	if !errors.Is(missing, ErrNotExist) {
		return m.ID, missing
	}
	for v, err := range s.Versions(ctx, VersionListOptions{Path: p}) {
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
	store    *Store
	versions map[Path]Version

	// Lost is the number of memories of that time of which no path or contents are known
	// any more, because they are redacted or pruned.
	Lost int
}

// AsOf returns the state of the store at a time. It reads the descriptions of all versions.
func (s *Store) AsOf(ctx context.Context, at time.Time) (*Snapshot, error) {
	then, lost, err := s.stateAt(ctx, at)
	if err != nil {
		return nil, err
	}
	return &Snapshot{store: s, Lost: len(lost) + len(removeOverlaps(then)), versions: then}, nil
}

// Versions returns the versions of that time at a path or below it, in byte order of
// their paths and without contents.
func (p *Snapshot) Versions(at Path) (found []Version) {
	for _, path := range slices.Sorted(maps.Keys(p.versions)) {
		if at.includes(path) {
			found = append(found, p.versions[path])
		}
	}
	return found
}

// Get returns the version of that time at a path, with its contents.
//
// Errors: ErrNotExist; ErrIsDir; ErrDamaged.
func (p *Snapshot) Get(ctx context.Context, at Path) (Version, error) {
	v, ok := p.versions[at]
	switch {
	case ok:
		return p.store.Version(ctx, v.ID)
	case at.IsRoot(), len(p.Versions(at)) > 0:
		return v, &Error{Op: "get", Path: at, Err: ErrIsDir}
	}
	return v, &Error{Op: "get", Path: at, Err: ErrNotExist}
}

// RenamedFrom returns, for each of the versions that changed the path of its memory, the
// path before. versions are part of what [Store.Versions] yields for opts, in its order.
// Renames whose previous version is redacted or pruned are not found.
//
// It reads one more version for each memory that was modified; if opts selects versions by
// anything but their memory, it reads the part of the memory's history that the versions
// span.
func (s *Store) RenamedFrom(ctx context.Context, opts VersionListOptions, versions []Version) (map[VersionID]Path, error) {
	of := map[MemoryID][]Version{}
	for _, v := range versions {
		of[v.Memory] = append(of[v.Memory], v)
	}
	gaps := opts.Path != "" || opts.Operation != "" || opts.CreatedBy != (Actor{}) || !opts.CreatedFrom.IsZero() || !opts.CreatedTo.IsZero()
	from := map[VersionID]Path{}
	for id, listed := range of {
		slices.SortFunc(listed, func(a, b Version) int { return cmp.Compare(b.Seq, a.Seq) })
		if !slices.ContainsFunc(listed, func(v Version) bool { return v.Operation == Modified }) {
			continue
		}
		newest, oldest := listed[0], listed[len(listed)-1]
		before := VersionListOptions{Memory: id, After: oldest.Seq, Limit: 1}
		all := listed
		if gaps {
			all = []Version{newest}
			before = VersionListOptions{Memory: id, After: newest.Seq}
		}
		if gaps || oldest.Operation == Modified {
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
			if old := all[i+1]; v.Operation == Modified && !v.Redacted() && !old.Redacted() && old.Path != v.Path {
				from[v.ID] = old.Path
			}
		}
	}
	return from, nil
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

// An AnnotatedLine is a line of a memory, and where it comes from.
type AnnotatedLine struct {
	Text    string  // without the "\n" that ends it
	Version Version // that last wrote the line, without contents

	// MayBeOlder reports whether the line may be older than Version, which is
	// then the oldest known to have it: what the memory held just before is no
	// longer known, because it was pruned or redacted.
	MayBeOlder bool
}

// Annotate returns the lines of a memory, each with the version that last wrote
// it, and notes that the memory was read. All is as of one instant of the call.
//
// Versions are compared line by line, as a diff does. A line that stays where it
// is among its neighbours keeps its version; one that is moved, changed in any
// byte or removed and brought back is new. A "\n" that is put or removed at the
// end of the last line changes no line, and neither does a rename.
//
// Errors: ErrInvalidPath, ErrNotExist, ErrIsDir.
func (s *Store) Annotate(ctx context.Context, ref Ref) ([]AnnotatedLine, error) {
	m, err := s.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	lines, last, err := s.annotate(ctx, m.ID, "")
	switch {
	case err != nil:
		return nil, err
	case last.ID == "" || last.Redacted() || last.Operation == Deleted:
		return nil, &Error{Op: "annotate", Path: ref.Path, Err: ErrNotExist} // since it was read
	}
	return lines, nil
}

// AnnotateVersion is Annotate for a memory as a version left it. It notes no read.
//
// Errors: ErrNotExist if there is no such version; ErrInvalid if it has no
// contents, being redacted or a deletion.
func (s *Store) AnnotateVersion(ctx context.Context, id VersionID) ([]AnnotatedLine, error) {
	v, err := s.Version(ctx, id)
	if err != nil {
		return nil, err
	}
	lines, last, err := s.annotate(ctx, v.Memory, id)
	switch {
	case err != nil:
		return nil, err
	case last.ID != id:
		return nil, &Error{Op: "annotate", Path: v.Path, Err: ErrNotExist} // since it was read
	case last.Redacted():
		return nil, &Error{Op: "annotate", Err: fmt.Errorf("%w: version %s is redacted; its contents are gone", ErrInvalid, id)}
	case last.Operation == Deleted:
		return nil, &Error{Op: "annotate", Path: last.Path, Err: fmt.Errorf("%w: version %s is a deletion and has no contents", ErrInvalid, id)}
	}
	return lines, nil
}

// annotate reads the versions of a memory until the one with the given ID, or to
// the newest if that is "", and returns the lines of the last one it has seen.
func (s *Store) annotate(ctx context.Context, id MemoryID, until VersionID) (lines []AnnotatedLine, last Version, err error) {
	var a annotator
	for v, err := range s.Versions(ctx, VersionListOptions{Memory: id, OldestFirst: true, Contents: true}) {
		if err != nil {
			return nil, Version{}, err
		}
		a.add(v)
		if last = v; v.ID == until {
			break
		}
	}
	return a.annotated(), last, nil
}

// An annotator follows the lines of a memory from version to version, oldest
// first. It keeps the text of one.
type annotator struct {
	text  string
	lines []string
	by    []*origin // of each line
	known bool      // whether text is what the memory held before the next version
}

// An origin is what an AnnotatedLine says besides its text.
type origin struct {
	version    Version
	mayBeOlder bool
}

func (a *annotator) add(v Version) {
	text := v.Content
	v.Content = ""
	switch {
	case v.Operation == Deleted: // redacted or not, there is nothing left
		*a = annotator{}
		return
	case v.Redacted():
		a.known = false
		return
	}
	// The first version known is all there is to say of its lines, unless it
	// made the memory: then there was nothing before it.
	now := &origin{v, !a.known && v.Operation != Created}
	a.known = true
	if text == a.text {
		return
	}
	split := lines.Split(text)
	by := make([]*origin, len(split))
	for i, from := range lines.Kept(a.lines, split) {
		if by[i] = now; from >= 0 {
			by[i] = a.by[from]
		}
	}
	a.text, a.lines, a.by = text, split, by
}

func (a *annotator) annotated() []AnnotatedLine {
	annotated := make([]AnnotatedLine, len(a.lines))
	for i, from := range a.by {
		annotated[i] = AnnotatedLine{Text: a.lines[i], Version: from.version, MayBeOlder: from.mayBeOlder}
	}
	return annotated
}

// PruneOptions choose what [History.Prune] removes.
type PruneOptions struct {
	Before time.Time // versions that were superseded before this time are removed
	Keep   int       // the newest versions of a living memory, so many, are kept
	Memory MemoryID  // only versions of this memory, if set
	DryRun bool      // only count the versions

	// CorrectedTimes are the times of versions whose own times cannot be right, in order
	// of Seq. Package maintenance determines them.
	CorrectedTimes []CorrectedTime
}

// CorrectedTime is the time that counts for the versions with Seq from From to To, both
// included, that were made in the store, because their own times cannot be right.
type CorrectedTime struct {
	From, To int64
	At       time.Time
}

// EndOfTime is later than any version: as PruneOptions.Before, it keeps no version for
// its age.
var EndOfTime = time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)

// Pruned says what a Prune removed, or would remove.
type Pruned struct {
	Versions int64
	Bytes    int64 // of their contents, whether or not other versions have the same
}

// pruneTimeout bounds the pruning after a write to a store without history.
const pruneTimeout = 30 * time.Second

// pruneReplaced removes the versions that were replaced by versions, in a store that
// keeps no history. Errors are ignored, since the write has succeeded: maintenance
// removes what is left.
func (s *Store) pruneReplaced(ctx context.Context, id StoreID, versions []Version) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pruneTimeout)
	defer cancel()
	const several = 20 // above this, one pass over all memories is faster
	opts := PruneOptions{Before: EndOfTime}
	if len(versions) > several {
		_, _ = s.prune(ctx, id, opts)
		return
	}
	for _, v := range versions {
		opts.Memory = v.Memory
		_, _ = s.prune(ctx, id, opts)
	}
}

// Prune removes versions; see [History.Prune]. It trusts the times that it is given.
// Programs whose clock may be wrong, and those that apply a store's [Retention], use
// package maintenance.
func (s *Store) Prune(ctx context.Context, opts PruneOptions) (Pruned, error) {
	info, err := s.Info(ctx)
	if err != nil {
		return Pruned{}, err
	}
	return s.prune(ctx, info.ID, opts)
}

// prune removes versions; see [History.Prune].
func (s *Store) prune(ctx context.Context, id StoreID, opts PruneOptions) (sum Pruned, err error) {
	defer s.observe(ctx, "prune", id)(&err)
	return s.backend.Prune(ctx, id, opts)
}
