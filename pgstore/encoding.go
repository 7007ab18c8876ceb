package pgstore

import (
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf8"

	"memento"

	"github.com/jackc/pgx/v5/pgconn"
)

type (
	tag     = pgconn.CommandTag
	pgError = pgconn.PgError
)

// micros is how times are kept.
func micros(t time.Time) int64 { return t.UnixMicro() }

// optional is micros, or null for the zero time.
func optionalMicros(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	us := t.UnixMicro()
	return &us
}

func timeOf(us int64) time.Time { return time.UnixMicro(us).UTC() }

func timeOrZero(us *int64) time.Time {
	if us == nil {
		return time.Time{}
	}
	return timeOf(*us)
}

// hashOf reads a hash, which is "" if nothing is kept.
func hashOf(sum []byte) string { return hex.EncodeToString(sum) }

// A held is a text that is kept as bytea. It is made of what the driver has received,
// without a copy in between.
type textBytes string

// ScanBytes implements [pgtype.BytesScanner].
func (t *textBytes) ScanBytes(v []byte) error {
	*t = textBytes(v)
	return nil
}

// hashBytes is the reverse of hashOf.
func hashBytes(hash string) []byte {
	sum, err := hex.DecodeString(hash)
	if err != nil {
		panic(err) // the planner computes or checks every hash
	}
	return sum
}

// storable reports whether text can be kept as PostgreSQL's text: nothing else is
// found by it.
func storable(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

// below returns the bounds, both excluded, of the paths below a directory: "0"
// is the byte behind "/".
func rangeBelow(dir memento.Path) (low, high string) {
	prefix := dir.Prefix()
	return prefix, prefix[:len(prefix)-1] + "0"
}
