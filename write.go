package memento

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Receipt says what a write did.
type Receipt struct {
	Applied
	Masked []FindingLocation // secrets that were masked before the write, by the Store and by the backend

	texts []maskedText // the contents written, in order
}

// Apply makes the changes atomically; see [Memories.Apply]. It creates a store that was
// opened by name. Contents are masked first, as the store's settings say.
//
// Further errors: ErrSensitive, ErrNoDetector.
func (s *Store) Apply(ctx context.Context, by Actor, changes ...Change) (Receipt, error) {
	for {
		var r Receipt
		masked, err := s.maskChanges(ctx, changes, &r)
		if err != nil {
			if s.settingsChanged(ctx, err) {
				continue
			}
			return Receipt{}, err
		}
		id, err := s.Ensure(ctx)
		if err != nil {
			return Receipt{}, err
		}
		start := time.Now()
		r.Applied, err = s.backend.Apply(ctx, id, by, masked)
		s.observed(ctx, Observation{Op: "apply", Store: id, Start: start, Err: err, Receipt: r})
		if errors.Is(err, ErrSettingsChanged) && ctx.Err() == nil {
			if _, err := s.loadSettings(ctx); err != nil {
				return Receipt{}, err
			}
			continue // mask by the settings that hold now
		}
		if err != nil {
			return Receipt{}, err
		}
		r.Masked = append(r.Masked, r.Applied.Masked...)
		s.cacheSettings(r.Limits, r.Settings)
		if r.Settings.Retention.None() {
			s.pruneReplaced(ctx, id, r.Versions)
		}
		return r, nil
	}
}

// An Edited is the result of an Edit.
type Edited struct {
	Memory Memory // after the edit, with contents
	Receipt
}

// Edit replaces the contents of the memory at p by the result of change. If others write
// meanwhile, change is called again with their contents, so it must have no side
// effects. An error of change ends the edit and is returned as it is. Edits of one
// memory through one Store are made one after another.
//
// Errors: those of Get and of [Put], and of [Store.Apply].
func (s *Store) Edit(ctx context.Context, by Actor, p Path, change func(old string) (string, error)) (Edited, error) {
	leave, err := s.editLocks.Lock(ctx, p)
	if err != nil {
		return Edited{}, err
	}
	defer leave()
	m, fromCache := s.getCached(p)
	for {
		if !fromCache {
			if m, err = s.Peek(ctx, ByPath(p)); err != nil {
				return Edited{}, err
			}
		}
		var edited Edited
		retry := false
		text, err := change(m.Content)
		if err == nil {
			edited, err = s.replace(ctx, by, m, text)
			retry = errors.Is(err, ErrConflict) // another process was faster
		}
		if fromCache { // the error may be due to the cached contents
			retry = err != nil && !errors.Is(err, ErrUncertain) && !errors.Is(err, ErrUnavailable)
		}
		if !retry || ctx.Err() != nil {
			return edited, err
		}
		fromCache = false
	}
}

// replace writes text to m, on condition that m has not changed.
func (s *Store) replace(ctx context.Context, by Actor, m Memory, text string) (Edited, error) {
	r, err := s.Apply(ctx, by, Put{Path: m.Path, Content: text, If: IfVersion(m.Version)})
	if err != nil {
		return Edited{}, err
	}
	for _, v := range r.Versions {
		m.Version, m.SHA256, m.Size, m.UpdatedAt = v.ID, v.SHA256, v.Size, v.CreatedAt
	}
	m.Content = r.texts[0].text
	return Edited{m, r}, nil
}

// getCached returns the memory at p as the backend saw it last, if the backend has it in
// memory.
func (s *Store) getCached(p Path) (m Memory, known bool) {
	id := s.id.Load()
	if s.cachedReader == nil || id == nil {
		return m, false
	}
	return s.cachedReader.GetCached(*id, ByPath(p))
}

// offsetAfter returns the offset in the contents that were written, after masking, of an
// offset in the result of the change.
func (e *Edited) offsetAfter(at int) int { return e.texts[0].offsetAfter(at) }

// Import appends versions to the store as they are; see [Memories.Import]. It creates a
// store that was opened by name. Secrets in the contents are masked, and their locations
// are returned. The slice versions is not modified.
//
// Further errors: ErrSensitive, also for a path with secrets, since paths cannot be
// masked; ErrNoDetector.
func (s *Store) Import(ctx context.Context, versions []Version) ([]FindingLocation, error) {
	// Load the settings, because an import does not compare them later.
	if _, err := s.loadSettings(ctx); err != nil {
		return nil, err
	}
	k, err := s.currentSettings(ctx)
	if err != nil {
		return nil, err
	}
	var replaced []FindingLocation
	masked := slices.Clone(versions)
	for i := range masked {
		v := &masked[i]
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		g, err := s.maskVersion(ctx, k, v)
		if err != nil {
			return nil, fmt.Errorf("version %s: %w", v.ID, err)
		}
		if len(g.locations) > 0 && v.SHA256 == HashContent(v.Content) {
			v.Content, v.SHA256, v.Size = g.text, HashContent(g.text), int64(len(g.text))
			replaced = append(replaced, g.locations...)
		}
	}
	id, err := s.Ensure(ctx)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	err = s.backend.Import(ctx, id, masked)
	s.observed(ctx, Observation{Op: "import", Store: id, Start: start, Err: err, Receipt: Receipt{Masked: replaced}})
	if err != nil {
		return nil, err
	}
	if k.noHistory {
		s.pruneReplaced(ctx, id, masked)
	}
	if s.marker != nil { // an import counts as a use, so that old memories do not expire at once
		for i := range masked {
			s.marker.MarkRead(id, masked[i].Memory)
		}
	}
	return replaced, nil
}
