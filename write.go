package memento

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// A Receipt says what a write did.
type Receipt struct {
	Applied
	Redacted []Suspicion // what was replaced before it was written

	cleanings []cleaning // of the contents written, in order
}

// Apply makes changes as one; see [Documents.Apply]. It makes a store that was
// opened by name. What is written first passes the store's settings for
// sensitive information.
//
// Further errors: ErrSensitive, ErrNoDetector.
func (s *Store) Apply(ctx context.Context, by Actor, changes ...Change) (Receipt, error) {
	var r Receipt
	changes, err := s.guard(ctx, changes, &r)
	if err != nil {
		return Receipt{}, err
	}
	id, err := s.Ensure(ctx)
	if err != nil {
		return Receipt{}, err
	}
	if r.Applied, err = s.backend.Apply(ctx, id, by, changes); err != nil {
		return Receipt{}, err
	}
	s.learn(r.Settings)
	if r.Settings.Retention.None() {
		s.forget(ctx, id, r.Versions)
	}
	return r, nil
}

// guard returns the changes as they may be made.
func (s *Store) guard(ctx context.Context, changes []Change, r *Receipt) ([]Change, error) {
	guarded := changes
	for i, c := range changes {
		switch c := c.(type) {
		case Put:
			g, err := s.guardPut(ctx, c)
			if err != nil {
				return nil, err
			}
			r.cleanings = append(r.cleanings, g)
			if len(g.replaced) > 0 {
				r.Redacted = append(r.Redacted, g.replaced...)
				if &guarded[0] == &changes[0] {
					guarded = slices.Clone(changes) // which are the caller's
				}
				c.Content = g.text
				guarded[i] = c
			}
		case Move:
			if err := s.guardPath(ctx, "move", c.To); err != nil {
				return nil, err
			}
		}
	}
	return guarded, nil
}

func (s *Store) guardPut(ctx context.Context, c Put) (cleaning, error) {
	if err := s.guardPath(ctx, "put", c.Path); err != nil {
		return cleaning{}, err
	}
	screen, err := s.sensitive(ctx)
	if err != nil {
		return cleaning{}, err
	}
	g, err := screen.clean(c.Path, c.Content)
	if err != nil {
		return cleaning{}, &Error{Op: "put", Path: c.Path, Err: err}
	}
	return g, nil
}

// guardPath refuses a path that looks sensitive, without repeating it.
func (s *Store) guardPath(ctx context.Context, op string, p Path) error {
	screen, err := s.sensitive(ctx)
	if err == nil {
		if err = screen.checkPath(p); err != nil {
			return &Error{Op: op, Err: err}
		}
	}
	return err
}

// sensitive returns the screen that the store's settings ask for, as they were
// when they were last seen: others' changes of them are noticed with the next
// write, which is when the backend tells them.
func (s *Store) sensitive(ctx context.Context) (*screen, error) {
	known := s.screen.Load()
	if known == nil {
		settings, err := s.settings(ctx)
		if err != nil {
			return nil, err
		}
		s.learn(settings)
		known = s.screen.Load()
	}
	if known.detector == nil && known.settings.Mode != Off {
		return nil, &Error{Op: "write", Err: fmt.Errorf(
			"%w: the store's settings ask to look for sensitive information; open it with StoreOptions.Detector, such as sensitive.Default(), or set its mode to off", ErrNoDetector)}
	}
	return known, nil
}

// settings are the store's, or those it will be made with.
func (s *Store) settings(ctx context.Context) (Settings, error) {
	info, err := s.Info(ctx)
	switch {
	case err == nil:
		return info.Settings, nil
	case !errors.Is(err, ErrNoStore) || s.spec.Name == "":
		return Settings{}, err
	case s.spec.Settings != nil:
		return *s.spec.Settings, nil
	}
	return DefaultSettings(), nil
}

// learn keeps settings for the next write.
func (s *Store) learn(settings Settings) {
	if known := s.screen.Load(); known == nil || !reflect.DeepEqual(known.settings, settings.Sensitive) {
		s.screen.Store(newScreen(s.detector, settings.Sensitive))
	}
}

// forget removes what versions have replaced, of a store that keeps no history.
// The write has happened: what cannot be removed now, CollectHistory removes.
func (s *Store) forget(ctx context.Context, id StoreID, versions []Version) {
	const several = 20 // when it is better to look at all memories at once
	opts := PruneOptions{Before: endOfTime}
	if len(versions) > several {
		_, _ = s.backend.Prune(ctx, id, opts)
		return
	}
	for _, v := range versions {
		opts.Memory = v.Memory
		_, _ = s.backend.Prune(ctx, id, opts)
	}
}

// endOfTime is later than any version.
var endOfTime = time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)

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
	leave, err := s.edits.enter(ctx, p)
	if err != nil {
		return Edited{}, err
	}
	defer leave()
	for {
		m, err := s.peek(ctx, ByPath(p))
		if err != nil {
			return Edited{}, err
		}
		text, err := change(m.Content)
		if err != nil {
			return Edited{}, err
		}
		r, err := s.Apply(ctx, by, Put{Path: p, Content: text, If: IfVersion(m.Version)})
		switch {
		case errors.Is(err, ErrConflict) && ctx.Err() == nil:
			continue // another process was faster
		case err != nil:
			return Edited{}, err
		}
		for _, v := range r.Versions {
			m.Version, m.SHA256, m.Size, m.UpdatedAt = v.ID, v.SHA256, v.Size, v.CreatedAt
		}
		m.Content = r.cleanings[0].text
		return Edited{m, r}, nil
	}
}

// moved returns where what was at a place in the text of the change is in what
// was written.
func (e *Edited) moved(at int) int { return e.cleanings[0].moved(at) }

// Import appends versions to the store as they are; see [Documents.Import]. It
// makes a store that was opened by name. What is sensitive in them is replaced,
// and returned; the versions given stay as they are.
//
// Further errors: ErrSensitive, also for a path that looks sensitive, which
// cannot be replaced; ErrNoDetector.
func (s *Store) Import(ctx context.Context, versions []Version) ([]Suspicion, error) {
	var replaced []Suspicion
	guarded := slices.Clone(versions)
	for i := range guarded {
		v := &guarded[i]
		g, err := s.guardPut(ctx, Put{Path: v.Path, Content: v.Content})
		if err != nil {
			return nil, fmt.Errorf("version %s: %w", v.ID, err)
		}
		if len(g.replaced) > 0 {
			v.Content, v.SHA256, v.Size = g.text, HashContent(g.text), int64(len(g.text))
			replaced = append(replaced, g.replaced...)
		}
	}
	id, err := s.Ensure(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.backend.Import(ctx, id, guarded); err != nil {
		return nil, err
	}
	if s.marker != nil { // to be imported is to be used: what is old need not expire
		for i := range guarded {
			s.marker.MarkRead(id, guarded[i].Memory)
		}
	}
	return replaced, nil
}
