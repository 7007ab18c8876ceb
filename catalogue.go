package memento

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"memento/internal/ids"
	"memento/internal/textfield"
	"memento/internal/times"
)

// The bounds of a store's description. Source: Memory Stores API.
const (
	maxNameChars          = 255
	maxDescriptionChars   = 1024
	maxMetadataPairs      = 16
	maxMetadataKeyChars   = 64
	maxMetadataValueChars = 512
)

const (
	maxEnvelopeBytes = 64 << 10
	maxStoreIDChars  = 64 // after the prefix
)

// NewInfo returns the description of a new store, for backends to keep, or ErrInvalid
// if spec breaks a rule. Whether a unique name is free is for the backend to check.
func (spec StoreSpec) NewInfo(ws Workspace, at time.Time) (StoreInfo, error) {
	info := StoreInfo{
		ID:          StoreID(ids.Store(at)),
		Workspace:   ws,
		Name:        spec.Name,
		Description: spec.Description,
		Metadata:    map[string]string{},
		Limits:      spec.Limits.WithDefaults(),
		Settings:    DefaultSettings(),
		Envelope:    spec.Envelope,
		CreatedAt:   at,
		UpdatedAt:   at,
	}
	if spec.ID != "" {
		info.ID = spec.ID
	}
	if !spec.CreatedAt.IsZero() {
		info.CreatedAt = times.Stored(spec.CreatedAt)
	}
	maps.Copy(info.Metadata, spec.Metadata)
	if spec.Settings != nil {
		info.Settings = spec.Settings.Clone()
	}
	if err := info.check(); err != nil {
		return StoreInfo{}, &Error{Op: "create store", Err: err}
	}
	return info, nil
}

// Updated returns the description after u, for backends to keep. If u changes
// nothing it returns s as it is.
//
// Errors: ErrInvalid, ErrConflict, ErrArchived.
func (s StoreInfo) Updated(u StoreUpdate, at time.Time) (StoreInfo, error) {
	if !u.IfUpdatedAt.IsZero() && !u.IfUpdatedAt.Equal(s.UpdatedAt) {
		return StoreInfo{}, &Error{Op: "update store", Err: ErrConflict}
	}
	if u.IfEnvelope != nil && *u.IfEnvelope != s.Envelope {
		return StoreInfo{}, &Error{Op: "update store", Err: ErrConflict}
	}
	if u.Envelope != nil {
		s.Envelope = *u.Envelope
		if err := s.check(); err != nil {
			return StoreInfo{}, &Error{Op: "update store", Err: err}
		}
	}
	if !at.After(s.UpdatedAt) { // so that no two descriptions have the same time
		at = s.UpdatedAt.Add(time.Microsecond)
	}
	if s.Archived() {
		if u.Name != nil || u.Description != nil || u.Metadata != nil || u.Limits != nil || u.Settings != nil {
			return StoreInfo{}, &Error{Op: "update store", Err: ErrArchived}
		}
		return s, nil
	}
	next := s
	if u.Name != nil {
		next.Name = *u.Name
	}
	if u.Description != nil {
		next.Description = *u.Description
	}
	next.Metadata = maps.Clone(s.Metadata)
	for k, v := range u.Metadata {
		if v == nil {
			delete(next.Metadata, k)
		} else {
			next.Metadata[k] = *v
		}
	}
	if u.Limits != nil {
		next.Limits = u.Limits.WithDefaults()
	}
	if u.Settings != nil {
		next.Settings = u.Settings.Clone()
	}
	if u.Archive {
		next.ArchivedAt = at
	}
	if err := next.check(); err != nil {
		return StoreInfo{}, &Error{Op: "update store", Err: err}
	}
	if next.Name == s.Name && next.Description == s.Description && next.Limits == s.Limits &&
		next.Settings.Equal(&s.Settings) && maps.Equal(next.Metadata, s.Metadata) && !u.Archive {
		return s, nil
	}
	next.UpdatedAt = at
	return next, nil
}

func (s *StoreInfo) check() error {
	if s.Name == "" {
		return fmt.Errorf("%w: a store must have a name", ErrInvalid)
	}
	if err := checkLine("name", s.Name, maxNameChars); err != nil {
		return err
	}
	if err := checkText("description", s.Description, maxDescriptionChars); err != nil {
		return err
	}
	if n := len(s.Metadata); n > maxMetadataPairs {
		return fmt.Errorf("%w: metadata has %d pairs; at most %d are allowed", ErrInvalid, n, maxMetadataPairs)
	}
	for k, v := range s.Metadata {
		if k == "" {
			return fmt.Errorf("%w: a metadata key is empty", ErrInvalid)
		}
		if err := checkText("metadata key", k, maxMetadataKeyChars); err != nil {
			return err
		}
		if err := checkText("metadata value", v, maxMetadataValueChars); err != nil {
			return err
		}
	}
	switch {
	case len(s.Envelope) > maxEnvelopeBytes:
		return fmt.Errorf("%w: the envelope has %d bytes; at most %d are allowed", ErrInvalid, len(s.Envelope), maxEnvelopeBytes)
	case !isStoreID(s.ID):
		return fmt.Errorf("%w: a store's ID is memstore_ and at most %d letters and digits", ErrInvalid, maxStoreIDChars)
	case !times.IsWritable(s.CreatedAt):
		return fmt.Errorf("%w: a store's time must be in the years 1 to 9999", ErrInvalid)
	}
	if err := s.Limits.check(); err != nil {
		return err
	}
	return s.Settings.Check()
}

// isStoreID reports whether id has the form of a new store's, however long.
func isStoreID(id StoreID) bool {
	text, ok := strings.CutPrefix(string(id), ids.StorePrefix)
	if !ok || text == "" || len(text) > maxStoreIDChars {
		return false
	}
	for _, r := range text {
		if !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') {
			return false
		}
	}
	return true
}

// checkLine is checkText for what fits on a line.
func checkLine(what, text string, maxChars int) error {
	return invalidField(what, textfield.LineFault(text, maxChars))
}

func checkText(what, text string, maxChars int) error {
	return invalidField(what, textfield.Fault(text, maxChars))
}

func invalidField(what, fault string) error {
	if fault == "" {
		return nil
	}
	return fmt.Errorf("%w: the %s %s", ErrInvalid, what, fault)
}

// Matches reports whether ListStores with these options yields s, without
// After and Limit, which are for the backend.
func (o *StoreListOptions) Matches(s *StoreInfo) bool {
	return (o.Name == "" || o.Name == s.Name) &&
		(o.IncludeArchived || !s.Archived()) &&
		within(s.CreatedAt, o.CreatedFrom, o.CreatedTo)
}

// Matches reports whether ListVersions with these options yields v, without
// After and Limit, which are for the backend.
func (o *VersionListOptions) Matches(v *Version) bool {
	return (o.Memory == "" || o.Memory == v.Memory) &&
		(o.Path == "" || v.Path == o.Path || v.Path != "" && o.Path.Contains(v.Path)) &&
		(o.Operation == "" || o.Operation == v.Operation) &&
		(o.CreatedBy.Kind == "" || o.CreatedBy.Kind == v.CreatedBy.Kind) &&
		(o.CreatedBy.ID == "" || o.CreatedBy.ID == v.CreatedBy.ID) &&
		(o.CreatedBy.Key == "" || v.CreatedBy.Used(o.CreatedBy.Key)) &&
		within(v.CreatedAt, o.CreatedFrom, o.CreatedTo)
}

func within(t, from, to time.Time) bool {
	return (from.IsZero() || !t.Before(from)) && (to.IsZero() || !t.After(to))
}
