package wire

import (
	"errors"

	"memento"
)

// Error is the error object of an error response.
type Error struct {
	Type    string `json:"type"`
	Message string `json:"message"`

	// If a path is occupied: the memory that has it, and its path.
	ConflictingMemoryID memento.MemoryID `json:"conflicting_memory_id,omitempty"`
	ConflictingPath     memento.Path     `json:"conflicting_path,omitempty"`

	Code     string            `json:"code,omitempty"` // see [Code]
	Op       string            `json:"op,omitempty"`   // the method that failed, as in memento.Error
	Path     memento.Path      `json:"path,omitempty"` // the path at fault
	Reason   string            `json:"reason,omitempty"`
	Limit    *Limit            `json:"limit,omitempty"`    // if Code is too_large
	Findings []FindingLocation `json:"findings,omitempty"` // if Code is sensitive
	Damage   *Damage           `json:"damage,omitempty"`   // if Code is damaged
}

// Damage names the damaged version of a memory, and the newest intact one.
type Damage struct {
	Memory  memento.MemoryID  `json:"memory_id"`
	Version memento.VersionID `json:"memory_version_id"`
	Whole   memento.VersionID `json:"whole_memory_version_id,omitempty"` // the memory's newest intact version; "" if there is none
}

// Error returns the text of the memento.DamageError with these fields.
func (d *Damage) Error() error { return (*memento.DamageError)(d) }

// Limit describes the limit that a change would exceed.
type Limit struct {
	Name memento.Limit `json:"name"`
	Max  int64         `json:"max"`
	Used int64         `json:"used"`
	Want int64         `json:"want"`
}

// ErrorAnswer is the body of an error response.
type ErrorAnswer struct {
	Type      string `json:"type"` // "error"
	Error     Error  `json:"error"`
	RequestID string `json:"request_id,omitempty"`
}

// codes maps the errors that callers distinguish to their codes. If an error matches
// several rows, the first applies.
var codes = []struct {
	name string
	err  error
}{
	{"no_store", memento.ErrNoStore},
	{"not_exist", memento.ErrNotExist},
	{"invalid_path", memento.ErrInvalidPath},
	{"too_large", memento.ErrTooLarge},
	{"sensitive", memento.ErrSensitive},
	{"no_detector", memento.ErrNoDetector},
	{"exist", memento.ErrExist},
	{"is_dir", memento.ErrIsDir},
	{"not_dir", memento.ErrNotDir},
	{"conflict", memento.ErrConflict},
	{"archived", memento.ErrArchived},
	{"head", memento.ErrHead},
	{"protected", memento.ErrProtected},
	{"foreign", memento.ErrForeign},
	{"unsupported", memento.ErrUnsupported},
	{"no_space", memento.ErrNoSpace},
	{"read_only", memento.ErrReadOnly},
	{"unavailable", memento.ErrUnavailable},
	{"uncertain", memento.ErrUncertain},
	{"decrypt", memento.ErrDecrypt},
	{"damaged", memento.ErrDamaged},
	{"closed", memento.ErrClosed},
	{"format", memento.ErrFormat},
	{"invalid", memento.ErrInvalid},
}

// Code returns the code of err; "" if err is none of the errors that callers
// distinguish.
func Code(err error) string {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.name
		}
	}
	return ""
}

// Sentinel is the reverse of [Code]. It returns nil for an unknown code.
func Sentinel(code string) error {
	for _, c := range codes {
		if c.name == code {
			return c.err
		}
	}
	return nil
}
