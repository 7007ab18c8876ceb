package memento

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"memento/internal/strictjson"
)

// fields are the members of one JSON object, still encoded.
type fields map[string]json.RawMessage

const (
	// maxKeys is the largest number of members of an object. No command has as many, and
	// each takes much more memory than its text.
	maxKeys = 100
	// maxNesting is the largest number of levels of lists and objects, in members that no
	// command has: as many as encoding/json reads.
	maxNesting = 10_000
)

// parseObject reads exactly one JSON object. It is stricter than encoding/json where
// leniency would store another text than the agent sent, or choose one of two values.
// With an error it returns the fields before the place of the error.
func parseObject(raw []byte) (fields, error) {
	s := strictjson.Scanner{Text: raw, MaxDepth: maxNesting}
	f, err := s.Object(maxKeys)
	if err == nil {
		return f, nil
	}
	if !utf8.Valid(raw) {
		return fields{}, refusedObject(reasonNotUTF8)
	}
	reason := reasonSyntax
	if errors.Is(err, strictjson.ErrSurrogate) {
		// It concerns one string. What is wrong with the whole comes first.
		s := strictjson.Scanner{Text: raw, MaxDepth: maxNesting, Loose: true}
		f, err = s.Object(maxKeys)
	}
	var duplicate *strictjson.DuplicateError
	switch {
	case err == nil:
		reason = reasonLoneSurrogate
	case errors.As(err, &duplicate):
		reason = fmt.Sprintf(reasonDuplicateKey, duplicate.Name)
	case errors.Is(err, strictjson.ErrNotObject):
		reason = reasonNotObject
	case errors.Is(err, strictjson.ErrManyMembers):
		reason = reasonManyKeys
	case errors.Is(err, strictjson.ErrTrailing):
		reason = reasonTrailing
	}
	return f, refusedObject(reason)
}

func refusedObject(reason string) error {
	return &ToolError{Text: fmt.Sprintf(textNoJSON, reason), Err: ErrInvalid}
}
