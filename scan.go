package memento

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// An Exposure is a version that holds sensitive information.
type Exposure struct {
	Version Version // without contents
	Current bool    // whether it is what its memory holds at present
	Found   []FindingLocation
}

// InPath reports whether the path itself looks sensitive.
func (x *Exposure) InPath() bool { return len(x.Found) > 0 && x.Found[0].Line == 0 }

// ScanOptions are the options of [Store.Scan]; nil means all defaults.
type ScanOptions struct {
	Personal bool           // look for personal data, also if the store's settings do not
	Progress func(done int) // told now and then how many versions have been looked at
}

// Scan looks for sensitive information in all that the store keeps, history
// included, and yields the versions that hold some, newest first. What the
// store's settings allow is not reported, but their mode does not matter.
//
// Errors: ErrNoDetector.
func (s *Store) Scan(ctx context.Context, opts *ScanOptions) iter.Seq2[Exposure, error] {
	var o ScanOptions
	if opts != nil {
		o = *opts
	}
	return func(yield func(Exposure, error) bool) {
		info, made, err := s.infoIfCreated(ctx)
		switch {
		case err != nil:
			yield(Exposure{}, err)
			return
		case !made:
			return
		}
		screen, err := s.scanMasker(info.Settings.Sensitive, o.Personal)
		if err != nil {
			yield(Exposure{}, err)
			return
		}
		seen := map[MemoryID]bool{}
		done := 0
		for v, err := range s.Versions(ctx, VersionListOptions{Contents: true}) {
			if err != nil {
				yield(Exposure{}, err)
				return
			}
			x := Exposure{Version: v, Current: !seen[v.Memory] && v.Operation != Deleted, Found: screen.findInVersion(&v)}
			x.Version.Content = ""
			seen[v.Memory] = true
			if done++; o.Progress != nil && done%100 == 0 {
				o.Progress(done)
			}
			if len(x.Found) > 0 && !yield(x, nil) {
				return
			}
		}
	}
}

// scanner is a screen by rules, but in a mode that finds something.
func (s *Store) scanMasker(rules Sensitive, personal bool) (*masker, error) {
	if s.detector == nil {
		return nil, &Error{Op: "scan", Err: fmt.Errorf("%w: open the store with StoreOptions.Detector", ErrNoDetector)}
	}
	rules.Mode = Mask
	rules.Personal = rules.Personal || personal
	return newMasker(s.detector, rules), nil
}

// Inspect returns what in a version, which has its contents, the store's settings
// would have kept out: for what has come past the Store, such as files that were
// changed by hand. In the mode Off it is nothing.
//
// Errors: ErrNoDetector.
func (s *Store) Inspect(ctx context.Context, v Version) ([]FindingLocation, error) {
	k, err := s.currentSettings(ctx)
	if err != nil {
		return nil, err
	}
	return k.masker.findInVersion(&v), nil
}

// inspect returns what a version holds.
func (c *masker) findInVersion(v *Version) (found []FindingLocation) {
	for _, f := range c.find(v.Path, string(v.Path)) {
		found = append(found, FindingLocation{Kind: f.Kind})
	}
	return append(found, locate(v.Path, v.Content, c.find(v.Path, v.Content))...)
}

// Fix removes what [Store.Scan] found in a version: what is the present of a
// memory is replaced by a version without it, and the version that held it is
// redacted. That it is gone already is no error. personal is what the scan had.
//
// Errors: ErrHead if it is the path of a present memory that looks sensitive:
// move the memory, then fix what is left; ErrConflict if the memory was changed
// since the scan; ErrProtected, ErrArchived.
func (s *Store) Fix(ctx context.Context, by Actor, x Exposure, personal bool) error {
	if x.Current {
		if err := s.fixPresent(ctx, by, x, personal); err != nil {
			return err
		}
	}
	_, err := s.Redact(ctx, x.Version.ID, by)
	switch {
	case x.Current && x.InPath() && (err == nil || errors.Is(err, ErrHead)):
		return &Error{Op: "fix", Err: fmt.Errorf("%w: its path looks sensitive, and only a move can change that", ErrHead)}
	case errors.Is(err, ErrNotExist): // it is pruned
		return nil
	}
	return err
}

// fixPresent puts a version without what was found in the place of x.
func (s *Store) fixPresent(ctx context.Context, by Actor, x Exposure, personal bool) error {
	info, err := s.Info(ctx)
	if err != nil {
		return err
	}
	screen, err := s.scanMasker(info.Settings.Sensitive, personal)
	if err != nil {
		return err
	}
	v, err := s.Version(ctx, x.Version.ID)
	switch {
	case errors.Is(err, ErrNotExist): // it is not the present any more, and pruned
		return &Error{Op: "fix", Err: ErrConflict}
	case err != nil:
		return err
	}
	put := Put{Path: v.Path, Content: replaceFindings(v.Content, screen.find(v.Path, v.Content)), If: IfVersion(v.ID)}
	start := time.Now()
	done, err := s.backend.Apply(ctx, info.ID, by, []Change{put})
	s.observed(ctx, Observation{Op: "apply", Store: info.ID, Start: start, Err: err, Receipt: Receipt{Applied: done}})
	if err == nil && done.Settings.Retention.None() {
		s.pruneReplaced(ctx, info.ID, done.Versions)
	}
	return err
}
