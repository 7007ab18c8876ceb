// Package strictjson reads JSON (RFC 8259) once, from start to end, and refuses what
// encoding/json would silently change or choose from: invalid UTF-8, half of a surrogate
// pair, and a name that an object has twice.
package strictjson

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"unicode/utf8"
)

// Why a text is refused. A Scanner stops at the first error.
var (
	ErrSyntax    = errors.New("not valid JSON")
	ErrUTF8      = errors.New("not valid UTF-8")
	ErrSurrogate = errors.New("half of a surrogate pair")
	ErrDepth     = errors.New("too many levels of lists and objects")
	ErrItems     = errors.New("too many entries")
)

// A Scanner reads the values of a text. It copies nothing, so the cost of a text is bounded
// by its length, whatever it contains.
type Scanner struct {
	Text []byte
	At   int // the next byte

	// MaxDepth is the largest number of levels of lists and objects.
	MaxDepth int
	// MaxItems is the largest value of Items; 0 means no limit.
	MaxItems int
	// Items is how many elements and members the skipped values had since the caller last
	// set it to 0.
	Items int
	// Loose permits invalid UTF-8 and half surrogates in strings.
	Loose bool
}

// Peek returns the next byte that is not white space; 0 at the end.
func (s *Scanner) Peek() byte {
	for ; s.At < len(s.Text); s.At++ {
		switch b := s.Text[s.At]; b {
		case ' ', '\t', '\r', '\n':
		default:
			return b
		}
	}
	return 0
}

// Take passes over one byte, which must be the next that is not white space.
func (s *Scanner) Take(b byte) error {
	if s.Peek() != b || s.At == len(s.Text) {
		return ErrSyntax
	}
	s.At++
	return nil
}

// End checks that nothing follows the value.
func (s *Scanner) End() error {
	if s.Peek(); s.At != len(s.Text) {
		return ErrSyntax
	}
	return nil
}

// Next reports whether a list or an object, whose last byte is given, has one more
// entry, and passes over the comma. n is how many it had so far.
func (s *Scanner) Next(last byte, n int) (more bool, err error) {
	switch b := s.Peek(); {
	case s.At == len(s.Text):
		return false, ErrSyntax
	case b == last:
		s.At++
		return false, nil
	case n == 0:
		return true, nil
	case b != ',':
		return false, ErrSyntax
	}
	s.At++
	if s.Peek() == last { // a comma too many
		return false, ErrSyntax
	}
	return true, nil
}

// Key reads the name of a member, as it is written, and the colon.
func (s *Scanner) Key() (raw []byte, err error) {
	if raw, err = s.name(); err != nil {
		return nil, err
	}
	return raw, s.Take(':')
}

// name reads the name of a member, as it is written.
func (s *Scanner) name() ([]byte, error) {
	if s.Peek() != '"' {
		return nil, ErrSyntax
	}
	return s.str()
}

// Value passes over the next value, and returns it as it is written. depth is the number
// of lists and objects around it.
func (s *Scanner) Value(depth int) (raw []byte, err error) {
	first := s.Peek()
	start := s.At
	switch {
	case s.At == len(s.Text):
		err = ErrSyntax
	case first == '"':
		_, err = s.str()
	case first == '{', first == '[':
		err = s.entries(first, depth+1)
	case first == '-' || '0' <= first && first <= '9':
		err = s.number()
	default:
		err = s.Word()
	}
	if err != nil {
		return nil, err
	}
	return s.Text[start:s.At:s.At], nil
}

// entries passes over a list or an object.
func (s *Scanner) entries(first byte, depth int) error {
	if depth > s.MaxDepth {
		return ErrDepth
	}
	s.At++
	last := first + 2 // of both pairs
	for n := 0; ; n++ {
		more, err := s.Next(last, n)
		if err != nil || !more {
			return err
		}
		if s.Items++; s.MaxItems > 0 && s.Items > s.MaxItems {
			return ErrItems
		}
		if first == '{' {
			if _, err := s.Key(); err != nil {
				return err
			}
		}
		if _, err := s.Value(depth); err != nil {
			return err
		}
	}
}

// str passes over a string, and returns it with its quotes.
func (s *Scanner) str() ([]byte, error) {
	start, text, foreign := s.At, s.Text, false
	for i := start + 1; ; {
		at, beyondASCII := special(text, i)
		foreign = foreign || beyondASCII
		switch {
		case at == len(text), text[at] < ' ':
			return nil, ErrSyntax
		case text[at] == '"':
			raw := text[start : at+1 : at+1]
			if foreign && !s.Loose && !utf8.Valid(raw) {
				return nil, ErrUTF8
			}
			s.At = at + 1
			return raw, nil
		}
		n, err := s.escape(text[at:])
		if err != nil {
			return nil, err
		}
		i = at + n
	}
}

// special returns the index of the first byte from i on that cannot stand for itself in a
// string: a quote, a backslash or a control character. foreign is whether there may be
// bytes before it that are not ASCII.
//
// It looks at eight bytes at a time: a byte x is below n if x-n borrows and x itself has no
// high bit. A byte above a match may be taken for one, too, but only the first counts.
func special(text []byte, i int) (at int, foreign bool) {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	var seen uint64
	for ; i+8 <= len(text); i += 8 {
		w := binary.LittleEndian.Uint64(text[i:])
		seen |= w
		quote, backslash := w^ones*'"', w^ones*'\\'
		found := ((w-ones*' ')&^w | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs
		if found != 0 {
			return i + bits.TrailingZeros64(found)/8, seen&highs != 0
		}
	}
	foreign = seen&highs != 0
	for ; i < len(text); i++ {
		switch b := text[i]; {
		case b == '"', b == '\\', b < ' ':
			return i, foreign
		case b >= utf8.RuneSelf:
			foreign = true
		}
	}
	return i, foreign
}

// escape returns the length of the escape at the start of a text; of a surrogate pair,
// that of both escapes.
func (s *Scanner) escape(text []byte) (int, error) {
	if len(text) < 2 {
		return 0, ErrSyntax
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, nil
	case 'u':
	default:
		return 0, ErrSyntax
	}
	high, ok := escapedUnit(text)
	switch {
	case !ok:
		return 0, ErrSyntax
	case high < 0xd800 || high > 0xdfff || s.Loose:
		return 6, nil
	}
	if low, ok := escapedUnit(text[6:]); high >= 0xdc00 || !ok || low < 0xdc00 || low > 0xdfff {
		return 0, ErrSurrogate
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
func (s *Scanner) number() error {
	digits := func() bool {
		start := s.At
		for s.At < len(s.Text) && '0' <= s.Text[s.At] && s.Text[s.At] <= '9' {
			s.At++
		}
		return s.At > start
	}
	one := func(of string) bool {
		for i := range len(of) {
			if s.At < len(s.Text) && s.Text[s.At] == of[i] {
				s.At++
				return true
			}
		}
		return false
	}
	one("-")
	if !one("0") && !digits() || one(".") && !digits() {
		return ErrSyntax
	}
	if one("eE") {
		if one("+-"); !digits() {
			return ErrSyntax
		}
	}
	return nil
}

// Word passes over true, false or null.
func (s *Scanner) Word() error {
	for _, w := range []string{"true", "false", "null"} {
		if n := s.At + len(w); n <= len(s.Text) && string(s.Text[s.At:n]) == w {
			s.At = n
			return nil
		}
	}
	return ErrSyntax
}
