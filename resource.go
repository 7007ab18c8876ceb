package memento

import (
	"context"
	"errors"
)

// The methods of this file are for front ends that name memories by their IDs, as the
// Memory Stores API does.

// CreateMemory creates a memory.
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

// edited returns m with the changes of r.
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
	// have this hash, or it is "". An update that was made already is not refused, so
	// that a client can repeat one whose answer was lost.
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

// errLostRace says that others changed the memory after it was read.
var errLostRace = &Error{Op: "update", Err: ErrConflict}

// updateMemory updates a memory that was at a path just now.
func (s *Store) updateMemory(ctx context.Context, by Actor, at Path, id MemoryID, u MemoryUpdate) (Edited, error) {
	// As in Edit, memories are locked by path.
	leave, err := s.editLocks.Lock(ctx, at)
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

// lostRace reports whether a conditional change of m failed because others changed m
// first, so that it should be retried. The same errors can have other causes; then m has
// not changed.
func (s *Store) lostRace(ctx context.Context, m Memory, err error) bool {
	if !isStale(err) {
		return false
	}
	now, err := s.Stat(ctx, ByID(m.ID))
	return err != nil || now.Version != m.Version // the next attempt returns the error
}

// isStale reports whether a change of a memory failed because the version that it was
// based on is no longer the newest.
func isStale(err error) bool {
	return errors.Is(err, ErrConflict) || errors.Is(err, ErrNotExist) || errors.Is(err, ErrIsDir)
}

// unchanged is the result of an update that changes nothing. An archived store refuses
// such updates, too.
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

// isRepeated reports whether m already is as the update would make it.
func (s *Store) isRepeated(ctx context.Context, m Memory, u MemoryUpdate) (bool, error) {
	switch {
	case u.Path == nil && u.Content == nil, u.Path != nil && *u.Path != m.Path:
		return false, nil
	case u.Content == nil, *u.Content == m.Content:
		return true, nil
	}
	// The contents may have been masked when they were written.
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
