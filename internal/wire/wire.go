// Package wire has the JSON of the Memory Stores API, and of what memento adds to
// it, in both directions: servers, clients and the command line write and read the
// same shapes. Fields that the API does not have come last.
package wire

import (
	"fmt"
	"time"

	"memento"
)

// Store is the JSON of a memento.StoreInfo.
type Store struct {
	ID          memento.StoreID   `json:"id"`
	Type        string            `json:"type"` // "memory_store"
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Metadata    map[string]string `json:"metadata"`
	CreatedAt   time.Time         `json:"created_at"`
	UpdatedAt   time.Time         `json:"updated_at"`
	ArchivedAt  *time.Time        `json:"archived_at"`

	Limits   Limits           `json:"limits"`
	Usage    Usage            `json:"usage"`
	Settings memento.Settings `json:"settings"`
}

// Limits are the limits of a store.
type Limits struct {
	MemoryBytes int64 `json:"memory_bytes"`
	Memories    int64 `json:"memories"`
	Bytes       int64 `json:"bytes"`
	PathBytes   int64 `json:"path_bytes"`
	PathDepth   int64 `json:"path_depth"`
}

// Usage is the number and the total size of a store's memories.
type Usage struct {
	Memories int64 `json:"memories"`
	Bytes    int64 `json:"bytes"`
}

// FromStore converts a store.
func FromStore(s memento.StoreInfo) Store {
	return Store{
		ID: s.ID, Type: "memory_store", Name: s.Name, Description: s.Description, Metadata: s.Metadata,
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, ArchivedAt: OrNull(s.ArchivedAt),
		Limits: Limits(s.Limits), Usage: Usage(s.Usage), Settings: s.Settings,
	}
}

// Info is the reverse of [FromStore].
func (s *Store) Info(ws memento.Workspace) memento.StoreInfo {
	info := memento.StoreInfo{
		ID: s.ID, Workspace: ws, Name: s.Name, Description: s.Description, Metadata: s.Metadata,
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, ArchivedAt: orZero(s.ArchivedAt),
		Limits: memento.Limits(s.Limits), Usage: memento.Usage(s.Usage), Settings: s.Settings,
	}
	if info.Metadata == nil {
		info.Metadata = map[string]string{}
	}
	return info
}

// Deleted confirms the deletion of a store or a memory.
type Deleted struct {
	ID   string `json:"id"`
	Type string `json:"type"` // "memory_store_deleted" or "memory_deleted"
}

// Memory is the JSON of a memento.Memory, with or without its contents.
type Memory struct {
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

	ReadAt *time.Time `json:"read_at"`
}

// FromMemory converts a memory, with its contents if contents is true.
func FromMemory(store memento.StoreID, m memento.Memory, contents bool) Memory {
	w := Memory{
		ID: m.ID, Type: "memory", Store: store, Version: m.Version, Path: m.Path,
		SHA256: m.SHA256, Size: m.Size, CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt, ReadAt: OrNull(m.ReadAt),
	}
	if contents {
		w.Content = &m.Content
	}
	return w
}

// Memory is the reverse of [FromMemory].
func (m *Memory) Memory() memento.Memory {
	return memento.Memory{
		ID: m.ID, Path: m.Path, Content: orEmpty(m.Content), SHA256: m.SHA256, Size: m.Size, Version: m.Version,
		CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt, ReadAt: orZero(m.ReadAt),
	}
}

// Prefix is a directory in a listing. Its path ends in a slash.
type Prefix struct {
	Type string `json:"type"` // "memory_prefix"
	Path string `json:"path"`
}

// Directory is a [Prefix] with the number and total size of the memories below it.
type Directory struct {
	Prefix
	Memories  int64     `json:"memories"`
	Size      int64     `json:"content_size_bytes"`
	UpdatedAt time.Time `json:"updated_at"`
}

// FromDirectory converts an entry that is a directory.
func FromDirectory(e memento.Entry) Directory {
	return Directory{Prefix{"memory_prefix", e.Path.Prefix()}, e.Usage.Memories, e.Usage.Bytes, e.UpdatedAt}
}

// Foreign is a file among the memories that is not a memory.
type Foreign struct {
	Type      string       `json:"type"` // "foreign_file"
	Path      memento.Path `json:"path"`
	Size      int64        `json:"size_bytes"`
	UpdatedAt time.Time    `json:"updated_at"`
}

// FromForeign converts an entry that is not a memory.
func FromForeign(e memento.Entry) Foreign {
	return Foreign{"foreign_file", e.Path, e.Memory.Size, e.UpdatedAt}
}

// Version is the JSON of a memento.Version, with or without its contents.
type Version struct {
	ID         memento.VersionID `json:"id"`
	Type       string            `json:"type"` // "memory_version"
	Memory     memento.MemoryID  `json:"memory_id"`
	Store      memento.StoreID   `json:"memory_store_id"`
	Operation  memento.Operation `json:"operation"`
	Path       *memento.Path     `json:"path"`
	Content    *string           `json:"content"`
	SHA256     *string           `json:"content_sha256"`
	Size       *int64            `json:"content_size_bytes"`
	CreatedBy  *Actor            `json:"created_by"`
	CreatedAt  time.Time         `json:"created_at"`
	RedactedAt *time.Time        `json:"redacted_at"`
	RedactedBy *Actor            `json:"redacted_by"`

	Sequence    int64         `json:"sequence"`
	CreatedKey  memento.KeyID `json:"created_by_key_id,omitempty"` // from memento.Actor, as is RedactedKey
	RedactedKey memento.KeyID `json:"redacted_by_key_id,omitempty"`

	// RenamedFrom is the path before the version, if it changed the path. FromVersion does
	// not know it: see history.RenamedFrom.
	RenamedFrom memento.Path `json:"renamed_from,omitempty"`

	// Marked is what in the version addresses the model, if the store's settings look for
	// it. FromVersion does not know it: see memento.Store.Instructions.
	Marked []FindingLocation `json:"marked,omitempty"`
}

// FromVersion converts a version, with its contents if contents is true.
func FromVersion(store memento.StoreID, v memento.Version, contents bool) Version {
	w := Version{
		ID: v.ID, Type: "memory_version", Memory: v.Memory, Store: store, Operation: v.Operation,
		CreatedBy: FromActor(v.CreatedBy), CreatedAt: v.CreatedAt,
		RedactedAt: OrNull(v.RedactedAt), RedactedBy: FromActor(v.RedactedBy), Sequence: v.Seq,
		CreatedKey: v.CreatedBy.Key, RedactedKey: v.RedactedBy.Key,
	}
	if v.Redacted() {
		return w
	}
	w.Path = &v.Path
	if v.Operation != memento.Deleted {
		w.SHA256, w.Size = &v.SHA256, &v.Size
		if contents {
			w.Content = &v.Content
		}
	}
	return w
}

// Version is the reverse of [FromVersion].
func (v *Version) Version() memento.Version {
	m := memento.Version{
		ID: v.ID, Memory: v.Memory, Operation: v.Operation, Content: orEmpty(v.Content), SHA256: orEmpty(v.SHA256),
		CreatedBy: v.CreatedBy.Actor(), CreatedAt: v.CreatedAt, Seq: v.Sequence,
		RedactedAt: orZero(v.RedactedAt), RedactedBy: v.RedactedBy.Actor(),
	}
	m.CreatedBy.Key, m.RedactedBy.Key = v.CreatedKey, v.RedactedKey
	if v.Path != nil {
		m.Path = *v.Path
	}
	if v.Size != nil {
		m.Size = *v.Size
	}
	return m
}

// Actor is the JSON of a memento.Actor. Only the ID field for its type is set.
type Actor struct {
	Type           string `json:"type"`
	Session        string `json:"session_id,omitempty"`
	APIKey         string `json:"api_key_id,omitempty"`
	User           string `json:"user_id,omitempty"`
	ServiceAccount string `json:"service_account_id,omitempty"`

	System string `json:"system_id,omitempty"`
	Other  string `json:"id,omitempty"` // for a type that the API does not have
}

const actorSuffix = "_actor"

// FromActor converts an actor without its key. It returns nil for an unknown actor.
func FromActor(a memento.Actor) *Actor {
	switch a.Kind {
	case memento.ActorSession:
		return &Actor{Type: "session_actor", Session: a.ID}
	case memento.ActorAPIKey:
		return &Actor{Type: "api_actor", APIKey: a.ID}
	case memento.ActorUser:
		return &Actor{Type: "user_actor", User: a.ID}
	case memento.ActorServiceAccount:
		return &Actor{Type: "service_account_actor", ServiceAccount: a.ID}
	case memento.ActorSystem:
		return &Actor{Type: "system_actor", System: a.ID}
	case "":
		if a.ID == "" {
			return nil
		}
	}
	return &Actor{Type: string(a.Kind) + actorSuffix, Other: a.ID}
}

// Actor is the reverse of [FromActor].
func (a *Actor) Actor() memento.Actor {
	if a == nil {
		return memento.Actor{}
	}
	switch a.Type {
	case "session_actor":
		return memento.Actor{Kind: memento.ActorSession, ID: a.Session}
	case "api_actor":
		return memento.Actor{Kind: memento.ActorAPIKey, ID: a.APIKey}
	case "user_actor":
		return memento.Actor{Kind: memento.ActorUser, ID: a.User}
	case "service_account_actor":
		return memento.Actor{Kind: memento.ActorServiceAccount, ID: a.ServiceAccount}
	case "system_actor":
		return memento.Actor{Kind: memento.ActorSystem, ID: a.System}
	}
	kind := a.Type
	if n := len(kind) - len(actorSuffix); n >= 0 && kind[n:] == actorSuffix {
		kind = kind[:n]
	}
	return memento.Actor{Kind: memento.ActorKind(kind), ID: a.Other}
}

// Match is a search result.
type Match struct {
	Type    string           `json:"type"` // "memory_match"
	ID      memento.MemoryID `json:"memory_id"`
	Store   memento.StoreID  `json:"memory_store_id"`
	Path    memento.Path     `json:"path"`
	Line    *int             `json:"line"` // null if only the path matches
	Snippet string           `json:"snippet"`

	Passage *Passage `json:"passage"` // null if only the path matches
	Words   []string `json:"words"`
	Score   float64  `json:"score"`

	Memory *Memory `json:"memory,omitempty"` // without contents; only in responses of servers
}

// Passage is the JSON of a [memento.Passage].
type Passage struct {
	First int    `json:"first_line"`
	Last  int    `json:"last_line"`
	Text  string `json:"text"`
}

// FromMatch converts a search result.
func FromMatch(store memento.StoreID, m memento.Match) Match {
	w := Match{Type: "memory_match", ID: m.Memory.ID, Store: store, Path: m.Memory.Path, Snippet: m.Snippet, Words: m.Words, Score: m.Score}
	if m.Line > 0 {
		w.Line = &m.Line
	}
	if m.Passage.First > 0 {
		w.Passage = &Passage{m.Passage.First, m.Passage.Last, m.Passage.Text}
	}
	if w.Words == nil {
		w.Words = []string{}
	}
	return w
}

// Match is the reverse of [FromMatch]. Of a server that knows no passages, the line that
// matches is the passage.
func (m *Match) Match() memento.Match {
	found := memento.Match{Memory: memento.Memory{ID: m.ID, Path: m.Path}, Snippet: m.Snippet, Score: m.Score}
	if len(m.Words) > 0 {
		found.Words = m.Words
	}
	if m.Memory != nil {
		found.Memory = m.Memory.Memory()
	}
	if m.Line != nil {
		found.Line = *m.Line
		found.Passage = memento.Passage{First: *m.Line, Last: *m.Line, Text: m.Snippet}
	}
	if m.Passage != nil {
		found.Passage = memento.Passage{First: m.Passage.First, Last: m.Passage.Last, Text: m.Passage.Text}
	}
	return found
}

// Change is the JSON of a memento.Change.
type Change struct {
	Type    string            `json:"type"` // "put", "remove" or "move"
	Path    memento.Path      `json:"path,omitempty"`
	From    memento.Path      `json:"from,omitempty"` // only for a move: the old path; Path is the new one
	Content *string           `json:"content,omitempty"`
	If      memento.Condition `json:"if,omitzero"`
}

// FromChange converts a change.
func FromChange(c memento.Change) Change {
	switch c := c.(type) {
	case memento.Put:
		return Change{Type: "put", Path: c.Path, Content: &c.Content, If: c.If}
	case memento.Remove:
		return Change{Type: "remove", Path: c.Path, If: c.If}
	case memento.Move:
		return Change{Type: "move", From: c.From, Path: c.To, Content: c.Content, If: c.If}
	}
	return Change{Type: fmt.Sprintf("%T", c)}
}

// Change is the reverse of [FromChange]. Errors: ErrInvalid.
func (c *Change) Change() (memento.Change, error) {
	switch {
	case c.Type == "put" && c.Content != nil:
		return memento.Put{Path: c.Path, Content: *c.Content, If: c.If}, nil
	case c.Type == "put":
		return nil, fmt.Errorf("%w: a put needs content", memento.ErrInvalid)
	case c.Type == "remove":
		return memento.Remove{Path: c.Path, If: c.If}, nil
	case c.Type == "move":
		return memento.Move{From: c.From, To: c.Path, Content: c.Content, If: c.If}, nil
	}
	return nil, fmt.Errorf(`%w: the type of a change can be "put", "remove" or "move"`, memento.ErrInvalid)
}

// Applied is the result of applying changes.
type Applied struct {
	Type     string            `json:"type"` // "memory_changes"
	Versions []Version         `json:"versions"`
	Usage    Usage             `json:"usage"`
	Limits   Limits            `json:"limits"`
	Settings memento.Settings  `json:"settings"`
	Masked   []FindingLocation `json:"masked"`           // the secrets and personal data that were masked
	Marked   []FindingLocation `json:"marked,omitempty"` // text that addresses the model
}

// Applied converts the JSON of a server to a memento.Applied.
func (a *Applied) Applied() memento.Applied {
	done := memento.Applied{Usage: memento.Usage(a.Usage), Limits: memento.Limits(a.Limits), Settings: a.Settings}
	for i := range a.Versions {
		done.Versions = append(done.Versions, a.Versions[i].Version())
	}
	if len(a.Masked) > 0 {
		done.Masked = ToFindings(a.Masked)
	}
	if len(a.Marked) > 0 {
		done.Marked = ToFindings(a.Marked)
	}
	return done
}

// FindingLocation says where a secret or personal data was found, without its text.
type FindingLocation struct {
	Path memento.Path `json:"path,omitempty"`
	Kind string       `json:"kind"`
	Line *int         `json:"line"` // from 1; null if it is in the path
}

// FromFindings converts the locations of findings.
func FromFindings(found []memento.FindingLocation) []FindingLocation {
	list := make([]FindingLocation, len(found))
	for i, f := range found {
		list[i] = FindingLocation{Path: f.Path, Kind: f.Kind}
		if f.Line > 0 {
			list[i].Line = &f.Line
		}
	}
	return list
}

// ToFindings is the reverse of [FromFindings].
func ToFindings(list []FindingLocation) []memento.FindingLocation {
	found := make([]memento.FindingLocation, len(list))
	for i, f := range list {
		found[i] = memento.FindingLocation{Path: f.Path, Kind: f.Kind}
		if f.Line != nil {
			found[i].Line = *f.Line
		}
	}
	return found
}

// OrNull returns a pointer to t; nil if t is zero.
func OrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
