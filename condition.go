package memento

import (
	"encoding/json"
	"fmt"
)

// conditionJSON is a [Condition] as servers and their clients exchange it, in the
// terms of the Memory Stores API's preconditions.
type conditionJSON struct {
	Type    string `json:"type"`
	SHA256  string `json:"content_sha256,omitempty"`
	Version string `json:"memory_version_id,omitempty"`
}

// MarshalJSON writes an object with a type: "always", "absent", "content_sha256" or
// "memory_version".
func (c Condition) MarshalJSON() ([]byte, error) {
	switch c.kind {
	case ifAbsent:
		return json.Marshal(conditionJSON{Type: "absent"})
	case ifSHA256:
		return json.Marshal(conditionJSON{Type: "content_sha256", SHA256: c.value})
	case ifVersion:
		return json.Marshal(conditionJSON{Type: "memory_version", Version: c.value})
	}
	return json.Marshal(conditionJSON{Type: "always"})
}

// UnmarshalJSON is the reverse of MarshalJSON. Errors: ErrInvalid.
func (c *Condition) UnmarshalJSON(text []byte) error {
	var j conditionJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return fmt.Errorf("%w: a condition is an object with a type", ErrInvalid)
	}
	switch {
	case j.Type == "always":
		*c = Condition{}
	case j.Type == "absent":
		*c = IfAbsent()
	case j.Type == "content_sha256":
		*c = IfSHA256(j.SHA256)
	case j.Type == "memory_version":
		*c = IfVersion(VersionID(j.Version))
	default:
		return fmt.Errorf(`%w: the type of a condition can be "always", "absent", "content_sha256" or "memory_version"`, ErrInvalid)
	}
	return nil
}
