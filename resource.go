package memento

import (
	"context"
	"errors"
)

// The methods of this file are for front ends that name memories by their IDs, as the
// Memory Stores API does.

// CreateMemory makes a memory.
//
// Errors: those of [Put] with IfAbsent: Error.Path names the memory, or the
// directory, that is in the way.
func (s *Store) CreateMemory(ctx context.Context, by Actor, p Path, content string) (Edited, error) {
	r, err := s.Apply(ctx, by, Put{Path: p, Content: content, If: IfAbsent()})
	if err != nil {
		return Edited{}, err
	}
	m := Memory{}
	for _, v := range r.Versions {
		m = Memory{ID: v.Memory, Path: v.Path, CreatedAt: v.CreatedAt}
	}
	return r.edited(m), nil
}

// edited is m, which may have been changed, after r.
func (r Receipt) edited(m Memory) Edited {
	for _, v := range r.Versions {
		m.Version, m.Path, m.SHA256, m.Size, m.UpdatedAt = v.ID, v.Path, v.SHA256, v.Size, v.CreatedAt
	}
	for _, g := range r.texts {
		m.Content = g.text
	}
	return Edited{m, r}
}

// A MemoryUpdate changes a memory's path, its contents, or both. Fields left nil
// stay as they are.
type MemoryUpdate struct {
	Path    *Path
	Content *string

	// IfSHA256 refuses the update, with ErrConflict, unless the memory's contents
	// have this hash, or it is "". An update that has happened already is not
	// refused: whoever repeats one, not having read the answer, need not know.
	IfSHA256 string
}

// UpdateMemory changes a memory, wherever it is, as one version. One that changes
// nothing makes no version.
//
// Errors: ErrNotExist; ErrConflict; those of [Put], and of [Move]. A conflict is
// reported before anything that stands in the way of the change.
func (s *Store) UpdateMemory(ctx context.Context, by Actor, id MemoryID, u MemoryUpdate) (Edited, error) {
	for {
		m, err := s.Peek(ctx, ByID(id))
		if err != nil {
			return Edited{}, err
		}
		done, err := s.updateMemory(ctx, by, m.Path, id, u)
		if !errors.Is(err, errLostRace) {
			return done, err
		}
	}
}

// errOutrun says that another changed the memory after it was looked at.
var errLostRace = &Error{Op: "update", Err: ErrConflict}

// updateMemory updates a memory that was at a path just now.
func (s *Store) updateMemory(ctx context.Context, by Actor, at Path, id MemoryID, u MemoryUpdate) (Edited, error) {
	// Memories are edited in turn, by their path: as by Edit.
	leave, err := s.editLocks.lock(ctx, at)
	if err != nil {
		return Edited{}, err
	}
	defer leave()
	m, err := s.Peek(ctx, ByID(id))
	switch {
	case err != nil:
		return Edited{}, err
	case m.Path != at:
		return Edited{}, errLostRace
	}
	to := at
	if u.Path != nil {
		to = *u.Path
	}
	if u.IfSHA256 != "" && u.IfSHA256 != m.SHA256 {
		switch repeated, err := s.isRepeated(ctx, m, u); {
		case err != nil:
			return Edited{}, err
		case !repeated:
			return Edited{}, &Error{Op: "update", Path: at, Err: ErrConflict}
		}
		return s.unchanged(ctx, m)
	}
	var c Change
	switch {
	case to != at:
		c = Move{From: at, To: to, Content: u.Content, If: IfVersion(m.Version)}
	case u.Content != nil:
		c = Put{Path: at, Content: *u.Content, If: IfVersion(m.Version)}
	default:
		return s.unchanged(ctx, m)
	}
	r, err := s.Apply(ctx, by, c)
	switch {
	case s.lostRace(ctx, m, err):
		return Edited{}, errLostRace
	case err != nil:
		return Edited{}, err
	}
	return r.edited(m), nil
}

// outrun reports whether a change of m, on condition that it was as it was read,
// failed because it is not any more, so that it is worth another try. The same
// error can be about something else: then there is nobody who went ahead.
func (s *Store) lostRace(ctx context.Context, m Memory, err error) bool {
	if !isStale(err) {
		return false
	}
	now, err := s.Stat(ctx, ByID(m.ID))
	return err != nil || now.Version != m.Version // the next try tells the error
}

// isMissed reports whether a change of a memory failed for want of the version
// that it was about.
func isStale(err error) bool {
	return errors.Is(err, ErrConflict) || errors.Is(err, ErrNotExist) || errors.Is(err, ErrIsDir)
}

// unchanged is the answer to an update that has nothing to do. An archived store
// takes no updates, not even those.
func (s *Store) unchanged(ctx context.Context, m Memory) (Edited, error) {
	info, err := s.Info(ctx)
	switch {
	case err != nil:
		return Edited{}, err
	case info.Archived():
		return Edited{}, &Error{Op: "update", Path: m.Path, Err: ErrArchived}
	}
	done := Applied{Usage: info.Usage, Limits: info.Limits, Settings: info.Settings}
	return Edited{m, Receipt{Applied: done}}, nil
}

// isRepeated reports whether m is what the update would make of it.
func (s *Store) isRepeated(ctx context.Context, m Memory, u MemoryUpdate) (bool, error) {
	switch {
	case u.Path == nil && u.Content == nil, u.Path != nil && *u.Path != m.Path:
		return false, nil
	case u.Content == nil, *u.Content == m.Content:
		return true, nil
	}
	// What was written of the contents may not be all of them.
	k, err := s.currentSettings(ctx)
	if err != nil {
		return false, err
	}
	g, err := k.masker.mask(m.Path, *u.Content)
	if errors.Is(err, ErrSensitive) {
		return false, nil // nor this
	}
	return g.text == m.Content, err
}

// DeleteMemory removes a memory, wherever it is. If ifSHA256 is not "", its
// contents must have this hash.
//
// Errors: ErrNotExist, ErrConflict; those of [Remove].
func (s *Store) DeleteMemory(ctx context.Context, by Actor, id MemoryID, ifSHA256 string) error {
	for {
		m, err := s.Stat(ctx, ByID(id))
		if err != nil {
			return err
		}
		if ifSHA256 != "" && ifSHA256 != m.SHA256 {
			return &Error{Op: "delete", Path: m.Path, Err: ErrConflict}
		}
		if _, err = s.Apply(ctx, by, Remove{Path: m.Path, If: IfVersion(m.Version)}); !s.lostRace(ctx, m, err) {
			return err
		}
	}
}
