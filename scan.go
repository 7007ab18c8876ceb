package memento

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// An Exposure is a version that holds sensitive information.
type Exposure struct {
	Version Version // without contents
	Current bool    // whether it is what its memory holds at present
	Found   []Suspicion
}

// InPath reports whether the path itself looks sensitive.
func (x *Exposure) InPath() bool { return len(x.Found) > 0 && x.Found[0].Line == 0 }

// Scan looks for sensitive information in all that the store keeps, history
// included, and yields the versions that hold some, newest first. What the
// store's settings allow is not reported; that their mode may be off, and not
// count personal data unless personal is set, is disregarded.
//
// Errors: ErrNoDetector.
func (s *Store) Scan(ctx context.Context, personal bool) iter.Seq2[Exposure, error] {
	return func(yield func(Exposure, error) bool) {
		screen, err := s.scanner(ctx, personal)
		if err != nil {
			if err = s.absent("scan", "", err); !errors.Is(err, ErrNotExist) {
				yield(Exposure{}, err)
			}
			return
		}
		seen := map[MemoryID]bool{}
		for v, err := range s.Versions(ctx, VersionListOptions{Contents: true}) {
			if err != nil {
				yield(Exposure{}, err)
				return
			}
			x := Exposure{Version: v, Current: !seen[v.Memory] && v.Operation != Deleted, Found: screen.inspect(&v)}
			x.Version.Content = ""
			seen[v.Memory] = true
			if len(x.Found) > 0 && !yield(x, nil) {
				return
			}
		}
	}
}

// scanner is the store's screen, but in a mode that finds something.
func (s *Store) scanner(ctx context.Context, personal bool) (*screen, error) {
	info, err := s.Info(ctx)
	switch {
	case err != nil:
		return nil, err
	case s.detector == nil:
		return nil, &Error{Op: "scan", Err: fmt.Errorf("%w: open the store with StoreOptions.Detector", ErrNoDetector)}
	}
	rules := info.Settings.Sensitive
	rules.Mode = Redact
	rules.Personal = rules.Personal || personal
	return newScreen(s.detector, rules), nil
}

// inspect returns what a version holds.
func (c *screen) inspect(v *Version) (found []Suspicion) {
	for _, f := range c.find(v.Path, string(v.Path)) {
		found = append(found, Suspicion{Kind: f.Kind})
	}
	return append(found, suspect(v.Path, v.Content, c.find(v.Path, v.Content))...)
}

// Fix removes what [Store.Scan] found in a version: what is the present of a
// memory is replaced by a version without it, and the version that held it is
// redacted. That it is gone already is no error.
//
// Errors: ErrHead if it is the path of a present memory that looks sensitive:
// move the memory, then fix what is left; ErrConflict if the memory was changed
// since the scan; ErrProtected, ErrArchived.
func (s *Store) Fix(ctx context.Context, by Actor, x Exposure, personal bool) error {
	if x.Current {
		if x.InPath() {
			return &Error{Op: "fix", Err: fmt.Errorf("%w: its path looks sensitive, and only a move can change that", ErrHead)}
		}
		screen, err := s.scanner(ctx, personal)
		if err != nil {
			return err
		}
		id, err := s.ID(ctx)
		if err != nil {
			return err
		}
		v, err := s.backend.GetVersion(ctx, id, x.Version.ID)
		if err != nil {
			return err
		}
		clean := redacted(v.Content, screen.find(v.Path, v.Content))
		put := Put{Path: v.Path, Content: clean, If: IfVersion(v.ID)}
		if _, err := s.backend.Apply(ctx, id, by, []Change{put}); err != nil {
			return err
		}
	}
	_, err := s.Redact(ctx, x.Version.ID, by)
	if errors.Is(err, ErrNotExist) { // of a store that keeps no history
		return nil
	}
	return err
}
