package main

import (
	"strconv"
	"strings"
	"time"

	"memento"

	"github.com/spf13/cobra"
)

// timeForms describes the forms of times on the command line, for help texts.
const timeForms = "RFC 3339, 2006-01-02 15:04 (local), today, yesterday 09:00, or how long ago: 30m, 2h, 3d, 1w"

// parseTime parses a time. A relative time is subtracted from now.
func parseTime(s string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t.UTC(), nil
	}
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t.UTC(), nil
		}
	}
	if t, ok := parseDay(s, now); ok {
		return t.UTC(), nil
	}
	if ago, ok := parseAgo(s); ok {
		return now.Add(-ago).UTC(), nil
	}
	return time.Time{}, hint(reworded(memento.ErrInvalid, "%s is not a time", strconv.Quote(s)), "give a time: %s", timeForms)
}

// parseDay parses "now", and "today" or "yesterday", which mean its beginning, or with a
// time of day: "yesterday 14:30".
func parseDay(s string, now time.Time) (time.Time, bool) {
	day, clock, timed := strings.Cut(strings.ToLower(s), " ")
	var at time.Time
	if timed {
		var err error
		if at, err = time.Parse("15:04", clock); err != nil {
			return at, false
		}
	}
	y, m, d := now.Local().Date()
	switch {
	case day == "now" && !timed:
		return now, true
	case day == "today":
	case day == "yesterday":
		d--
	default:
		return at, false
	}
	return time.Date(y, m, d, at.Hour(), at.Minute(), 0, 0, time.Local), true
}

// addAsOf adds the flag --as-of.
func (a *app) addAsOf(c *cobra.Command, to *string, usage string) {
	c.Flags().StringVar(to, "as-of", "", usage)
	_ = c.RegisterFlagCompletionFunc("as-of", completeTimes)
}

// parseAgo parses whole numbers with units, as in "1d12h". The maximum is 100 years.
func parseAgo(s string) (ago time.Duration, ok bool) {
	const day = 24 * time.Hour
	const max = 100 * 365 * day
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': day, 'w': 7 * day}
	if s == "" {
		return 0, false
	}
	for s != "" {
		end := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
		if end <= 0 {
			return 0, false
		}
		n, err := strconv.Atoi(s[:end])
		unit, known := units[s[end]]
		if err != nil || !known || n > int(max/unit) {
			return 0, false
		}
		ago += time.Duration(n) * unit
		if ago > max {
			return 0, false
		}
		s = s[end+1:]
	}
	return ago, true
}

// optionalTime is parseTime for an optional flag.
func optionalTime(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	return parseTime(s, now)
}

func minute(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }
func second(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }
