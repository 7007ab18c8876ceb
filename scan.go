package memento

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// An Exposure is a version with secrets or personal data.
type Exposure struct {
	Version Version // without contents
	Current bool    // whether it is the newest version of a living memory
	Found   []FindingLocation
}

// InPath reports whether the path itself looks sensitive.
func (x *Exposure) InPath() bool { return len(x.Found) > 0 && x.Found[0].Line == 0 }

// ScanOptions are the options of [Store.Scan]; nil means all defaults.
type ScanOptions struct {
	Personal bool           // look for personal data even if the store's settings do not
	Progress func(done int) // called regularly with the number of versions scanned
}

// Scan looks for secrets in all memories of the store and their history, and yields the
// versions that have some, newest first. Exceptions of the store's settings are not
// reported. The mode of the settings does not matter.
//
// Errors: ErrNoDetector.
func (s *Store) Scan(ctx context.Context, opts *ScanOptions) iter.Seq2[Exposure, error] {
	var o ScanOptions
	if opts != nil {
		o = *opts
	}
	return func(yield func(Exposure, error) bool) {
		info, made, err := s.InfoIfCreated(ctx)
		switch {
		case err != nil:
			yield(Exposure{}, err)
			return
		case !made:
			return
		}
		m, err := s.scanMasker(info.Settings.Sensitive, o.Personal)
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
			x := Exposure{Version: v, Current: !seen[v.Memory] && v.Operation != Deleted, Found: m.findInVersion(&v)}
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

// scanMasker returns a masker by the settings, in a mode that finds secrets.
func (s *Store) scanMasker(rules Sensitive, personal bool) (*masker, error) {
	if s.detector == nil {
		return nil, &Error{Op: "scan", Err: fmt.Errorf("%w: open the store with StoreOptions.Detector", ErrNoDetector)}
	}
	rules.Mode = Mask
	rules.Personal = rules.Personal || personal
	return newMasker(s.detector, rules), nil
}

// Inspect returns the findings in a version, which must come with its contents, by the
// store's settings: for contents that were not written through the Store, such as files
// that were edited by hand. In the mode Off there are none.
//
// Errors: ErrNoDetector.
func (s *Store) Inspect(ctx context.Context, v Version) ([]FindingLocation, error) {
	k, err := s.currentSettings(ctx)
	if err != nil {
		return nil, err
	}
	return k.masker.findInVersion(&v), nil
}

// findInVersion returns the findings in the path and the contents of a version.
func (c *masker) findInVersion(v *Version) (found []FindingLocation) {
	for _, f := range c.find(v.Path, string(v.Path)) {
		found = append(found, FindingLocation{Kind: f.Kind})
	}
	return append(found, locate(v.Path, v.Content, c.find(v.Path, v.Content))...)
}

// Fix removes the findings of [Store.Scan] in a version. If it is the newest version of a
// memory, a masked version is written first. Then the version is redacted. A version that
// does not exist any more is no error. personal must be as in the scan.
//
// Errors: ErrHead if the finding is in the path of a present memory: move the memory,
// then call Fix again; ErrConflict if the memory was changed
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
	case errors.Is(err, ErrNotExist): // it was pruned
		return nil
	}
	return err
}

// fixPresent writes a masked version of the memory of x.
func (s *Store) fixPresent(ctx context.Context, by Actor, x Exposure, personal bool) error {
	info, err := s.Info(ctx)
	if err != nil {
		return err
	}
	m, err := s.scanMasker(info.Settings.Sensitive, personal)
	if err != nil {
		return err
	}
	v, err := s.Version(ctx, x.Version.ID)
	switch {
	case errors.Is(err, ErrNotExist): // it was superseded and pruned
		return &Error{Op: "fix", Err: ErrConflict}
	case err != nil:
		return err
	}
	put := Put{Path: v.Path, Content: replaceFindings(v.Content, m.find(v.Path, v.Content)), If: IfVersion(v.ID)}
	start := time.Now()
	done, err := s.backend.Apply(ctx, info.ID, by, []Change{put})
	s.observed(ctx, Observation{Op: "apply", Store: info.ID, Start: start, Err: err, Receipt: Receipt{Applied: done}})
	if err == nil && done.Settings.Retention.None() {
		s.pruneReplaced(ctx, info.ID, done.Versions)
	}
	return err
}
