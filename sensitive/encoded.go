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

// encodedRun is a part of a text that has only characters of base64. Nearly all bytes of
// other texts are skipped in the search.
var encodedRun = byteRun{encodedBytes, minEncoded}

// encoded returns candidates for those of runs of base64 in text in which there is something
// to find.
func (e *engine) encoded(text string, runs []span) (found []candidate) {
	for _, s := range runs {
		inner := e.findDecoded(text[s.start:s.end])
		if inner == nil {
			continue
		}
		for s.end < len(text) && text[s.end] == '=' {
			s.end++
		}
		found = append(found, candidate{s, inner})
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
	return e.ruleOf(findings[0].Kind)
}

// encodedBytes are the alphabets of base64, also for URLs.
var encodedBytes = func() class {
	c := alphanumeric
	for _, sign := range "+/-_" {
		c.add(rangeClass(sign, sign))
	}
	return c
}()

func isPrintable(s string) bool {
	for i := range len(s) {
		if c := s[i]; c > '~' || c < ' ' && !isSpace(c) {
			return false
		}
	}
	return true
}
