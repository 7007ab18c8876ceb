package main

import (
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	local := func(y int, m time.Month, d, h, min int) time.Time {
		return time.Date(y, m, d, h, min, 0, 0, time.Local)
	}
	for in, want := range map[string]time.Time{
		"2026-11-01T09:00:00Z":           time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC),
		"2026-11-01T09:00:00.5+02:00":    time.Date(2026, 11, 1, 7, 0, 0, 5e8, time.UTC),
		"2026-11-01 09:30":               local(2026, 11, 1, 9, 30),
		"2026-11-01T09:30":               local(2026, 11, 1, 9, 30),
		"2026-11-01":                     local(2026, 11, 1, 0, 0),
		"2h":                             now.Add(-2 * time.Hour),
		"3d":                             now.Add(-72 * time.Hour),
		"1w2d3h4m5s":                     now.Add(-(9*24*time.Hour + 3*time.Hour + 4*time.Minute + 5*time.Second)),
		"0s":                             now,
		"2026-11-01T09:00:00.123456789Z": time.Date(2026, 11, 1, 9, 0, 0, 123456789, time.UTC),
	} {
		if got, err := parseTime(in, now); err != nil || !got.Equal(want) {
			t.Errorf("parseTime(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "h", "2", "2x", "-2h", "2h ", "99999999999999999999h", "99999w", "2026-13-01", "é", "1é", "tomorrow"} {
		if got, err := parseTime(in, now); err == nil {
			t.Errorf("parseTime(%q) = %v; want an error", in, got)
		}
	}
}
