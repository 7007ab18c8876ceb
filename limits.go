package memento

import "fmt"

// Limits are the limits of a store. A zero field means the default.
type Limits struct {
	MemoryBytes int64 // contents of one memory, in bytes; default 102,400
	Memories    int64 // memories in the store; default 10,000
	Bytes       int64 // contents of all memories, in bytes; default 104,857,600
	PathBytes   int64 // length of a path, in bytes; default and maximum MaxPathBytes
	PathDepth   int64 // segments in a path; default 512, which no path of MaxPathBytes exceeds
}

// defaultLimits are those of the Memory Stores API.
var defaultLimits = Limits{
	MemoryBytes: 100 * 1024,
	Memories:    10_000,
	Bytes:       100 * 1024 * 1024,
	PathBytes:   MaxPathBytes,
	PathDepth:   MaxPathBytes / 2,
}

// DefaultLimits returns the limits of a store that sets none: those of the
// Memory Stores API.
func DefaultLimits() Limits { return defaultLimits }

// WithDefaults returns l with its zero fields set to the defaults.
func (l Limits) WithDefaults() Limits {
	for _, f := range l.fields() {
		if *f.value == 0 {
			*f.value = f.standard
		}
	}
	return l
}

// check refuses limits that no store can have.
func (l Limits) check() error {
	for _, f := range l.fields() {
		if *f.value < 0 {
			return fmt.Errorf("%w: limit %s is %d; it must not be negative", ErrInvalid, f.name, *f.value)
		}
	}
	if l.PathBytes > MaxPathBytes {
		return fmt.Errorf("%w: limit %s is %d; it can be at most %d", ErrInvalid, LimitPathBytes, l.PathBytes, MaxPathBytes)
	}
	return nil
}

type limitField struct {
	name     Limit
	value    *int64
	standard int64
}

func (l *Limits) fields() [5]limitField {
	return [...]limitField{
		{LimitMemoryBytes, &l.MemoryBytes, defaultLimits.MemoryBytes},
		{LimitMemories, &l.Memories, defaultLimits.Memories},
		{LimitBytes, &l.Bytes, defaultLimits.Bytes},
		{LimitPathBytes, &l.PathBytes, defaultLimits.PathBytes},
		{LimitPathDepth, &l.PathDepth, defaultLimits.PathDepth},
	}
}

// A Limit names one field of [Limits].
type Limit string

// The limits.
const (
	LimitMemoryBytes Limit = "memory_bytes"
	LimitMemories    Limit = "memories"
	LimitBytes       Limit = "bytes"
	LimitPathBytes   Limit = "path_bytes"
	LimitPathDepth   Limit = "path_depth"
)

// NearLimit reports whether more than 80 % of a limit are used, in which case
// agents are warned.
func NearLimit(used, limit int64) bool { return used > limit/5*4+limit%5*4/5 }
