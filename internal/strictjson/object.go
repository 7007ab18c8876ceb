package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Why an object is refused, besides the errors of a [Scanner].
var (
	ErrNotObject   = errors.New("not an object")
	ErrTrailing    = errors.New("more after the object")
	ErrManyMembers = errors.New("too many members")
)

// A DuplicateError is the error of an object that has a name twice.
type DuplicateError struct{ Name string }

func (e *DuplicateError) Error() string { return fmt.Sprintf("the name %q appears twice", e.Name) }

// Object reads exactly one object, of at most max members. It returns the members, still
// encoded; with an error, those before the place of the error.
func (s *Scanner) Object(max int) (map[string]json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	switch s.Peek() {
	case '{':
		s.At++
	case '[':
		return members, ErrNotObject
	default:
		if _, err := s.Value(0); err != nil {
			return members, err
		}
		return members, ErrNotObject
	}
	for n := 0; ; n++ {
		more, err := s.Next('}', n)
		if err != nil {
			return members, err
		}
		if !more {
			break
		}
		raw, err := s.name()
		if err != nil {
			return members, err
		}
		name := Unquote(raw)
		if _, seen := members[name]; seen {
			return members, &DuplicateError{name}
		}
		if n == max {
			return members, ErrManyMembers
		}
		if err := s.Take(':'); err != nil {
			return members, err
		}
		value, err := s.Value(1)
		if err != nil {
			return members, err
		}
		members[name] = value
	}
	if s.End() != nil {
		return members, ErrTrailing
	}
	return members, nil
}
