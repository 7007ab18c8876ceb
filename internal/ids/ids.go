// Package ids makes the IDs of stores, memories, versions and keys, so that they look and
// sort alike everywhere. It knows no types of the root package, which uses it.
package ids

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	mathrand "math/rand/v2"
	"strings"
	"time"
)

// StorePrefix begins the ID of every store.
const StorePrefix = "memstore_"

// The prefixes of the IDs of memories and versions.
const (
	MemoryPrefix  = "mem_"
	VersionPrefix = "memver_"
)

// encoding is Crockford's alphabet, whose order is byte order, so that IDs sort by the
// time they were made and index pages fill from one end.
var encoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// create returns prefix and 26 characters for 128 bits: 48 of milliseconds since 1970, as
// in a ULID, 40 of tag or, if that is 0, of chance, and 40 of chance.
func create(prefix string, at time.Time, tag int64) string {
	var id [16]byte
	rand.Read(id[6:]) // never fails: crypto/rand
	if tag != 0 {
		binary.BigEndian.PutUint64(id[3:], uint64(tag))
	}
	ms := uint64(at.UnixMilli())
	binary.BigEndian.PutUint16(id[0:], uint16(ms>>32))
	binary.BigEndian.PutUint32(id[2:], uint32(ms))
	return prefix + encoding.EncodeToString(id[:])
}

// Store returns an ID for a store made at the given time. Stores are listed in the order
// of their IDs, so these sort by the microsecond.
func Store(at time.Time) string {
	const chance = 30 // bits of the tag's 40
	micros := at.UnixMicro() % 1000
	if micros < 0 {
		micros += 1000
	}
	return create(StorePrefix, at, (micros+1)<<chance|mathrand.Int64N(1<<chance))
}

// Memory returns an ID for a memory made at the given time.
func Memory(at time.Time) string { return create(MemoryPrefix, at, 0) }

// Version returns an ID for a version made at the given time, which carries its seq.
func Version(at time.Time, seq int64) string { return create(VersionPrefix, at, seq) }

// Key returns an ID for an API key made at the given time.
func Key(at time.Time) string { return create("apikey_", at, 0) }

// Bits returns the 128 bits of an ID that was made with a prefix; ok is false for other texts.
// Append is its inverse.
func Bits(id, prefix string) (bits [16]byte, ok bool) {
	text, ok := strings.CutPrefix(id, prefix)
	if !ok || len(text) != 26 {
		return bits, false
	}
	var back [26]byte
	n, err := encoding.Decode(bits[:], []byte(text))
	if err != nil || n != len(bits) {
		return bits, false
	}
	encoding.Encode(back[:], bits[:]) // 26 characters have two bits more
	return bits, string(back[:]) == text
}

// Append appends the ID with a prefix and these bits.
func Append(to []byte, prefix string, bits [16]byte) []byte {
	return encoding.AppendEncode(append(to, prefix...), bits[:])
}

// Seq returns the seq that the ID of a version carries, or 0 if it carries none.
func Seq(version string) int64 {
	text, ok := strings.CutPrefix(version, VersionPrefix)
	if !ok {
		return 0
	}
	raw, err := encoding.DecodeString(text)
	if err != nil || len(raw) != 16 {
		return 0
	}
	return SeqOfBits([16]byte(raw))
}

// SeqOfBits is Seq for the bits of an ID.
func SeqOfBits(bits [16]byte) int64 {
	return int64(binary.BigEndian.Uint64(bits[3:]) & (1<<40 - 1))
}
