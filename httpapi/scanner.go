package httpapi

import (
	"unicode/utf8"
)

// A scanner reads JSON (RFC 8259) once, from start to end. It copies nothing, and stops
// at the first error: the cost of a body is bounded by its length, whatever it contains.
type scanner struct {
	text  []byte
	at    int  // the next byte
	loose bool // whether strings may contain invalid UTF-8 and half surrogates, which encoding/json would change
	items int  // elements and members of the values that were skipped
}

const (
	maxNesting = 100            // levels of lists and objects
	maxItems   = maxChanges + 1 // of one list; one more than any may have, so that its own check says how many are too many
)

var (
	errNotJSON   = invalid("the body is not valid JSON")
	errNotUTF8   = invalid("the body is not valid UTF-8")
	errSurrogate = invalid("the body has an escape for an unpaired surrogate")
	errNesting   = invalid("the body nests arrays and objects more than %d levels deep", maxNesting)
	errItems     = invalid("the body has an array or object with more than %d entries", maxItems)
)

// peek returns the next byte that is not white space; 0 at the end.
func (s *scanner) peek() byte {
	for ; s.at < len(s.text); s.at++ {
		switch b := s.text[s.at]; b {
		case ' ', '\t', '\r', '\n':
		default:
			return b
		}
	}
	return 0
}

// take passes over one byte, which must be the next that is not white space.
func (s *scanner) take(b byte) error {
	if s.peek() != b || s.at == len(s.text) {
		return errNotJSON
	}
	s.at++
	return nil
}

// end checks that nothing follows the value.
func (s *scanner) end() error {
	if s.peek(); s.at != len(s.text) {
		return errNotJSON
	}
	return nil
}

// next reports whether a list or an object, whose last byte is given, has one more
// entry, and passes over the comma. n is how many it had so far.
func (s *scanner) next(last byte, n int) (more bool, err error) {
	switch b := s.peek(); {
	case s.at == len(s.text):
		return false, errNotJSON
	case b == last:
		s.at++
		return false, nil
	case n == 0:
		return true, nil
	case b != ',':
		return false, errNotJSON
	}
	s.at++
	if s.peek() == last { // a comma too many
		return false, errNotJSON
	}
	return true, nil
}

// key reads the name of a member, as it is written, and the colon.
func (s *scanner) key() (raw []byte, err error) {
	if s.peek() != '"' {
		return nil, errNotJSON
	}
	if raw, err = s.str(); err != nil {
		return nil, err
	}
	return raw, s.take(':')
}

// value passes over the next value, and returns it as it is written. depth is the number
// of lists and objects around it.
func (s *scanner) value(depth int) (raw []byte, err error) {
	first := s.peek()
	start := s.at
	switch {
	case s.at == len(s.text):
		err = errNotJSON
	case first == '"':
		_, err = s.str()
	case first == '{', first == '[':
		err = s.entries(first, depth+1)
	case first == '-' || '0' <= first && first <= '9':
		err = s.number()
	default:
		err = s.word()
	}
	if err != nil {
		return nil, err
	}
	return s.text[start:s.at:s.at], nil
}

// entries passes over a list or an object.
func (s *scanner) entries(first byte, depth int) error {
	if depth > maxNesting {
		return errNesting
	}
	s.at++
	last := first + 2 // of both pairs
	for n := 0; ; n++ {
		more, err := s.next(last, n)
		if err != nil || !more {
			return err
		}
		if s.items++; s.items > maxItems {
			return errItems
		}
		if first == '{' {
			if _, err := s.key(); err != nil {
				return err
			}
		}
		if _, err := s.value(depth); err != nil {
			return err
		}
	}
}

// str passes over a string, and returns it with its quotes.
func (s *scanner) str() ([]byte, error) {
	start, text, foreign := s.at, s.text, false
	for i := start + 1; i < len(text); {
		switch b := text[i]; {
		case b == '"':
			raw := text[start : i+1 : i+1]
			if foreign && !s.loose && !utf8.Valid(raw) {
				return nil, errNotUTF8
			}
			s.at = i + 1
			return raw, nil
		case b == '\\':
			n, err := s.escape(text[i:])
			if err != nil {
				return nil, err
			}
			i += n
		case b < ' ':
			return nil, errNotJSON
		default:
			foreign = foreign || b >= utf8.RuneSelf
			i++
		}
	}
	return nil, errNotJSON
}

// escape returns the length of the escape at the start of a text; of a surrogate pair,
// that of both escapes.
func (s *scanner) escape(text []byte) (int, error) {
	if len(text) < 2 {
		return 0, errNotJSON
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, nil
	case 'u':
	default:
		return 0, errNotJSON
	}
	high, ok := escapedUnit(text)
	switch {
	case !ok:
		return 0, errNotJSON
	case high < 0xd800 || high > 0xdfff || s.loose:
		return 6, nil
	}
	if low, ok := escapedUnit(text[6:]); high >= 0xdc00 || !ok || low < 0xdc00 || low > 0xdfff {
		return 0, errSurrogate
	}
	return 12, nil
}

// escapedUnit reads a \uXXXX at the start of text.
func escapedUnit(text []byte) (unit rune, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	for _, b := range text[2:6] {
		switch {
		case '0' <= b && b <= '9':
			unit = unit<<4 | rune(b-'0')
		case 'a' <= b|0x20 && b|0x20 <= 'f':
			unit = unit<<4 | rune(b|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return unit, true
}

// number passes over a number.
func (s *scanner) number() error {
	digits := func() bool {
		start := s.at
		for s.at < len(s.text) && '0' <= s.text[s.at] && s.text[s.at] <= '9' {
			s.at++
		}
		return s.at > start
	}
	one := func(of string) bool {
		for i := range len(of) {
			if s.at < len(s.text) && s.text[s.at] == of[i] {
				s.at++
				return true
			}
		}
		return false
	}
	one("-")
	if !one("0") && !digits() || one(".") && !digits() {
		return errNotJSON
	}
	if one("eE") {
		if one("+-"); !digits() {
			return errNotJSON
		}
	}
	return nil
}

// word passes over true, false or null.
func (s *scanner) word() error {
	for _, w := range []string{"true", "false", null} {
		if n := s.at + len(w); n <= len(s.text) && string(s.text[s.at:n]) == w {
			s.at = n
			return nil
		}
	}
	return errNotJSON
}
