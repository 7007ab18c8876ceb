package main

import (
	"testing"
	"time"
)

func TestProgressText(t *testing.T) {
	for _, c := range []struct {
		since, done, total int
		took               time.Duration
		want               string
	}{
		{5, 5, 0, time.Minute, "5"},
		{5, 5, 200, time.Millisecond, "5 of 200 (2 %)"},
		{50, 50, 200, 2 * time.Second, "50 of 200 (25 %), 25/s, 6s left"},
		{4, 4, 8, 2 * time.Minute, "4 of 8 (50 %), 0.0/s, 2m0s left"},
		{0, 100, 100, time.Minute, "100 of 100 (100 %)"},
	} {
		if got := progressText(c.since, c.done, c.total, c.took); got != c.want {
			t.Errorf("progressText(%d, %d, %d, %s) = %q; want %q", c.since, c.done, c.total, c.took, got, c.want)
		}
	}
}
