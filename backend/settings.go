package backend

import (
	"encoding/json"
	"fmt"

	"memento"
)

// EncodeSettings returns the settings of a store as JSON, for backends to keep.
func EncodeSettings(s memento.Settings) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings and numbers always have JSON
	}
	return string(text)
}

// DecodeSettings is the reverse of [EncodeSettings]. Errors: ErrFormat.
func DecodeSettings(text string) (memento.Settings, error) {
	s := memento.DefaultSettings()
	err := json.Unmarshal([]byte(text), &s)
	if err == nil {
		err = s.Check()
	}
	if err != nil {
		return s, fmt.Errorf("%w: the settings of a store: %v", memento.ErrFormat, err)
	}
	return s, nil
}
