package memento

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"time"
	"unicode"

	"memento/internal/ids"
	"memento/internal/textfield"
)

// A Workspace owns stores. Nothing in one workspace can see another. Programs
// without tenants use [DefaultWorkspace].
type Workspace string

// DefaultWorkspace is the workspace of the command line and of programs that need only one.
const DefaultWorkspace Workspace = "default"

const maxWorkspaceBytes = 64

// Check returns ErrInvalid unless ws can name a workspace: 1 to 64 letters, digits,
// hyphens, dots and underscores of ASCII.
func (ws Workspace) Check() error {
	ok := ws != "" && len(ws) <= maxWorkspaceBytes
	for _, r := range ws {
		ok = ok && r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' || r == '.')
	}
	if !ok {
		return fmt.Errorf("%w: a workspace name has 1 to %d letters, digits, hyphens, dots and underscores", ErrInvalid, maxWorkspaceBytes)
	}
	return nil
}

// IDs are opaque, unique and never used again: a prefix, then time and
// chance in 26 lower-case letters and digits, so that they sort by the time they were
// made.
type (
	StoreID   string // "memstore_…", unique in a backend
	MemoryID  string // "mem_…", unique in a store; survives renames
	VersionID string // "memver_…", unique in a store
	KeyID     string // "apikey_…", unique in a backend; of an API key, and no secret
)

// A Memory is one small text file in a store, as of its newest version.
type Memory struct {
	ID      MemoryID
	Path    Path
	Content string    // valid UTF-8, exactly as written; empty where a method says that it returns no contents
	SHA256  string    // of the content's bytes, 64 lower-case hexadecimal digits
	Size    int64     // of the content, in bytes; of what was sealed, before that
	Version VersionID // the newest version

	// Digest represents the hash of the plaintext of sealed contents, and is "" for
	// others; see Sealer. Backends store it with the memory and with its versions.
	// Content and SHA256 are then those of the sealed text.
	Digest string

	CreatedAt time.Time // UTC, like every time in this package
	UpdatedAt time.Time // when Version was made
	ReadAt    time.Time // when last read, coarse; zero if never, or if the backend is no [ReadMarker]
}

// HashContent returns the SHA-256 of content as [Memory] carries it.
func HashContent(content string) string {
	// By parts, because converting a string to bytes copies it.
	var part [1024]byte
	h := sha256.New()
	for len(content) > 0 {
		n := copy(part[:], content)
		h.Write(part[:n])
		content = content[n:]
	}
	var sum [sha256.Size]byte
	return hex.EncodeToString(h.Sum(sum[:0]))
}

// An Operation says what a version did to its memory.
type Operation string

// The operations, by their names in the Memory Stores API. A rename is Modified.
const (
	Created  Operation = "created"
	Modified Operation = "modified"
	Deleted  Operation = "deleted"
)

// A Version is one entry of a store's history: what one change made of one
// memory. Versions are immutable, except that [Backend.Redact] can empty them.
type Version struct {
	ID        VersionID
	Memory    MemoryID
	Operation Operation
	Path      Path   // after the change; of a deletion, where the memory was; "" once redacted
	Content   string // as in Memory; "" for a deletion and once redacted
	SHA256    string // "" for a deletion and once redacted
	Size      int64  // as in Memory; 0 for a deletion and once redacted
	Digest    string // as in Memory; "" for a deletion and once redacted
	CreatedBy Actor
	CreatedAt time.Time

	// Seq orders the versions of a store: a later change has a larger one.
	// It starts at 1 and may have gaps.
	Seq int64

	RedactedAt time.Time // zero unless redacted
	RedactedBy Actor
}

// Redacted reports whether the version's path and content have been removed.
func (v *Version) Redacted() bool { return !v.RedactedAt.IsZero() }

// An Actor made a change. The zero Actor is unknown.
type Actor struct {
	Kind ActorKind
	ID   string // for example "sesn_…", "apikey_…", or a user's name

	// Key is the API key with which the change was sent to a server on the actor's
	// behalf; "" if the actor is that key itself, if there was none, and in versions
	// made before servers recorded it.
	Key KeyID `json:",omitempty"`
}

// Used reports whether a change by a came with a key: as the key's own change, or
// on somebody's behalf.
func (a Actor) Used(key KeyID) bool {
	return key != "" && (a.Key == key || a.Kind == ActorAPIKey && a.ID == string(key))
}

// String returns kind and ID, as in "session sesn_01…".
func (a Actor) String() string {
	if a.ID == "" {
		return string(a.Kind)
	}
	return string(a.Kind) + " " + a.ID
}

// MaxSessionIDBytes is the longest ID of a session, in bytes.
const MaxSessionIDBytes = 256

// CheckSessionID returns ErrInvalid for a text that no new change can have as the ID of
// its session. It is shown on a line with other texts, so it must not be empty, longer
// than [MaxSessionIDBytes], or have characters that end a line or turn the direction of
// what follows.
func CheckSessionID(id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%w: the ID of a session is empty", ErrInvalid)
	case len(id) > MaxSessionIDBytes:
		return fmt.Errorf("%w: the ID of a session has %d bytes; at most %d are allowed", ErrInvalid, len(id), MaxSessionIDBytes)
	}
	return invalidField("ID of a session", textfield.LineFault(id, MaxSessionIDBytes))
}

// check refuses sessions that CheckSessionID refuses. Other actors come from programs
// that have named them already.
func (a Actor) check() error {
	if a.Kind != ActorSession || a.ID == "" {
		return nil
	}
	return CheckSessionID(a.ID)
}

// An ActorKind is a kind of [Actor].
type ActorKind string

// The kinds of actors.
const (
	ActorSession        ActorKind = "session"         // an agent at work
	ActorAPIKey         ActorKind = "api_key"         // a program with a key
	ActorUser           ActorKind = "user"            // a person
	ActorServiceAccount ActorKind = "service_account" // a program with an identity of its own
	ActorSystem         ActorKind = "system"          // memento itself, for example expiry
)

// Known reports whether k is one of these. Histories may have others: earlier
// versions let admins of a server record any.
func (k ActorKind) Known() bool {
	switch k {
	case ActorSession, ActorAPIKey, ActorUser, ActorServiceAccount, ActorSystem:
		return true
	}
	return false
}

// StoreInfo describes a store.
type StoreInfo struct {
	ID          StoreID
	Workspace   Workspace
	Name        string            // see StoreSpec
	Description string            // see StoreSpec
	Metadata    map[string]string // see StoreSpec; never nil
	Limits      Limits            // complete: no field is zero
	Settings    Settings
	Envelope    string // see StoreSpec
	Usage       Usage
	CreatedAt   time.Time
	UpdatedAt   time.Time // of this description; changes to memories do not move it
	ArchivedAt  time.Time // zero unless archived
}

// Clone returns a description that shares nothing with s.
func (s StoreInfo) Clone() StoreInfo {
	s.Metadata = maps.Clone(s.Metadata)
	s.Settings = s.Settings.Clone()
	return s
}

// Archived reports whether the store refuses new contents.
func (s *StoreInfo) Archived() bool { return !s.ArchivedAt.IsZero() }

// Usage is the present size of a store. History does not count.
type Usage struct {
	Memories int64 // number of memories
	Bytes    int64 // sum of their contents
}

// A StoreSpec describes a store to be made.
type StoreSpec struct {
	Name        string            // 1 to 255 characters, no control characters
	Description string            // at most 1,024 characters; agents see it
	Metadata    map[string]string // at most 16 pairs; keys 1 to 64 characters, values at most 512
	Limits      Limits            // zero fields mean the defaults
	Settings    *Settings         // nil means DefaultSettings

	// Envelope is what a wrapper keeps with the store, such as the store's wrapped
	// key: at most 64 KiB. Backends look at none, and front ends show none.
	Envelope string

	// ID and CreatedAt are those of the store that this one is a copy of; zero for
	// new ones.
	ID        StoreID
	CreatedAt time.Time

	// UniqueName refuses, with ErrExist, a name that a store of the workspace
	// has already, unless that one is archived. Without it names may repeat.
	UniqueName bool
}

// A StoreUpdate changes a store's description. Fields left nil stay as they are.
type StoreUpdate struct {
	Name        *string
	Description *string
	Metadata    map[string]*string // a patch: nil values remove their key, absent keys stay
	Limits      *Limits            // replaces all limits; zero fields mean the defaults
	Settings    *Settings          // replaces all settings
	Archive     bool               // archives the store; repeating it changes nothing
	// Unarchive takes an archived store into use again. The other fields of the update
	// then apply to it as to any store. Another store may have its name by now.
	Unarchive bool

	// Envelope replaces the envelope, also of an archived store, and does not move
	// UpdatedAt. IfEnvelope refuses the update, with ErrConflict, unless this is the
	// envelope until then.
	Envelope   *string
	IfEnvelope *string

	// IfUpdatedAt refuses the update, with ErrConflict, unless this is the
	// store's UpdatedAt, or zero.
	IfUpdatedAt time.Time
}

// Applied is what an Apply did, and how the store stands after it.
type Applied struct {
	Versions []Version // made, in order, without contents: one for each memory that a change really changed
	Usage    Usage
	Limits   Limits
	Settings Settings

	// Masked are the secrets that the backend has masked, as a server does. It is nil
	// for other backends, since masking is the task of the Store.
	Masked []FindingLocation

	// Marked are instructions that the backend has found, in the same way.
	Marked []FindingLocation
}

// An Entry is one item of a listing: a memory, or a directory whose contents
// are summed up.
type Entry struct {
	// Path of the memory or directory.
	Path Path
	// Dir reports whether the entry is a directory. Then Memory is zero.
	Dir bool
	// Foreign reports whether the entry is another kind of file among the memories,
	// which is not touched: see ErrForeign. Then Memory has its path, size
	// and times only.
	Foreign bool
	// Memory, with contents only if the listing asked for them.
	Memory Memory
	// Usage is what lies below a directory; of a memory, 1 and its size.
	Usage Usage
	// UpdatedAt is when the memory, or the newest memory below the directory, last changed.
	UpdatedAt time.Time
}

// SeqHint returns the Seq with which the version was made, or 0 if the ID does
// not contain it: a hint where a backend finds the version without an index of IDs. A
// version that was imported has another Seq, so the hint must be verified.
func (id VersionID) SeqHint() int64 { return ids.Seq(string(id)) }

// IsLocal reports whether a version was made in its store. The time of an imported version
// is that of another clock, and says nothing about the versions before and after it.
func (v *Version) IsLocal() bool { return v.ID.SeqHint() == v.Seq }

// A DamageError says that stored contents are not those that were written. They are not
// returned. It is [ErrDamaged].
type DamageError struct {
	Memory  MemoryID
	Version VersionID // whose contents are damaged

	// Whole is the newest version of the memory whose contents can still be read; ""
	// if there is none, or if it was not searched for. See [LastWhole].
	Whole VersionID
}

func (e *DamageError) Error() string {
	text := fmt.Sprintf("memory %s %v: the contents of version %s do not match their hash", e.Memory, ErrDamaged, e.Version)
	if e.Whole != "" {
		text += fmt.Sprintf("; the newest undamaged version is %s", e.Whole)
	}
	return text
}

func (e *DamageError) Unwrap() error { return ErrDamaged }

// CheckContent checks contents that a backend has read from its medium, or received,
// against their stored hash and size. The size of sealed contents is not checked, since
// the stored size is that of the plaintext.
//
// Errors: a DamageError, in an Error with the memory's path.
func (m *Memory) CheckContent(op string) error {
	if isWhole(m.Content, m.SHA256, m.Digest, m.Size) {
		return nil
	}
	return &Error{Op: op, Path: m.Path, Err: &DamageError{Memory: m.ID, Version: m.Version}}
}

// CheckContent is [Memory.CheckContent] for a version. A deletion, and a version that
// was redacted, must have neither contents nor a hash.
func (v *Version) CheckContent(op string) error {
	if v.Redacted() || v.Operation == Deleted {
		if v.Content == "" && v.SHA256 == "" && v.Size == 0 {
			return nil
		}
	} else if isWhole(v.Content, v.SHA256, v.Digest, v.Size) {
		return nil
	}
	return &Error{Op: op, Path: v.Path, Err: &DamageError{Memory: v.Memory, Version: v.ID}}
}

func isWhole(content, hash, digest string, size int64) bool {
	return (digest != "" || int64(len(content)) == size) && HashContent(content) == hash
}

// maxWholeTried bounds how many versions [LastWhole] reads: most histories are shorter,
// and a medium with so many damaged versions needs another repair.
const maxWholeTried = 256

// LastWhole returns the newest version of a memory whose contents can still be read,
// as far as it is among the memory's newest 256; "" if there is none.
//
// Errors: those of [History], except ErrDamaged and ErrDecrypt of a version that it
// looks at.
func LastWhole(ctx context.Context, b History, store StoreID, memory MemoryID) (VersionID, error) {
	var candidates []VersionID
	for v, err := range b.ListVersions(ctx, store, VersionListOptions{Memory: memory, Limit: maxWholeTried}) {
		if err != nil {
			return "", err
		}
		if !v.Redacted() && v.Operation != Deleted {
			candidates = append(candidates, v.ID)
		}
	}
	for _, id := range candidates {
		switch v, err := b.GetVersion(ctx, store, id); {
		case err == nil && !v.Redacted():
			return id, nil
		case err == nil, errors.Is(err, ErrDamaged), errors.Is(err, ErrDecrypt), errors.Is(err, ErrNotExist):
		default:
			return "", err
		}
	}
	return "", nil
}

// Stat returns a memory without its contents, also if they are damaged. It does not count
// as use.
//
// Errors: ErrInvalidPath, ErrNotExist, ErrIsDir.
func (s *Store) Stat(ctx context.Context, ref Ref) (Memory, error) {
	m, err := s.Peek(ctx, ref)
	m.Content = ""
	var at *Error
	if !errors.Is(err, ErrDamaged) || !errors.As(err, &at) || at.Path == "" {
		return m, err
	}
	for e, listErr := range s.List(ctx, ListOptions{Dir: at.Path.Parent(), Depth: 1}) {
		switch {
		case listErr != nil:
			return Memory{}, listErr
		case e.Path == at.Path && !e.Dir:
			return e.Memory, nil
		}
	}
	return Memory{}, err
}

// completeDamage adds the newest intact version to a DamageError.
func (s *Store) completeDamage(ctx context.Context, err error) error {
	var d *DamageError
	id := s.id.Load()
	if err == nil || id == nil || !errors.As(err, &d) || d.Memory == "" || d.Whole != "" {
		return err
	}
	whole, lookErr := LastWhole(ctx, s.backend, *id, d.Memory)
	if lookErr != nil || whole == "" {
		return err
	}
	complete := &DamageError{Memory: d.Memory, Version: d.Version, Whole: whole}
	var at *Error
	if errors.As(err, &at) {
		return &Error{Op: at.Op, Path: at.Path, Err: complete}
	}
	return complete
}
