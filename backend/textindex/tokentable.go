package textindex

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"strings"
)

// A tokenTable finds tokens by their spelling. Most words have at most 16 bytes: these stand in
// the table itself, so that finding one is one access to main memory instead of four, as in a
// map of strings.
type tokenTable struct {
	slots []tokenSlot // a power of 2 of them, at most half of them in use
	used  int
	seed  [2]uint64
	long  map[string]*token
}

type tokenSlot struct {
	low, high uint64 // the spelling; both are 0 in a free slot, because no spelling has a byte that is 0
	token     *token
	tokenInfo // a copy, so that most tokens need not be read
}

// maxShort is the length of the longest spelling in the table itself.
const maxShort = 16

const leastSlots = 1 << 10

func newTokenTable() tokenTable {
	return tokenTable{slots: make([]tokenSlot, leastSlots), seed: [2]uint64{rand.Uint64() | 1, rand.Uint64() | 1}, long: map[string]*token{}}
}

func (t *tokenTable) len() int { return t.used + len(t.long) }

// packed returns a spelling of at most 16 bytes as two numbers.
func packed(text string, start, end int) (low, high uint64) {
	if start+maxShort <= len(text) {
		window := text[start : start+maxShort]
		low, high = load(window[:8]), load(window[8:])
	} else {
		var bytes [maxShort]byte
		copy(bytes[:], text[start:end])
		low, high = binary.LittleEndian.Uint64(bytes[:8]), binary.LittleEndian.Uint64(bytes[8:])
	}
	if n := end - start; n <= 8 {
		return low & (1<<(8*n) - 1), 0
	} else if n < maxShort {
		high &= 1<<(8*(n-8)) - 1
	}
	return low, high
}

// load returns 8 bytes as a number.
func load(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// slot returns where a short spelling is, or would be.
func (t *tokenTable) slot(low, high uint64) *tokenSlot {
	h, l := bits.Mul64(low^t.seed[0], high^t.seed[1])
	for i := h ^ l; ; i++ {
		s := &t.slots[i&uint64(len(t.slots)-1)]
		if s.low == low && s.high == high || s.low|s.high == 0 {
			return s
		}
	}
}

// get returns the token of a spelling, which is nil if it is not known.
func (t *tokenTable) get(text string, start, end int) (*token, tokenInfo) {
	if end-start > maxShort {
		if known := t.long[text[start:end]]; known != nil {
			return known, known.tokenInfo
		}
		return nil, tokenInfo{}
	}
	s := t.slot(packed(text, start, end))
	return s.token, s.tokenInfo
}

// put adds a token that is not known.
func (t *tokenTable) put(spelling string, tok *token) {
	if len(spelling) > maxShort {
		t.long[strings.Clone(spelling)] = tok
		return
	}
	if t.used++; 2*t.used > len(t.slots) {
		old := t.slots
		t.slots = make([]tokenSlot, 2*len(old))
		for _, s := range old {
			if s.token != nil {
				*t.slot(s.low, s.high) = s
			}
		}
	}
	low, high := packed(spelling, 0, len(spelling))
	*t.slot(low, high) = tokenSlot{low, high, tok, tok.tokenInfo}
}

func (t *tokenTable) clear() { *t = newTokenTable() }
