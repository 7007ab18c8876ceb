package memento

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// known is what a Store has seen of its settings and limits.
type cachedSettings struct {
	limits    Limits
	noHistory bool // whether no history is kept
	masker    *masker
}

// rules returns what is known of the store's settings and limits. They may have
// changed: the backend compares.
func (s *Store) currentSettings(ctx context.Context) (*cachedSettings, error) {
	k := s.settings.Load()
	if k == nil {
		var err error
		if k, err = s.loadSettings(ctx); err != nil {
			return nil, err
		}
	}
	if k.masker.detector == nil && k.masker.settings.Mode != Off {
		return nil, &Error{Op: "write", Err: fmt.Errorf(
			"%w: the store's settings ask to look for sensitive information; open it with StoreOptions.Detector, such as sensitive.Default(), or set its mode to off", ErrNoDetector)}
	}
	return k, nil
}

// look learns the store's settings and limits, or those it will be made with.
func (s *Store) loadSettings(ctx context.Context) (*cachedSettings, error) {
	info, err := s.Info(ctx)
	if errors.Is(err, ErrNoStore) && s.spec.Name != "" {
		info, err = NewStoreInfo(s.workspace, s.spec, time.Now())
	}
	if err != nil {
		return nil, err
	}
	return s.cacheSettings(info.Limits, info.Settings), nil
}

// learn keeps settings and limits for the next write.
func (s *Store) cacheSettings(limits Limits, settings Settings) *cachedSettings {
	next := cachedSettings{limits: limits, noHistory: settings.Retention.None()}
	k := s.settings.Load()
	if k != nil && k.masker.settings.equal(&settings.Sensitive) {
		next.masker = k.masker
	} else {
		next.masker = newMasker(s.detector, settings.Sensitive)
	}
	if k == nil || *k != next {
		k = &next
		s.settings.Store(k)
	}
	return k
}

// isOutdated reports whether changes were refused by rules that are the store's no
// more. It learns those that are.
func (s *Store) settingsChanged(ctx context.Context, refused error) bool {
	if !errors.Is(refused, ErrSensitive) && !errors.Is(refused, ErrNoDetector) {
		return false
	}
	before := s.settings.Load()
	now, err := s.loadSettings(ctx)
	return err == nil && before != nil && now.masker != before.masker
}
