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

// micros returns t as it is stored: microseconds since 1970.
func micros(t time.Time) int64 { return t.UnixMicro() }

// optionalMicros is micros, or null for the zero time.
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

// hashOf returns a stored hash in hexadecimal; "" if there is none.
func hashOf(sum []byte) string { return hex.EncodeToString(sum) }

// textBytes is a text that is stored as bytea. It is scanned from the driver's buffer
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

// storable reports whether PostgreSQL's type text can hold a text. No row has any other
// text.
func storable(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

// rangeBelow returns the bounds, both excluded, of the paths below a directory. The byte
// "0" follows "/".
func rangeBelow(dir memento.Path) (low, high string) {
	prefix := dir.Prefix()
	return prefix, prefix[:len(prefix)-1] + "0"
}
