package wire

import (
	"errors"

	"memento"
)

// An Error is the error object of an answer.
type Error struct {
	Type    string `json:"type"`
	Message string `json:"message"`

	// Of a path that is occupied.
	ConflictingMemoryID memento.MemoryID `json:"conflicting_memory_id,omitempty"`
	ConflictingPath     memento.Path     `json:"conflicting_path,omitempty"`

	Code     string            `json:"code,omitempty"` // see Code
	Op       string            `json:"op,omitempty"`   // the method that failed, as in memento.Error
	Path     memento.Path      `json:"path,omitempty"` // the path at fault
	Reason   string            `json:"reason,omitempty"`
	Limit    *Limit            `json:"limit,omitempty"`    // of code too_large
	Findings []FindingLocation `json:"findings,omitempty"` // of code sensitive
	Damage   *Damage           `json:"damage,omitempty"`   // of code damaged
}

// A Damage says which contents are damaged, and where whole ones are.
type Damage struct {
	Memory  memento.MemoryID  `json:"memory_id"`
	Version memento.VersionID `json:"memory_version_id"`
	Whole   memento.VersionID `json:"whole_memory_version_id,omitempty"` // the memory's newest that can be read; "" if there is none
}

// Error is the error that d describes.
func (d *Damage) Error() error { return (*memento.DamageError)(d) }

// A Limit says which limit a change would exceed.
type Limit struct {
	Name memento.Limit `json:"name"`
	Max  int64         `json:"max"`
	Used int64         `json:"used"`
	Want int64         `json:"want"`
}

// An ErrorAnswer is the body of an answer that is an error.
type ErrorAnswer struct {
	Type      string `json:"type"` // "error"
	Error     Error  `json:"error"`
	RequestID string `json:"request_id,omitempty"`
}

// codes name the errors that callers tell apart. An error that is several of them
// is the first.
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

// Code names what err is, "" if nothing that callers tell apart.
func Code(err error) string {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.name
		}
	}
	return ""
}

// Sentinel is the reverse of [Code]: nil if the code is not known.
func Sentinel(code string) error {
	for _, c := range codes {
		if c.name == code {
			return c.err
		}
	}
	return nil
}
