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
	Masked []FindingLocation // what was replaced before it was written, by the Store and by the backend

	texts []maskedText // of the contents written, in order
}

// Apply makes changes as one; see [Memories.Apply]. It makes a store that was
// opened by name. What is written first passes the store's settings for
// sensitive information.
//
// Further errors: ErrSensitive, ErrNoDetector.
func (s *Store) Apply(ctx context.Context, by Actor, changes ...Change) (Receipt, error) {
	for all := false; ; {
		var r Receipt
		masked, err := s.maskChanges(ctx, changes, all, &r)
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
		if errors.Is(err, errSettingsChanged) && ctx.Err() == nil {
			if _, err := s.loadSettings(ctx); err != nil {
				return Receipt{}, err
			}
			continue // by the rules that hold now
		}
		if errors.Is(err, errNotMasked) {
			all = true
			continue
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

// An Edited is what an Edit did.
type Edited struct {
	Memory Memory // as it is then, with contents
	Receipt
}

// Edit replaces the contents of the memory at p by what change makes of them. If
// others write meanwhile, change is called again with their contents, so it must
// have no effects of its own; what it returns as an error ends the edit and is
// returned as it is. Edits of one memory through one Store take turns.
//
// Errors: those of Get and of [Put], and of [Store.Apply].
func (s *Store) Edit(ctx context.Context, by Actor, p Path, change func(old string) (string, error)) (Edited, error) {
	leave, err := s.editLocks.lock(ctx, p)
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
		again := false
		text, err := change(m.Content)
		if err == nil {
			edited, err = s.replace(ctx, by, m, text)
			again = errors.Is(err, ErrConflict) // another process was faster
		}
		if fromCache { // what is wrong may be what was fromCache
			again = err != nil && !errors.Is(err, ErrUncertain) && !errors.Is(err, ErrUnavailable)
		}
		if !again || ctx.Err() != nil {
			return edited, err
		}
		fromCache = false
	}
}

// replace gives m, which comes with its contents, others, if it is still as it was.
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

// recall returns the memory at p as it was last seen, if the backend knows.
func (s *Store) getCached(p Path) (m Memory, known bool) {
	id := s.id.Load()
	if s.cachedReader == nil || id == nil {
		return m, false
	}
	return s.cachedReader.GetCached(*id, ByPath(p))
}

// moved returns where what was at a place in the text of the change is in what
// was written.
func (e *Edited) offsetAfter(at int) int { return e.texts[0].offsetAfter(at) }

// Import appends versions to the store as they are; see [Memories.Import]. It
// makes a store that was opened by name. What is sensitive in them is replaced,
// and returned; the versions given stay as they are.
//
// Further errors: ErrSensitive, also for a path that looks sensitive, which
// cannot be replaced; ErrNoDetector.
func (s *Store) Import(ctx context.Context, versions []Version) ([]FindingLocation, error) {
	// By the rules that hold now: nothing compares them later.
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
	if s.marker != nil { // to be imported is to be used: what is old need not expire
		for i := range masked {
			s.marker.MarkRead(id, masked[i].Memory)
		}
	}
	return replaced, nil
}
