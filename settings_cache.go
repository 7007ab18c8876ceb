package memento

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// cachedSettings are the settings and limits of a store as the Store saw them last.
type cachedSettings struct {
	limits    Limits
	noHistory bool // whether the store keeps no history
	masker    *masker
}

// currentSettings returns the cached settings, and loads them the first time. They may
// be stale: Planner compares them with the store's, see errSettingsChanged.
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
			"%w: the store's settings require a detector of sensitive information; open the store with StoreOptions.Detector, such as sensitive.Default(), or set its mode to off", ErrNoDetector)}
	}
	return k, nil
}

// loadSettings reads and caches the store's settings and limits, or those that the store
// will be created with.
func (s *Store) loadSettings(ctx context.Context) (*cachedSettings, error) {
	info, err := s.Info(ctx)
	if errors.Is(err, ErrNoStore) && s.spec.Name != "" {
		info, err = s.spec.NewInfo(s.workspace, time.Now())
	}
	if err != nil {
		return nil, err
	}
	return s.cacheSettings(info.Limits, info.Settings), nil
}

// cacheSettings keeps settings and limits for the next write.
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

// settingsChanged reports whether changes were refused by cached settings that are stale.
// It loads the present ones.
func (s *Store) settingsChanged(ctx context.Context, refused error) bool {
	if !errors.Is(refused, ErrSensitive) && !errors.Is(refused, ErrNoDetector) && !errors.Is(refused, ErrTooLarge) {
		return false
	}
	before := s.settings.Load()
	now, err := s.loadSettings(ctx)
	return err == nil && before != nil && (now.masker != before.masker || now.limits != before.limits)
}
