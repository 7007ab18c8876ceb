package conformance

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"
)

// A client is a major of an SDK: its methods are those of the SDK's
// client.beta.memoryStores, and listings follow all pages. Parameters that are nil,
// or zero where that has no meaning, are not sent.
type client interface {
	CreateStore(ctx context.Context, p storeParams) (store, error)
	Store(ctx context.Context, id string) (store, error)
	UpdateStore(ctx context.Context, id string, p storeParams) (store, error)
	Stores(ctx context.Context, q storeQuery) ([]store, error)
	ArchiveStore(ctx context.Context, id string) (store, error)
	DeleteStore(ctx context.Context, id string) (deleted, error)

	CreateMemory(ctx context.Context, store string, p memoryParams) (memory, error)
	Memory(ctx context.Context, store, id, view string) (memory, error)
	UpdateMemory(ctx context.Context, store, id string, p memoryParams) (memory, error)
	Memories(ctx context.Context, store string, q memoryQuery) ([]item, error)
	DeleteMemory(ctx context.Context, store, id, ifSHA256 string) (deleted, error)

	Versions(ctx context.Context, store string, q versionQuery) ([]version, error)
	Version(ctx context.Context, store, id, view string) (version, error)
	Redact(ctx context.Context, store, id string) (version, error)

	// Failure is what the SDK's error says, if err is the one that it has for the
	// status.
	Failure(error) (failure, bool)

	// Sync returns the SDK's session memory sync.
	Sync(workdir string, log *slog.Logger) (memorySync, error)
}

// A memorySync is a major's SessionMemoryStores, whose methods it has.
type memorySync interface {
	Download(ctx context.Context, session string) error // the session as JSON
	SyncIfDue(context.Context)
	FlushWrites(context.Context)
	Finish(context.Context)
	Dispose()

	Wait(time.Duration) // for the SDK that much time passes, at once
}

type storeParams struct {
	Name        *string
	Description *string
	Metadata    map[string]any // string, or nil to remove the key
	Workspace   string
}

type storeQuery struct {
	From, To        time.Time
	IncludeArchived bool
	Limit           int64
}

type memoryParams struct {
	Path, Content *string
	View          string
	IfSHA256      string
}

type memoryQuery struct {
	PathPrefix string
	Depth      *int64
	Limit      int64
	View       string
}

type versionQuery struct {
	Memory, Operation, Session, APIKey, ServiceAccount string

	From, To time.Time
	Limit    int64
	View     string
}

// What follows are the typed fields of the SDK's answers. Raw is the JSON that
// they were read from, for what the types cannot tell, such as null.

type store struct {
	Raw         answer            `json:"-"`
	ID          string            `json:"id"`
	Type        string            `json:"type"`
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Metadata    map[string]string `json:"metadata"`
	CreatedAt   time.Time         `json:"created_at"`
	UpdatedAt   time.Time         `json:"updated_at"`
	ArchivedAt  time.Time         `json:"archived_at"`
}

type memory struct {
	Raw       answer    `json:"-"`
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	Store     string    `json:"memory_store_id"`
	Version   string    `json:"memory_version_id"`
	Path      string    `json:"path"`
	Content   string    `json:"content"`
	SHA256    string    `json:"content_sha256"`
	Size      int64     `json:"content_size_bytes"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// An item of a listing is a memory or a memory_prefix; Variant is the one that the
// SDK took it for, by the name of its type.
type item struct {
	memory
	Variant string
}

type version struct {
	Raw        answer    `json:"-"`
	ID         string    `json:"id"`
	Type       string    `json:"type"`
	Memory     string    `json:"memory_id"`
	Store      string    `json:"memory_store_id"`
	Operation  string    `json:"operation"`
	Path       string    `json:"path"`
	Content    string    `json:"content"`
	SHA256     string    `json:"content_sha256"`
	Size       int64     `json:"content_size_bytes"`
	CreatedBy  actor     `json:"created_by"`
	CreatedAt  time.Time `json:"created_at"`
	RedactedAt time.Time `json:"redacted_at"`
	RedactedBy actor     `json:"redacted_by"`
}

type actor struct {
	Type             string `json:"type"`
	SessionID        string `json:"session_id"`
	APIKeyID         string `json:"api_key_id"`
	UserID           string `json:"user_id"`
	ServiceAccountID string `json:"service_account_id"`
}

type deleted struct {
	Raw  answer `json:"-"`
	ID   string `json:"id"`
	Type string `json:"type"`
}

// A failure is the SDK's error for an answer that is one.
type failure struct {
	Status    int
	Type      string
	RequestID string
	Workspace string
	Raw       answer
}

// An answer is the JSON object that an SDK received.
type answer map[string]json.RawMessage

// has reports whether the members are there, be they null.
func (a answer) has(members ...string) bool {
	for _, m := range members {
		if _, ok := a[m]; !ok {
			return false
		}
	}
	return true
}

// null reports whether the members are there, and null.
func (a answer) null(members ...string) bool {
	for _, m := range members {
		if string(a[m]) != "null" {
			return false
		}
	}
	return true
}

func readAnswer(text string) (a answer, err error) {
	return a, json.Unmarshal([]byte(text), &a)
}

// read returns the typed fields of what a method of an SDK returned.
func read[T any](typed interface{ RawJSON() string }, err error, raw func(*T) *answer) (T, error) {
	var t T
	if err != nil {
		return t, err
	}
	// The structs of the SDK give their fields the names that they have in JSON.
	fields, err := json.Marshal(typed)
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal(fields, &t); err != nil {
		return t, err
	}
	*raw(&t), err = readAnswer(typed.RawJSON())
	return t, err
}

func readStore(typed interface{ RawJSON() string }, err error) (store, error) {
	return read(typed, err, func(s *store) *answer { return &s.Raw })
}

func readMemory(typed interface{ RawJSON() string }, err error) (memory, error) {
	return read(typed, err, func(m *memory) *answer { return &m.Raw })
}

func readVersion(typed interface{ RawJSON() string }, err error) (version, error) {
	return read(typed, err, func(v *version) *answer { return &v.Raw })
}

func readDeleted(typed interface{ RawJSON() string }, err error) (deleted, error) {
	return read(typed, err, func(d *deleted) *answer { return &d.Raw })
}
