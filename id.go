package memento

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	mathrand "math/rand/v2"
	"strings"
	"time"
)

// ids encodes in Crockford's alphabet, whose order is byte order, so that IDs
// sort by the time they were made and index pages fill from one end.
var ids = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// newID returns prefix and 26 characters for 128 bits: 48 of milliseconds since
// 1970, as in a ULID, 40 of tag or, if that is 0, of chance, and 40 of chance.
func newID(prefix string, at time.Time, tag int64) string {
	var id [16]byte
	rand.Read(id[6:]) // never fails: crypto/rand
	if tag != 0 {
		binary.BigEndian.PutUint64(id[3:], uint64(tag))
	}
	ms := uint64(at.UnixMilli())
	binary.BigEndian.PutUint16(id[0:], uint16(ms>>32))
	binary.BigEndian.PutUint32(id[2:], uint32(ms))
	return prefix + ids.EncodeToString(id[:])
}

// NewStoreID returns an ID for a store made at the given time: a prefix, then
// time and chance in 26 lower-case letters and digits. Backends use it and its
// two siblings, so that IDs look and sort alike everywhere. Those of stores sort by
// the microsecond, since stores are listed in their order.
func NewStoreID(at time.Time) StoreID {
	const chance = 30 // bits of the tag's 40
	micros := at.UnixMicro() % 1000
	if micros < 0 {
		micros += 1000
	}
	return StoreID(newID(storePrefix, at, (micros+1)<<chance|mathrand.Int64N(1<<chance)))
}

const storePrefix = "memstore_"

// isStoreID reports whether id has the form of NewStoreID's, however long.
func isStoreID(id StoreID) bool {
	text, ok := strings.CutPrefix(string(id), storePrefix)
	if !ok || text == "" || len(text) > maxStoreIDChars {
		return false
	}
	for _, r := range text {
		if !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') {
			return false
		}
	}
	return true
}

// NewMemoryID returns an ID for a memory made at the given time.
func NewMemoryID(at time.Time) MemoryID { return MemoryID(newID("mem_", at, 0)) }

const versionPrefix = "memver_"

// NewVersionID returns an ID for a version made at the given time, which carries
// the version's Seq.
func NewVersionID(at time.Time, seq int64) VersionID {
	return VersionID(newID(versionPrefix, at, seq))
}

// SeqHint returns the Seq with which the version was made, or 0 if the ID does
// does not contain it: a hint where a backend finds the version without an index of IDs. A
// version that was imported has another Seq, so the hint must be verified.
func (id VersionID) SeqHint() int64 {
	text, ok := strings.CutPrefix(string(id), versionPrefix)
	if !ok {
		return 0
	}
	raw, err := ids.DecodeString(text)
	if err != nil || len(raw) != 16 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(raw[3:]) & (1<<40 - 1))
}
