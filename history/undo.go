package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"memento"
)

// UndoOptions select the changes that [Undo] takes back.
type UndoOptions struct {
	// By is the actor: Kind and ID, Key, or all of them. Key selects all changes that
	// were sent with that API key, on behalf of any actor; see [memento.Actor.Used].
	By memento.Actor

	Since time.Time // only versions made at this time or later; zero for all
	Until time.Time // only versions made at this time or earlier; zero for all

	DryRun bool // only say what would be done
}

func (o *UndoOptions) check() error {
	named := o.By.Kind != "" && o.By.ID != ""
	switch {
	case !named && (o.By.Key == "" || o.By.Kind != "" || o.By.ID != ""):
		return &memento.Error{Op: "undo", Err: fmt.Errorf("%w: whose changes to undo is missing: give an actor's kind and ID, or a key", memento.ErrInvalid)}
	case !o.Until.IsZero() && o.Until.Before(o.Since):
		return &memento.Error{Op: "undo", Err: fmt.Errorf("%w: the time until which to undo lies before the one since when", memento.ErrInvalid)}
	}
	return nil
}

// matches reports whether v is to be undone.
func (o *UndoOptions) matches(v *memento.Version) bool {
	match := memento.VersionListOptions{CreatedBy: o.By, CreatedFrom: o.Since, CreatedTo: o.Until}
	return match.Matches(v)
}

// An Undone says what [Undo] did, or would do.
type Undone struct {
	Changes   []UndoneChange
	Conflicts []UndoConflict // memories that are left as they are

	Masked []memento.FindingLocation // secrets that were masked in restored contents
}

// An UndoneChange says what was done to one memory.
type UndoneChange struct {
	Memory   memento.MemoryID // that was changed; a deleted memory comes back with a new ID
	Action   UndoAction
	Path     memento.Path        // of the memory afterwards; of one that is removed, before
	From     memento.Path        // its path before, if that was another; otherwise ""
	Versions []memento.VersionID // that are undone, oldest first
	Merged   bool                // whether later changes by others are kept in its contents
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
	Memory   memento.MemoryID
	Path     memento.Path // where it is now, or was last; "" if that is not known any more
	Reason   UndoReason
	Versions []memento.VersionID // that are not undone, oldest first
	Others   []memento.VersionID // by others, which stand in the way
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
// [memento.Version].Seq.
//
// An undo is one atomic change, or several if it is too large for one. If others write
// meanwhile, it is planned again. After some attempts each memory is changed separately,
// as by [memento.Store.Edit], and a memory to which others keep writing is a conflict.
//
// Errors: ErrInvalid (nobody is named); those of [memento.Store.Apply]. After an error some
// parts may have been done.
func Undo(ctx context.Context, s *memento.Store, by memento.Actor, opts UndoOptions) (Undone, error) {
	if err := opts.check(); err != nil {
		return Undone{}, err
	}
	var done Undone
	refused := map[memento.MemoryID]UndoReason{}
	failed := "" // the part and the error of the last attempt
	for tries := 1; ; tries++ {
		p, err := planUndo(ctx, s, &opts, refused)
		if err != nil {
			return done, err
		}
		if opts.DryRun {
			done = p.planned()
			done.sort()
			return done, nil
		}
		part, err := applyUndo(ctx, s, by, p, &done)
		if err != nil && isOutdatedPlan(err) && tries >= maxPlans {
			err = undoOneByOne(ctx, s, by, p, &done)
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
	return isStale(err) || errors.Is(err, memento.ErrExist) || errors.Is(err, memento.ErrNotDir) ||
		errors.Is(err, memento.ErrForeign) || errors.Is(err, memento.ErrProtected)
}

// isStale reports whether a change of a memory failed because the version that it was
// based on is no longer the newest.
func isStale(err error) bool {
	return errors.Is(err, memento.ErrConflict) || errors.Is(err, memento.ErrNotExist) || errors.Is(err, memento.ErrIsDir)
}

// applyUndo applies the changes of a plan, and adds the completed ones to done. It returns
// the part that failed.
func applyUndo(ctx context.Context, s *memento.Store, by memento.Actor, p *undoPlan, done *Undone) (undoPart, error) {
	for _, part := range p.parts(maxUndoChanges) {
		r, err := s.Apply(ctx, by, part.changes...)
		if err != nil {
			return part, err
		}
		done.add(r, part.memories)
	}
	return undoPart{}, nil
}

func (u *Undone) add(r memento.Receipt, memories []*undoMemory) {
	u.Masked = append(u.Masked, r.Masked...)
	for _, m := range memories {
		u.Changes, u.Masked = append(u.Changes, m.undoneChange()), append(u.Masked, m.masked...)
	}
}

// An undoPart is made as one change.
type undoPart struct {
	changes  []memento.Change
	memories []*undoMemory
	bytes    int
}

// failedMemory returns the memory that an error is about.
func (part *undoPart) failedMemory(err error) memento.MemoryID {
	at, ok := errors.AsType[*memento.Error](err)
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
	add := func(changes []memento.Change, memories ...*undoMemory) {
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
			add([]memento.Change{m.toChange()}, m)
		}
	}
	away, back, detours := p.detour()
	for _, m := range p.todo {
		if m.moves() && !m.viaDetour {
			add([]memento.Change{m.toChange()}, m)
		}
	}
	if len(detours) > 0 {
		add(append(away, back...), detours...)
	}
	for _, m := range p.todo {
		if m.action == UndoRestore || m.action == UndoRevert && !m.moves() {
			add([]memento.Change{m.toChange()}, m)
		}
	}
	return parts
}

// toChange returns the change for the memory's action.
func (m *undoMemory) toChange() memento.Change {
	still := memento.IfVersion(m.head.ID)
	switch {
	case m.action == UndoRemove:
		return memento.Remove{Path: m.head.Path, If: still}
	case m.moves():
		return m.move(m.head.Path, still)
	case m.action == UndoRestore:
		return memento.Put{Path: m.path, Content: m.text, If: memento.IfAbsent()}
	default:
		return memento.Put{Path: m.path, Content: m.text, If: still}
	}
}

// detour plans the moves of memories whose new path is taken by another memory that will
// move: all are moved to temporary paths first. They are in one part, so that nobody sees
// the temporary paths.
func (p *undoPlan) detour() (away, back []memento.Change, moved []*undoMemory) {
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
		between := memento.Path(fmt.Sprintf("/undo-%s", m.head.Memory))
		away = append(away, memento.Move{From: m.head.Path, To: between, If: memento.IfVersion(m.head.ID)})
		back = append(back, m.move(between, memento.Condition{}))
		moved = append(moved, m)
	}
	return away, back, moved
}

// moves reports whether a memory gets another path.
func (m *undoMemory) moves() bool {
	return (m.action == UndoRevert || m.action == UndoRename) && m.path != m.head.Path
}

// move returns the change that brings a memory to its path, and its contents with it.
func (m *undoMemory) move(from memento.Path, cond memento.Condition) memento.Move {
	c := memento.Move{From: from, To: m.path, If: cond}
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
func undoOneByOne(ctx context.Context, s *memento.Store, by memento.Actor, p *undoPlan, done *Undone) error {
	for _, part := range p.parts(1) {
		if len(part.memories) == 1 {
			if err := undoOne(ctx, s, by, p, part.memories[0], done); err != nil {
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
func undoOne(ctx context.Context, s *memento.Store, by memento.Actor, p *undoPlan, m *undoMemory, done *Undone) error {
	unlock, err := s.LockEdits(ctx, m.head.Path)
	if err != nil {
		return err
	}
	defer unlock()
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
	newer := memento.VersionListOptions{Memory: m.head.Memory, OldestFirst: true, After: m.head.Seq}
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
	err = p.decide(ctx, m, nil)
	return len(p.todo) > before, err
}
