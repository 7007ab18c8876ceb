package main

import (
	"encoding/json"
	"time"

	"memento"
)

// What --json writes: an object a line. Names are those of the Memory Stores
// API; fields that it does not have come last.

type storeJSON struct {
	ID          memento.StoreID   `json:"id"`
	Type        string            `json:"type"` // "memory_store"
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Metadata    map[string]string `json:"metadata"`
	CreatedAt   time.Time         `json:"created_at"`
	UpdatedAt   time.Time         `json:"updated_at"`
	ArchivedAt  *time.Time        `json:"archived_at"`

	Limits   limitsJSON       `json:"limits"`
	Usage    usageJSON        `json:"usage"`
	Settings memento.Settings `json:"settings"`
}

type limitsJSON struct {
	MemoryBytes int64 `json:"memory_bytes"`
	Memories    int64 `json:"memories"`
	Bytes       int64 `json:"bytes"`
	PathBytes   int64 `json:"path_bytes"`
	PathDepth   int64 `json:"path_depth"`
}

type usageJSON struct {
	Memories int64 `json:"memories"`
	Bytes    int64 `json:"bytes"`
}

func wireStore(s memento.StoreInfo) storeJSON {
	return storeJSON{
		ID: s.ID, Type: "memory_store", Name: s.Name, Description: s.Description, Metadata: s.Metadata,
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, ArchivedAt: orNull(s.ArchivedAt),
		Limits: limitsJSON(s.Limits), Usage: usageJSON(s.Usage), Settings: s.Settings,
	}
}

type storeDeletedJSON struct {
	ID   memento.StoreID `json:"id"`
	Type string          `json:"type"` // "memory_store_deleted"
}

type memoryJSON struct {
	ID        memento.MemoryID  `json:"id"`
	Type      string            `json:"type"` // "memory"
	Store     memento.StoreID   `json:"memory_store_id"`
	Version   memento.VersionID `json:"memory_version_id"`
	Path      memento.Path      `json:"path"`
	Content   *string           `json:"content"`
	SHA256    string            `json:"content_sha256"`
	Size      int64             `json:"content_size_bytes"`
	CreatedAt time.Time         `json:"created_at"`
	UpdatedAt time.Time         `json:"updated_at"`
}

// wireMemory describes a memory, with its contents or without.
func wireMemory(store memento.StoreID, m memento.Memory, contents bool) memoryJSON {
	j := memoryJSON{
		ID: m.ID, Type: "memory", Store: store, Version: m.Version, Path: m.Path,
		SHA256: m.SHA256, Size: m.Size, CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt,
	}
	if contents {
		j.Content = &m.Content
	}
	return j
}

// A prefixJSON is a directory; its path ends in a slash.
type prefixJSON struct {
	Type string `json:"type"` // "memory_prefix"
	Path string `json:"path"`

	Memories  int64     `json:"memories"`
	Size      int64     `json:"content_size_bytes"`
	UpdatedAt time.Time `json:"updated_at"`
}

// A foreignJSON is something among memories that is none.
type foreignJSON struct {
	Type      string       `json:"type"` // "foreign_file"
	Path      memento.Path `json:"path"`
	Size      int64        `json:"size_bytes"`
	UpdatedAt time.Time    `json:"updated_at"`
}

type versionJSON struct {
	ID         memento.VersionID `json:"id"`
	Type       string            `json:"type"` // "memory_version"
	Memory     memento.MemoryID  `json:"memory_id"`
	Store      memento.StoreID   `json:"memory_store_id"`
	Operation  memento.Operation `json:"operation"`
	Path       *memento.Path     `json:"path"`
	Content    *string           `json:"content"`
	SHA256     *string           `json:"content_sha256"`
	Size       *int64            `json:"content_size_bytes"`
	CreatedBy  *actorJSON        `json:"created_by"`
	CreatedAt  time.Time         `json:"created_at"`
	RedactedAt *time.Time        `json:"redacted_at"`
	RedactedBy *actorJSON        `json:"redacted_by"`
}

// wireVersion describes a version, with its contents or without.
func wireVersion(store memento.StoreID, v memento.Version, contents bool) versionJSON {
	j := versionJSON{
		ID: v.ID, Type: "memory_version", Memory: v.Memory, Store: store, Operation: v.Operation,
		CreatedBy: wireActor(v.CreatedBy), CreatedAt: v.CreatedAt,
		RedactedAt: orNull(v.RedactedAt), RedactedBy: wireActor(v.RedactedBy),
	}
	if v.Redacted() {
		return j
	}
	j.Path = &v.Path
	if v.Operation != memento.Deleted {
		j.SHA256, j.Size = &v.SHA256, &v.Size
		if contents {
			j.Content = &v.Content
		}
	}
	return j
}

// An actorJSON has the one ID that its type names.
type actorJSON struct {
	Type           string `json:"type"`
	Session        string `json:"session_id,omitempty"`
	APIKey         string `json:"api_key_id,omitempty"`
	User           string `json:"user_id,omitempty"`
	ServiceAccount string `json:"service_account_id,omitempty"`
}

func wireActor(a memento.Actor) *actorJSON {
	switch a.Kind {
	case "":
		return nil
	case memento.ActorSession:
		return &actorJSON{Type: "session_actor", Session: a.ID}
	case memento.ActorAPIKey:
		return &actorJSON{Type: "api_actor", APIKey: a.ID}
	case memento.ActorUser:
		return &actorJSON{Type: "user_actor", User: a.ID}
	case memento.ActorServiceAccount:
		return &actorJSON{Type: "service_account_actor", ServiceAccount: a.ID}
	}
	return &actorJSON{Type: string(a.Kind) + "_actor"}
}

type matchJSON struct {
	Type    string           `json:"type"` // "memory_match"
	ID      memento.MemoryID `json:"memory_id"`
	Path    memento.Path     `json:"path"`
	Line    *int             `json:"line"` // null if only the path matches
	Snippet string           `json:"snippet"`
}

func wireMatch(m memento.Match) matchJSON {
	j := matchJSON{Type: "memory_match", ID: m.Memory.ID, Path: m.Memory.Path, Snippet: m.Snippet}
	if m.Line > 0 {
		j.Line = &m.Line
	}
	return j
}

type diffJSON struct {
	Type string             `json:"type"` // "memory_diff"
	From *memento.VersionID `json:"from_version_id"`
	To   memento.VersionID  `json:"to_version_id"`
	Diff string             `json:"diff"` // "" if they do not differ
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

	Redacted map[string]int `json:"redacted,omitempty"` // by kind
}

type skippedJSON struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

type statsJSON struct {
	Type     string       `json:"type"` // "memory_store_stats"
	Store    storeJSON    `json:"memory_store"`
	Versions int          `json:"versions"`
	Redacted int          `json:"redacted_versions"`
	Largest  []memoryJSON `json:"largest_memories"`

	VersionBytes int64           `json:"version_bytes"` // contents of all versions
	Near         []memento.Limit `json:"near_limits"`   // of which more than 80 % are used
}

// An exposureJSON is a version with sensitive information, without any of it.
type exposureJSON struct {
	Type      string            `json:"type"` // "memory_exposure"
	Version   memento.VersionID `json:"memory_version_id"`
	Memory    memento.MemoryID  `json:"memory_id"`
	Store     memento.StoreID   `json:"memory_store_id"`
	Path      *memento.Path     `json:"path"` // null if it looks sensitive itself
	Current   bool              `json:"current"`
	CreatedAt time.Time         `json:"created_at"`
	CreatedBy *actorJSON        `json:"created_by"`
	Findings  []findingJSON     `json:"findings"`

	Fixed   *bool  `json:"fixed,omitempty"` // only if that was tried
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
		CreatedAt: x.Version.CreatedAt, CreatedBy: wireActor(x.Version.CreatedBy),
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

type upkeepJSON struct {
	Type         string          `json:"type"` // "memory_store_upkeep"
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

func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// writeJSON writes one object, and a newline, to standard output.
func (a *app) writeJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
