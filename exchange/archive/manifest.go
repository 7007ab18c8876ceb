package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"memento"
)

const (
	formatName    = "memento-archive"
	formatVersion = 2 // the newest; an archive has the lowest version that can represent it
)

// A manifest is memento.json.
type manifest struct {
	Format    string        `json:"format"`
	Version   int           `json:"version"`
	CreatedAt time.Time     `json:"created_at"`
	History   bool          `json:"history"`  // whether there is a history.jsonl
	Memories  int           `json:"memories"` // number of memories, for detecting missing ones
	Versions  int           `json:"versions"`
	Store     manifestStore `json:"store"`
}

// A manifestStore describes the store that was written.
type manifestStore struct {
	ID          memento.StoreID   `json:"id"`
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Metadata    map[string]string `json:"metadata"`
	Limits      manifestLimits    `json:"limits"`
	Settings    memento.Settings  `json:"settings"` // absent from old archives: the defaults
	CreatedAt   time.Time         `json:"created_at"`
}

type manifestLimits struct {
	MemoryBytes int64 `json:"memory_bytes"`
	Memories    int64 `json:"memories"`
	Bytes       int64 `json:"bytes"`
	PathBytes   int64 `json:"path_bytes"`
	PathDepth   int64 `json:"path_depth"`
}

func newManifest(info memento.StoreInfo, now time.Time) manifest {
	return manifest{
		Format:    formatName,
		Version:   1,
		CreatedAt: now.UTC().Truncate(time.Second),
		Store: manifestStore{
			ID:          info.ID,
			Name:        info.Name,
			Description: info.Description,
			Metadata:    info.Metadata,
			Limits:      manifestLimits(info.Limits),
			Settings:    info.Settings,
			CreatedAt:   info.CreatedAt,
		},
	}
}

// spec describes a store like the one that was written, without its read-only patterns,
// with the detection of secrets on, and without exceptions that turn it off.
func (s *manifestStore) spec() memento.StoreSpec {
	settings := s.Settings
	settings.ReadOnly = nil
	settings.Sensitive, _ = withoutWide(settings.Sensitive)
	if settings.Sensitive.Mode == memento.Off {
		settings.Sensitive.Mode = memento.DefaultSettings().Sensitive.Mode
	}
	return memento.StoreSpec{
		Name:        s.Name,
		Description: s.Description,
		Metadata:    s.Metadata,
		Limits:      memento.Limits(s.Limits),
		Settings:    &settings,
	}
}

func parseManifest(data []byte) (manifest, error) {
	// The version comes first: the other fields depend on it.
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return manifest{}, malformed(manifestName, "it is not a JSON object that describes an archive")
	}
	switch {
	case head.Format != formatName:
		return manifest{}, malformed(manifestName, "its format is %s, not %q", quoted(head.Format), formatName)
	case head.Version > formatVersion:
		return manifest{}, malformed(manifestName, "it was written in format version %d by a newer memento; this one reads versions up to %d", head.Version, formatVersion)
	case head.Version < 1:
		return manifest{}, malformed(manifestName, "there is no format version %d", head.Version)
	}
	m := manifest{Store: manifestStore{Settings: memento.DefaultSettings()}}
	if err := strictJSON(data, &m); err != nil {
		return manifest{}, malformed(manifestName, "%v", err)
	}
	switch {
	case m.Memories < 0, m.Versions < 0, !m.History && m.Versions != 0:
		return manifest{}, malformed(manifestName, "its counts are invalid")
	}
	// An invalid store is reported here, not when it is made.
	spec := m.Store.spec()
	spec.Settings = &m.Store.Settings
	if _, err := spec.NewInfo(memento.DefaultWorkspace, m.CreatedAt); err != nil {
		return manifest{}, malformed(manifestName, "the description of the store: %v", errors.Unwrap(err))
	}
	return m, nil
}

// strictJSON reads exactly one JSON value without unknown fields.
func strictJSON(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if at, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return fmt.Errorf("field %q is of the wrong type", at.Field)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("it is truncated")
		}
		if _, ok := errors.AsType[*json.SyntaxError](err); ok {
			return errors.New("it is not valid JSON")
		}
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return fmt.Errorf("unknown field %.100s", name)
		}
		if errors.Is(err, memento.ErrInvalid) {
			return fmt.Errorf("%.200s", err)
		}
		return errors.New("a value has an invalid form")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one value")
	}
	return nil
}

// plainJSON is json.Marshal without escapes for HTML, for readability, and with a final
// newline.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
