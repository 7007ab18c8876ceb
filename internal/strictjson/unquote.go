package strictjson

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Unquote returns the value of a string that a [Scanner] has read. Half of a surrogate
// pair, which only a loose one accepts, becomes U+FFFD.
func Unquote(raw []byte) string {
	rest := raw[1 : len(raw)-1]
	i := bytes.IndexByte(rest, '\\')
	if i < 0 {
		return string(rest)
	}
	value := make([]byte, 0, len(rest))
	for ; i >= 0; i = bytes.IndexByte(rest, '\\') {
		value = append(value, rest[:i]...)
		rest = rest[i:]
		n := 2
		switch b := rest[1]; b {
		case 'u':
			unit, _ := escapedUnit(rest)
			n = 6
			if utf16.IsSurrogate(unit) {
				low, _ := escapedUnit(rest[6:])
				if unit = utf16.DecodeRune(unit, low); unit != utf8.RuneError {
					n = 12
				}
			}
			value = utf8.AppendRune(value, unit)
		case 'b':
			value = append(value, '\b')
		case 'f':
			value = append(value, '\f')
		case 'n':
			value = append(value, '\n')
		case 'r':
			value = append(value, '\r')
		case 't':
			value = append(value, '\t')
		default:
			value = append(value, b)
		}
		rest = rest[n:]
	}
	return string(append(value, rest...))
}
