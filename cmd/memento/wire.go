package main

import (
	"encoding/json"
	"time"

	"memento"
	"memento/internal/wire"
)

// The objects of --json output that are not in package wire: one per line.

type diffJSON struct {
	Type string             `json:"type"` // "memory_diff"
	From *memento.VersionID `json:"from_version_id"`
	To   *memento.VersionID `json:"to_version_id"` // null if the memory does not exist now
	Diff string             `json:"diff"`          // "" if there is no difference
}

type restoredJSON struct {
	Type    string         `json:"type"` // "memory_restoration"
	DryRun  bool           `json:"dry_run"`
	Written []memento.Path `json:"written"`
	Removed []memento.Path `json:"removed"`
	Lost    []memento.Path `json:"lost"`
}

type transferJSON struct {
	Type     string        `json:"type"` // "memory_export" or "memory_import"
	Memories int           `json:"memories"`
	Versions int           `json:"versions"`
	Bytes    int64         `json:"bytes"`
	Skipped  []skippedJSON `json:"skipped"`

	Masked map[string]int `json:"masked,omitempty"` // by kind
	Marked map[string]int `json:"marked,omitempty"` // by kind
}

type skippedJSON struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

type statsJSON struct {
	Type     string        `json:"type"` // "memory_store_stats"
	Store    wire.Store    `json:"memory_store"`
	Versions int           `json:"versions"`
	Redacted int           `json:"redacted_versions"`
	Largest  []wire.Memory `json:"largest_memories"`

	VersionBytes int64           `json:"version_bytes"` // contents of all versions
	Near         []memento.Limit `json:"near_limits"`   // of which more than 80 % are used
}

// An exposureJSON describes the sensitive information in a version, without any of it.
type exposureJSON struct {
	Type      string            `json:"type"` // "memory_exposure"
	Version   memento.VersionID `json:"memory_version_id"`
	Memory    memento.MemoryID  `json:"memory_id"`
	Store     memento.StoreID   `json:"memory_store_id"`
	Path      *memento.Path     `json:"path"` // null if it is itself sensitive
	Current   bool              `json:"current"`
	CreatedAt time.Time         `json:"created_at"`
	CreatedBy *wire.Actor       `json:"created_by"`
	Findings  []findingJSON     `json:"findings"`

	CreatedKey memento.KeyID `json:"created_by_key_id,omitempty"`

	Fixed   *bool  `json:"fixed,omitempty"` // only with --fix
	Unfixed string `json:"unfixed_reason,omitempty"`
}

type findingJSON struct {
	Kind string `json:"kind"`
	Line *int   `json:"line"` // from 1; null if it is in the path
}

// wireExposure describes an exposure; see showExposure.
func wireExposure(store memento.StoreID, x memento.Exposure, unfixed *string) exposureJSON {
	j := exposureJSON{
		Type: "memory_exposure", Version: x.Version.ID, Memory: x.Version.Memory, Store: store, Current: x.Current,
		CreatedAt: x.Version.CreatedAt, CreatedBy: wire.FromActor(x.Version.CreatedBy), CreatedKey: x.Version.CreatedBy.Key,
	}
	if !x.InPath() {
		j.Path = &x.Version.Path
	}
	for _, f := range x.Found {
		found := findingJSON{Kind: f.Kind}
		if f.Line > 0 {
			found.Line = &f.Line
		}
		j.Findings = append(j.Findings, found)
	}
	if unfixed != nil {
		fixed := *unfixed == ""
		j.Fixed, j.Unfixed = &fixed, *unfixed
	}
	return j
}

type expiredJSON struct {
	Type   string           `json:"type"` // "memory_expiry"
	Memory memento.MemoryID `json:"memory_id"`
	Store  memento.StoreID  `json:"memory_store_id"`
	Path   memento.Path     `json:"path"`
	Size   int64            `json:"content_size_bytes"`
	UsedAt time.Time        `json:"used_at"`
	DryRun bool             `json:"dry_run"`
}

type collectedJSON struct {
	Type     string          `json:"type"` // "memory_history_collection"
	Store    memento.StoreID `json:"memory_store_id"`
	Versions int64           `json:"versions"`
	Bytes    int64           `json:"bytes"`
	DryRun   bool            `json:"dry_run"`
}

type maintenanceJSON struct {
	Type         string          `json:"type"` // "memory_store_maintenance"
	Store        memento.StoreID `json:"memory_store_id"`
	Name         string          `json:"name"`
	At           time.Time       `json:"at"`
	Expired      int             `json:"expired"`
	ExpiredBytes int64           `json:"expired_bytes"`
	Versions     int64           `json:"versions"`
	VersionBytes int64           `json:"version_bytes"`
	Error        *string         `json:"error"`
}

type buildJSON struct {
	Type     string `json:"type"` // "memento_build"
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// writeJSON prints one object and a newline to standard output.
func (a *app) writeJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
