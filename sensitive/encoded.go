package sensitive

import (
	"encoding/base64"
	"strings"
)

// A secret in base64 is as readable as the secret. Long runs of base64 that decode to text
// are searched as texts are, and masked as a whole.

const (
	minEncoded = 40      // characters of base64; shorter runs hold no token
	maxEncoded = 1 << 20 // of a longer run, only the start is decoded
)

// encoded returns candidates for the runs of base64 in text in which there is something to
// find. Nearly all bytes of other texts are skipped.
func (e *engine) encoded(text string) (found []candidate) {
	for i := minEncoded - 1; i < len(text); i += minEncoded {
		if !isEncodedByte(text[i]) {
			continue
		}
		start, end := i, i
		for start > 0 && i-start < minEncoded && isEncodedByte(text[start-1]) {
			start--
		}
		for end < len(text) && isEncodedByte(text[end]) {
			end++
		}
		if end-start >= minEncoded {
			if inner := e.findDecoded(text[start:end]); inner != nil {
				for end < len(text) && text[end] == '=' {
					end++
				}
				found = append(found, candidate{span{start, end}, inner})
			}
		}
		i = end
	}
	return found
}

// findDecoded returns the rule of a finding in what s, a run of base64, encodes, or nil.
func (e *engine) findDecoded(s string) *rule {
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(s, "-_") {
		encoding = base64.RawURLEncoding
	}
	s = s[:min(len(s), maxEncoded)]
	if len(s)%4 == 1 {
		s = s[:len(s)-1]
	}
	const sample = 32 // enough to tell text from an image
	if first, err := encoding.DecodeString(s[:sample]); err != nil || !isPrintable(string(first)) {
		return nil
	}
	decoded, err := encoding.DecodeString(s)
	if err != nil {
		return nil
	}
	findings := e.find(string(decoded), false)
	if len(findings) == 0 {
		return nil
	}
	for _, r := range e.rules {
		if r.kind == findings[0].Kind {
			return r
		}
	}
	return nil
}

func isEncodedByte(c byte) bool { return isAlphanumeric(c) || strings.IndexByte("+/-_", c) >= 0 }

func isPrintable(s string) bool {
	for i := range len(s) {
		if c := s[i]; c > '~' || c < ' ' && !isSpace(c) {
			return false
		}
	}
	return true
}
