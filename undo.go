package memento

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// UndoOptions select the changes that [Store.Undo] takes back.
type UndoOptions struct {
	// By is the actor: Kind and ID, Key, or all of them. Key selects all changes that
	// were sent with that API key, on behalf of any actor; see [Actor.Used].
	By Actor

	Since time.Time // only versions made at this time or later; zero for all
	Until time.Time // only versions made at this time or earlier; zero for all

	DryRun bool // only say what would be done
}

func (o *UndoOptions) check() error {
	named := o.By.Kind != "" && o.By.ID != ""
	switch {
	case !named && (o.By.Key == "" || o.By.Kind != "" || o.By.ID != ""):
		return &Error{Op: "undo", Err: fmt.Errorf("%w: whose changes to undo is missing: give an actor's kind and ID, or a key", ErrInvalid)}
	case !o.Until.IsZero() && o.Until.Before(o.Since):
		return &Error{Op: "undo", Err: fmt.Errorf("%w: the time until which to undo lies before the one since when", ErrInvalid)}
	}
	return nil
}

// matches reports whether v is to be undone.
func (o *UndoOptions) matches(v *Version) bool {
	match := VersionListOptions{CreatedBy: o.By, CreatedFrom: o.Since, CreatedTo: o.Until}
	return match.Matches(v)
}

// An Undone says what [Store.Undo] did, or would do.
type Undone struct {
	Changes   []UndoneChange
	Conflicts []UndoConflict // memories that are left as they are

	Masked []FindingLocation // secrets that were masked in restored contents
}

// An UndoneChange says what was done to one memory.
type UndoneChange struct {
	Memory   MemoryID // that was changed; a deleted memory comes back with a new ID
	Action   UndoAction
	Path     Path        // of the memory afterwards; of one that is removed, before
	From     Path        // its path before, if that was another; otherwise ""
	Versions []VersionID // that are undone, oldest first
	Merged   bool        // whether later changes by others are kept in its contents
}

// An UndoAction says how a memory is brought back to what it was.
type UndoAction string

// The actions.
const (
	UndoRemove  UndoAction = "remove"  // it was created, and is removed
	UndoRestore UndoAction = "restore" // it was removed, and is created again
	UndoRevert  UndoAction = "revert"  // its contents are changed back, and its path if that was changed
	UndoRename  UndoAction = "rename"  // only its path is changed back
)

// An UndoConflict is a memory whose changes are not undone.
type UndoConflict struct {
	Memory   MemoryID
	Path     Path // where it is now, or was last; "" if that is not known any more
	Reason   UndoReason
	Versions []VersionID // that are not undone, oldest first
	Others   []VersionID // by others, which stand in the way
}

// An UndoReason says why a memory is left as it is.
type UndoReason string

// The reasons.
const (
	UndoEdited    UndoReason = "edited"    // others have changed the same lines since
	UndoOccupied  UndoReason = "occupied"  // something else is at the path that it had
	UndoLost      UndoReason = "lost"      // what it held before is redacted, pruned or damaged
	UndoProtected UndoReason = "protected" // the store's settings make it read-only
	UndoSensitive UndoReason = "sensitive" // what it held before must not be written any more
	UndoBusy      UndoReason = "busy"      // others keep writing to it
)

// Undo takes back everything that one actor wrote in a span of time, as new versions
// by another. History keeps all of it, so that an undo can be undone. To undo again
// does nothing.
//
// Each memory becomes what it would be without those changes: its state before the first
// of them, with the later changes of others merged by lines. A memory for which that is
// not possible, because others changed the same lines or because a version is no longer
// known, is left as it is and reported as a conflict. Changes are ordered by
// [Version].Seq.
//
// An undo is one atomic change, or several if it is too large for one. If others write
// meanwhile, it is planned again. After some attempts each memory is changed separately,
// as by [Store.Edit], and a memory to which others keep writing is a conflict.
//
// Errors: ErrInvalid (nobody is named); those of [Store.Apply]. After an error some
// parts may have been done.
func (s *Store) Undo(ctx context.Context, by Actor, opts UndoOptions) (Undone, error) {
	if err := opts.check(); err != nil {
		return Undone{}, err
	}
	var done Undone
	refused := map[MemoryID]UndoReason{}
	failed := "" // the part and the error of the last attempt
	for tries := 1; ; tries++ {
		p, err := s.planUndo(ctx, &opts, refused)
		if err != nil {
			return done, err
		}
		if opts.DryRun {
			done = p.planned()
			done.sort()
			return done, nil
		}
		part, err := s.applyUndo(ctx, by, p, &done)
		if err != nil && isOutdatedPlan(err) && tries >= maxPlans {
			err = s.undoOneByOne(ctx, by, p, &done)
		}
		if err == nil {
			done.Conflicts = p.conflicts
			done.sort()
			return done, nil
		}
		if ctx.Err() != nil || !isOutdatedPlan(err) || tries >= maxPlans {
			return done, err
		}
		// Others may have written meanwhile: plan again. If the same part fails with the
		// same error, they have not.
		if now := fmt.Sprint(part.changes, err); now != failed {
			failed = now
			continue
		}
		id := part.failedMemory(err)
		if id == "" {
			return done, err
		}
		refused[id] = UndoOccupied
		tries = 0
	}
}

// isOutdatedPlan reports whether a change failed because the store is no longer in the
// state for which the change was planned.
func isOutdatedPlan(err error) bool {
	return isStale(err) || errors.Is(err, ErrExist) || errors.Is(err, ErrNotDir) ||
		errors.Is(err, ErrForeign) || errors.Is(err, ErrProtected)
}

// applyUndo applies the changes of a plan, and adds the completed ones to done. It returns
// the part that failed.
func (s *Store) applyUndo(ctx context.Context, by Actor, p *undoPlan, done *Undone) (undoPart, error) {
	for _, part := range p.parts(maxUndoChanges) {
		r, err := s.Apply(ctx, by, part.changes...)
		if err != nil {
			return part, err
		}
		done.add(r, part.memories)
	}
	return undoPart{}, nil
}

func (u *Undone) add(r Receipt, memories []*undoMemory) {
	u.Masked = append(u.Masked, r.Masked...)
	for _, m := range memories {
		u.Changes, u.Masked = append(u.Changes, m.undoneChange()), append(u.Masked, m.masked...)
	}
}

// An undoPart is made as one change.
type undoPart struct {
	changes  []Change
	memories []*undoMemory
	bytes    int
}

// failedMemory returns the memory that an error is about.
func (part *undoPart) failedMemory(err error) MemoryID {
	at, ok := errors.AsType[*Error](err)
	if !ok {
		return ""
	}
	for _, m := range part.memories {
		if at.Path == m.head.Path || at.Path == m.path || m.path.Contains(at.Path) || at.Path.Contains(m.path) {
			return m.head.Memory
		}
	}
	return ""
}

// The most that one change of an undo holds, so that it also goes through servers.
const (
	maxUndoChanges = 5000
	maxUndoBytes   = 16 << 20
)

// parts returns the changes of a plan in parts of at most most changes, in an order in
// which no path is taken: removals first, then moves, then the others. Memories that swap
// paths are in one part.
func (p *undoPlan) parts(most int) []undoPart {
	var parts []undoPart
	add := func(changes []Change, memories ...*undoMemory) {
		size := 0
		for _, m := range memories {
			size += len(m.text)
		}
		if n := len(parts); n == 0 || len(parts[n-1].changes)+len(changes) > most || parts[n-1].bytes+size > maxUndoBytes {
			parts = append(parts, undoPart{})
		}
		part := &parts[len(parts)-1]
		part.changes, part.memories = append(part.changes, changes...), append(part.memories, memories...)
		part.bytes += size
	}
	for _, m := range p.todo {
		if m.action == UndoRemove {
			add([]Change{m.toChange()}, m)
		}
	}
	away, back, detours := p.detour()
	for _, m := range p.todo {
		if m.moves() && !m.viaDetour {
			add([]Change{m.toChange()}, m)
		}
	}
	if len(detours) > 0 {
		add(append(away, back...), detours...)
	}
	for _, m := range p.todo {
		if m.action == UndoRestore || m.action == UndoRevert && !m.moves() {
			add([]Change{m.toChange()}, m)
		}
	}
	return parts
}

// toChange returns the change for the memory's action.
func (m *undoMemory) toChange() Change {
	still := IfVersion(m.head.ID)
	switch {
	case m.action == UndoRemove:
		return Remove{Path: m.head.Path, If: still}
	case m.moves():
		return m.move(m.head.Path, still)
	case m.action == UndoRestore:
		return Put{Path: m.path, Content: m.text, If: IfAbsent()}
	default:
		return Put{Path: m.path, Content: m.text, If: still}
	}
}

// detour plans the moves of memories whose new path is taken by another memory that will
// move: all are moved to temporary paths first. They are in one part, so that nobody sees
// the temporary paths.
func (p *undoPlan) detour() (away, back []Change, moved []*undoMemory) {
	taken := newPathSet()
	for _, h := range p.living {
		taken.add(h.Path)
	}
	for _, m := range p.todo {
		if m.action == UndoRemove {
			taken.remove(m.head.Path)
		}
	}
	for _, m := range p.todo {
		if !m.moves() || !taken.conflicts(m.path) {
			continue
		}
		m.viaDetour = true
		between := Path(fmt.Sprintf("/undo-%s", m.head.Memory))
		away = append(away, Move{From: m.head.Path, To: between, If: IfVersion(m.head.ID)})
		back = append(back, m.move(between, Condition{}))
		moved = append(moved, m)
	}
	return away, back, moved
}

// moves reports whether a memory gets another path.
func (m *undoMemory) moves() bool {
	return (m.action == UndoRevert || m.action == UndoRename) && m.path != m.head.Path
}

// move returns the change that brings a memory to its path, and its contents with it.
func (m *undoMemory) move(from Path, cond Condition) Move {
	c := Move{From: from, To: m.path, If: cond}
	if m.action == UndoRevert {
		c.Content = &m.text
	}
	return c
}

func (m *undoMemory) undoneChange() UndoneChange {
	c := UndoneChange{Memory: m.head.Memory, Action: m.action, Path: m.path, Versions: m.undone, Merged: m.merged}
	switch {
	case m.action == UndoRemove:
		c.Path = m.head.Path
	case m.moves():
		c.From = m.head.Path
	}
	return c
}

// planned is what a plan does, if all goes well.
func (p *undoPlan) planned() Undone {
	u := Undone{Conflicts: p.conflicts}
	for _, m := range p.todo {
		u.Changes, u.Masked = append(u.Changes, m.undoneChange()), append(u.Masked, m.masked...)
	}
	return u
}

// sort sorts changes and conflicts by path.
func (u *Undone) sort() {
	slices.SortStableFunc(u.Changes, func(a, b UndoneChange) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Action, b.Action))
	})
	slices.SortStableFunc(u.Conflicts, func(a, b UndoConflict) int { return cmp.Compare(a.Path, b.Path) })
}

// Bounds on the attempts of an undo, or of a restoration of a whole store, while others
// keep writing.
const (
	// maxPlans is how often the whole is planned. A plan reads the whole history, so
	// others may always write before its changes are applied.
	maxPlans = 3
	// maxTriesPerMemory is how often one memory is tried after that. Each attempt only
	// reads the versions since the last one, so it is as fast as an edit.
	maxTriesPerMemory = 64
)

// undoOneByOne applies the changes of a plan memory by memory, and adds the completed ones
// to done. Memories to which others keep writing become conflicts.
func (s *Store) undoOneByOne(ctx context.Context, by Actor, p *undoPlan, done *Undone) error {
	for _, part := range p.parts(1) {
		if len(part.memories) == 1 {
			if err := s.undoOne(ctx, by, p, part.memories[0], done); err != nil {
				return err
			}
			continue
		}
		r, err := s.Apply(ctx, by, part.changes...)
		switch {
		case err == nil:
			done.add(r, part.memories)
		case !isOutdatedPlan(err):
			return err
		default:
			for _, m := range part.memories {
				p.addConflict(m, UndoBusy)
			}
		}
	}
	return nil
}

// undoOne undoes the changes of one memory. Edits through this Store wait meanwhile.
func (s *Store) undoOne(ctx context.Context, by Actor, p *undoPlan, m *undoMemory, done *Undone) error {
	leave, err := s.editLocks.Lock(ctx, m.head.Path)
	if err != nil {
		return err
	}
	defer leave()
	failed := ""
	for range maxTriesPerMemory {
		if todo, err := p.refresh(ctx, m); err != nil || !todo {
			return err
		}
		r, err := s.Apply(ctx, by, m.toChange())
		switch now := fmt.Sprint(err); {
		case err == nil:
			done.add(r, []*undoMemory{m})
			return nil
		case ctx.Err() != nil || !isOutdatedPlan(err):
			return err
		case !isStale(err) && now == failed: // its path is taken permanently
			p.addConflict(m, UndoOccupied)
			return nil
		default:
			failed = now
		}
	}
	p.addConflict(m, UndoBusy)
	return nil
}

// refresh plans for one memory again with its new versions, and reports whether there is
// anything to do.
func (p *undoPlan) refresh(ctx context.Context, m *undoMemory) (todo bool, err error) {
	newer := VersionListOptions{Memory: m.head.Memory, OldestFirst: true, After: m.head.Seq}
	for v, err := range p.s.Versions(ctx, newer) {
		if err != nil {
			return false, err
		}
		m.history, m.head = append(m.history, v), v
	}
	if err := p.replay(ctx, m); err != nil {
		return false, err
	}
	before := len(p.todo)
	err = p.decide(m, nil)
	return len(p.todo) > before, err
}
