package archive

import (
	"time"

	"memento"
)

// A line is one version in history.jsonl. Fields that a version lacks are null. Names are
// those of the Memory Stores API.
type line struct {
	ID         memento.VersionID `json:"id"`
	Memory     memento.MemoryID  `json:"memory_id"`
	Operation  memento.Operation `json:"operation"`
	Path       *memento.Path     `json:"path"`
	Content    *string           `json:"content"`
	SHA256     *string           `json:"content_sha256"`
	CreatedBy  *lineActor        `json:"created_by"`
	CreatedAt  time.Time         `json:"created_at"`
	RedactedBy *lineActor        `json:"redacted_by"`
	RedactedAt *time.Time        `json:"redacted_at"`

	// Key IDs of the actors: since format version 2; absent if there is none.
	CreatedKey  memento.KeyID `json:"created_by_key_id,omitempty"`
	RedactedKey memento.KeyID `json:"redacted_by_key_id,omitempty"`
}

// format returns the lowest version of the format that can represent l.
func (l *line) format() int {
	if l.CreatedKey != "" || l.RedactedKey != "" {
		return 2
	}
	return 1
}

type lineActor struct {
	Kind memento.ActorKind `json:"type"`
	ID   string            `json:"id"`
}

func newLine(v memento.Version) line {
	l := line{
		ID:        v.ID,
		Memory:    v.Memory,
		Operation: v.Operation,
		CreatedBy: newLineActor(v.CreatedBy),
		CreatedAt: v.CreatedAt,

		CreatedKey: v.CreatedBy.Key,
	}
	if v.Redacted() {
		l.RedactedBy, l.RedactedAt, l.RedactedKey = newLineActor(v.RedactedBy), &v.RedactedAt, v.RedactedBy.Key
		return l
	}
	l.Path = &v.Path
	if v.Operation != memento.Deleted {
		l.Content, l.SHA256 = &v.Content, &v.SHA256
	}
	return l
}

func newLineActor(a memento.Actor) *lineActor {
	if a.Kind == "" && a.ID == "" {
		return nil
	}
	return &lineActor{a.Kind, a.ID}
}

func (a *lineActor) actor(key memento.KeyID) memento.Actor {
	if a == nil {
		return memento.Actor{Key: key}
	}
	return memento.Actor{Kind: a.Kind, ID: a.ID, Key: key}
}

// version returns the version that l describes, or what is wrong with it. It does not
// check other lines. notAfter is the latest valid time.
func (l *line) version(notAfter time.Time) (v memento.Version, reason string) {
	v = memento.Version{
		ID:        l.ID,
		Memory:    l.Memory,
		Operation: l.Operation,
		CreatedBy: l.CreatedBy.actor(l.CreatedKey),
		CreatedAt: l.CreatedAt.UTC().Truncate(time.Microsecond),
	}
	switch {
	case !isID(string(l.ID), "memver_"):
		return v, "its id is not that of a version"
	case !isID(string(l.Memory), "mem_"):
		return v, "its memory_id is not that of a memory"
	case l.Operation != memento.Created && l.Operation != memento.Modified && l.Operation != memento.Deleted:
		return v, "its operation is unknown"
	case !plausible(l.CreatedAt, notAfter):
		return v, "its created_at is not a time in the past"
	}
	if l.RedactedAt != nil {
		if l.Path != nil || l.Content != nil || l.SHA256 != nil {
			return v, "it is redacted, but has a path or contents"
		}
		if !plausible(*l.RedactedAt, notAfter) {
			return v, "its redacted_at is not a time in the past"
		}
		v.RedactedAt = l.RedactedAt.UTC().Truncate(time.Microsecond)
		v.RedactedBy = l.RedactedBy.actor(l.RedactedKey)
		return v, ""
	}
	if l.Path == nil {
		return v, "it has no path"
	}
	p, err := memento.ParsePath(string(*l.Path))
	if err != nil {
		return v, err.Error()
	}
	v.Path = p
	if l.Operation == memento.Deleted {
		if l.Content != nil || l.SHA256 != nil {
			return v, "it is a deletion, but has contents"
		}
		return v, ""
	}
	if l.Content == nil || l.SHA256 == nil {
		return v, "it has no contents, or no hash of them"
	}
	if memento.HashContent(*l.Content) != *l.SHA256 {
		return v, "its contents do not match its hash"
	}
	v.Content, v.SHA256, v.Size = *l.Content, *l.SHA256, int64(len(*l.Content))
	return v, ""
}

// isID reports whether id has the form of a backend's ID: its prefix, then letters,
// digits, and other characters that occur in IDs of other systems.
func isID(id, prefix string) bool {
	const most = 128
	if len(id) <= len(prefix) || len(id) > most || id[:len(prefix)] != prefix {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// plausible refuses times that no version can have. A version in the far future would
// never expire, nor would its history.
func plausible(t, notAfter time.Time) bool {
	return t.Unix() >= 0 && !t.After(notAfter)
}
