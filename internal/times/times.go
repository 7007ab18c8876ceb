// Package times has the rules for times that are stored. It knows no types of the root
// package, which uses it.
package times

import "time"

// MaxSkew is the most by which the clocks of processes that share a backend usually
// differ. Within it the times of versions never go back.
const MaxSkew = time.Minute

// Stored returns t as it is stored: in UTC and whole microseconds.
func Stored(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// IsWritable reports whether t can be written as RFC 3339, and so as JSON: its year in UTC
// must have four digits. A time that was read in another zone may not.
func IsWritable(t time.Time) bool { return t.UTC().Year() >= 1 && t.UTC().Year() <= 9999 }
