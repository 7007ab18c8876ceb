package memento

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"time"
)

// ids encodes in Crockford's alphabet, whose order is byte order, so that IDs
// sort by the time they were made and index pages fill from one end.
var ids = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// newID returns prefix and 26 characters: 48 bits of milliseconds since 1970 and
// 80 random bits, the layout of a ULID.
func newID(prefix string, at time.Time) string {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:], uint64(at.UnixMilli())<<16)
	rand.Read(id[6:]) // never fails: crypto/rand
	return prefix + ids.EncodeToString(id[:])
}

// NewStoreID returns an ID for a store made at the given time: a prefix, then
// time and 80 random bits in 26 lower-case letters and digits. Backends use it
// and its two siblings, so that IDs look and sort alike everywhere.
func NewStoreID(at time.Time) StoreID { return StoreID(newID("memstore_", at)) }

// NewMemoryID returns an ID for a memory made at the given time.
func NewMemoryID(at time.Time) MemoryID { return MemoryID(newID("mem_", at)) }

// NewVersionID returns an ID for a version made at the given time.
func NewVersionID(at time.Time) VersionID { return VersionID(newID("memver_", at)) }
