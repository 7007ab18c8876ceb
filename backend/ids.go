package backend

import (
	"time"

	"memento"
	"memento/internal/ids"
)

// NewStoreID returns an ID for a store made at the given time: a prefix, then
// time and chance in 26 lower-case letters and digits. Backends use it and its
// two siblings, so that IDs look and sort alike everywhere. Those of stores sort by
// the microsecond, since stores are listed in their order.
func NewStoreID(at time.Time) memento.StoreID { return memento.StoreID(ids.Store(at)) }

// NewMemoryID returns an ID for a memory made at the given time.
func NewMemoryID(at time.Time) memento.MemoryID { return memento.MemoryID(ids.Memory(at)) }

// NewVersionID returns an ID for a version made at the given time, which carries
// the version's Seq.
func NewVersionID(at time.Time, seq int64) memento.VersionID {
	return memento.VersionID(ids.Version(at, seq))
}
