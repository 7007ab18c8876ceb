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

	cleanings []cleaning // of the contents written, in order
}

// Apply makes changes as one; see [Memories.Apply]. It makes a store that was
// opened by name. What is written first passes the store's settings for
// sensitive information.
//
// Further errors: ErrSensitive, ErrNoDetector.
func (s *Store) Apply(ctx context.Context, by Actor, changes ...Change) (Receipt, error) {
	for all := false; ; {
		var r Receipt
		guarded, err := s.guard(ctx, changes, all, &r)
		if err != nil {
			if s.isOutdated(ctx, err) {
				continue
			}
			return Receipt{}, err
		}
		id, err := s.Ensure(ctx)
		if err != nil {
			return Receipt{}, err
		}
		start := time.Now()
		r.Applied, err = s.backend.Apply(ctx, id, by, guarded)
		s.observed(ctx, Observation{Op: "apply", Store: id, Start: start, Err: err, Receipt: r})
		if errors.Is(err, errRules) && ctx.Err() == nil {
			if _, err := s.look(ctx); err != nil {
				return Receipt{}, err
			}
			continue // by the rules that hold now
		}
		if errors.Is(err, errUnscreened) {
			all = true
			continue
		}
		if err != nil {
			return Receipt{}, err
		}
		r.Masked = append(r.Masked, r.Applied.Masked...)
		s.learn(r.Limits, r.Settings)
		if r.Settings.Retention.None() {
			s.forget(ctx, id, r.Versions)
		}
		return r, nil
	}
}

// isOutdated reports whether changes were refused by rules that are the store's no
// more. It learns those that are.
func (s *Store) isOutdated(ctx context.Context, refused error) bool {
	if !errors.Is(refused, ErrSensitive) && !errors.Is(refused, ErrNoDetector) {
		return false
	}
	before := s.known.Load()
	now, err := s.look(ctx)
	return err == nil && before != nil && now.screen != before.screen
}

// guard returns the changes as they may be made. What is too large, as far as the
// Store knows, is left as it is unless all is set: to screen it takes time, and the
// backend will most likely refuse it. It has it not written, should it not.
func (s *Store) guard(ctx context.Context, changes []Change, all bool, r *Receipt) ([]Change, error) {
	guarded := slices.Clone(changes)
	for i, c := range changes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		switch c := c.(type) {
		case Put:
			k, err := s.rules(ctx)
			if err != nil {
				return nil, err
			}
			if c.Content, c.unscreened, err = k.guardText(c.Path, c.Content, all, r); err != nil {
				return nil, err
			}
			c.rules = &k.screen.settings
			guarded[i] = c
		case Move:
			k, err := s.rules(ctx)
			if err != nil {
				return nil, err
			}
			if c.Content == nil {
				err = s.guardMove(ctx, k, c)
			} else { // what is moved there is what is written there
				var text string
				text, c.unscreened, err = k.guardText(c.To, *c.Content, all, r)
				c.Content = &text
			}
			if err != nil {
				return nil, err
			}
			c.rules = &k.screen.settings
			guarded[i] = c
		}
	}
	return guarded, nil
}

// guardText returns what may be written to a path, and notes it in r.
func (k *known) guardText(p Path, content string, all bool, r *Receipt) (text string, unscreened bool, err error) {
	if err := k.screen.checkPath(p); err != nil {
		return "", false, &Error{Op: "put", Err: err}
	}
	if !all && int64(len(content)) > k.limits.MemoryBytes {
		r.cleanings = append(r.cleanings, cleaning{text: content})
		return content, true, nil
	}
	g, err := k.screen.cleanPut(p, content)
	if err != nil {
		return "", false, err
	}
	r.cleanings = append(r.cleanings, g)
	r.Masked = append(r.Masked, g.replaced...)
	return g.text, false, nil
}

// cleanPut returns what may be written to a path.
func (c *screen) cleanPut(p Path, text string) (cleaning, error) {
	g, err := c.clean(p, text)
	if err != nil {
		return cleaning{}, &Error{Op: "put", Path: p, Err: err}
	}
	return g, nil
}

// guardMove refuses to move what is allowed where it is, and would not be where
// it goes: a move does not change contents, so it cannot replace anything.
func (s *Store) guardMove(ctx context.Context, k *known, c Move) error {
	if err := k.screen.checkPath(c.To); err != nil {
		return &Error{Op: "move", Err: err}
	}
	if len(k.screen.settings.AllowPaths) == 0 || k.screen.settings.Mode == Off {
		return nil
	}
	check := func(m Memory) error {
		to := m.Path.Moved(c.From, c.To)
		if found := k.screen.find(to, m.Content); len(found) > 0 && k.screen.find(m.Path, m.Content) == nil {
			return &Error{Op: "move", Path: to, Err: &SensitiveError{Found: suspect(to, m.Content, found)}}
		}
		return nil
	}
	m, err := s.Peek(ctx, ByPath(c.From))
	switch {
	case err == nil:
		return check(m)
	case !errors.Is(err, ErrIsDir):
		return nil // the backend says what is wrong
	}
	for e, err := range s.List(ctx, ListOptions{Dir: c.From, Contents: true}) {
		if err != nil {
			return err
		}
		if err := check(e.Memory); err != nil {
			return err
		}
	}
	return nil
}

// guardVersion returns what may be imported of a version's contents.
func (s *Store) guardVersion(ctx context.Context, k *known, v *Version) (cleaning, error) {
	if err := k.screen.checkPath(v.Path); err != nil {
		return cleaning{}, &Error{Op: "put", Err: err}
	}
	if size := int64(len(v.Content)); size > k.limits.MemoryBytes {
		// As in Apply, what is too large is not screened.
		m, err := s.Peek(ctx, ByPath(v.Path))
		switch {
		case err != nil && !errors.Is(err, ErrNotExist):
			return cleaning{}, err
		case err != nil || size > m.Size: // else it is over a limit that was lowered
			return cleaning{}, &Error{Op: "put", Path: v.Path, Err: &LimitError{Limit: LimitMemoryBytes, Max: k.limits.MemoryBytes, Want: size}}
		}
	}
	return k.screen.cleanPut(v.Path, v.Content)
}

// known is what a Store has seen of its settings and limits.
type known struct {
	limits    Limits
	forgetful bool // whether no history is kept
	screen    *screen
}

// rules returns what is known of the store's settings and limits. They may have
// changed: the backend compares.
func (s *Store) rules(ctx context.Context) (*known, error) {
	k := s.known.Load()
	if k == nil {
		var err error
		if k, err = s.look(ctx); err != nil {
			return nil, err
		}
	}
	if k.screen.detector == nil && k.screen.settings.Mode != Off {
		return nil, &Error{Op: "write", Err: fmt.Errorf(
			"%w: the store's settings ask to look for sensitive information; open it with StoreOptions.Detector, such as sensitive.Default(), or set its mode to off", ErrNoDetector)}
	}
	return k, nil
}

// look learns the store's settings and limits, or those it will be made with.
func (s *Store) look(ctx context.Context) (*known, error) {
	info, err := s.Info(ctx)
	if errors.Is(err, ErrNoStore) && s.spec.Name != "" {
		info, err = NewStoreInfo(s.workspace, s.spec, time.Now())
	}
	if err != nil {
		return nil, err
	}
	return s.learn(info.Limits, info.Settings), nil
}

// learn keeps settings and limits for the next write.
func (s *Store) learn(limits Limits, settings Settings) *known {
	next := known{limits: limits, forgetful: settings.Retention.None()}
	k := s.known.Load()
	if k != nil && k.screen.settings.equal(&settings.Sensitive) {
		next.screen = k.screen
	} else {
		next.screen = newScreen(s.detector, settings.Sensitive)
	}
	if k == nil || *k != next {
		k = &next
		s.known.Store(k)
	}
	return k
}

// forgetting is how long the removal of history may take after a write.
const forgetting = 30 * time.Second

// forget removes what versions have replaced, of a store that keeps no history.
// The write has happened: what cannot be removed now, PruneHistory removes.
func (s *Store) forget(ctx context.Context, id StoreID, versions []Version) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetting)
	defer cancel()
	const several = 20 // when it is better to look at all memories at once
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
	m, recalled := s.recall(p)
	for {
		if !recalled {
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
		if recalled { // what is wrong may be what was recalled
			again = err != nil && !errors.Is(err, ErrUncertain) && !errors.Is(err, ErrUnavailable)
		}
		if !again || ctx.Err() != nil {
			return edited, err
		}
		recalled = false
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
	m.Content = r.cleanings[0].text
	return Edited{m, r}, nil
}

// recall returns the memory at p as it was last seen, if the backend knows.
func (s *Store) recall(p Path) (m Memory, known bool) {
	id := s.id.Load()
	if s.cachedReader == nil || id == nil {
		return m, false
	}
	return s.cachedReader.GetCached(*id, ByPath(p))
}

// moved returns where what was at a place in the text of the change is in what
// was written.
func (e *Edited) moved(at int) int { return e.cleanings[0].moved(at) }

// Import appends versions to the store as they are; see [Memories.Import]. It
// makes a store that was opened by name. What is sensitive in them is replaced,
// and returned; the versions given stay as they are.
//
// Further errors: ErrSensitive, also for a path that looks sensitive, which
// cannot be replaced; ErrNoDetector.
func (s *Store) Import(ctx context.Context, versions []Version) ([]FindingLocation, error) {
	// By the rules that hold now: nothing compares them later.
	if _, err := s.look(ctx); err != nil {
		return nil, err
	}
	k, err := s.rules(ctx)
	if err != nil {
		return nil, err
	}
	var replaced []FindingLocation
	guarded := slices.Clone(versions)
	for i := range guarded {
		v := &guarded[i]
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		g, err := s.guardVersion(ctx, k, v)
		if err != nil {
			return nil, fmt.Errorf("version %s: %w", v.ID, err)
		}
		if len(g.replaced) > 0 && v.SHA256 == HashContent(v.Content) {
			v.Content, v.SHA256, v.Size = g.text, HashContent(g.text), int64(len(g.text))
			replaced = append(replaced, g.replaced...)
		}
	}
	id, err := s.Ensure(ctx)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	err = s.backend.Import(ctx, id, guarded)
	s.observed(ctx, Observation{Op: "import", Store: id, Start: start, Err: err, Receipt: Receipt{Masked: replaced}})
	if err != nil {
		return nil, err
	}
	if k.forgetful {
		s.forget(ctx, id, guarded)
	}
	if s.marker != nil { // to be imported is to be used: what is old need not expire
		for i := range guarded {
			s.marker.MarkRead(id, guarded[i].Memory)
		}
	}
	return replaced, nil
}
