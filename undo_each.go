package memento

import (
	"context"
	"fmt"
)

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
