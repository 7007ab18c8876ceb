package httpmessage

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	date := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for _, tt := range []struct {
		seconds, ms string
		want        time.Duration
	}{
		{"", "", 0},
		{"2", "", 2 * time.Second},
		{"0.5", "", 500 * time.Millisecond},
		{"2", "30", 30 * time.Millisecond},
		{"2", "soon", 2 * time.Second},
		{"3600", "", time.Hour},
		{"-1", "", 0},
		{"soon", "", 0},
		{"NaN", "", 0},
		{"1e300", "", longestRetry},
		{"Inf", "", longestRetry},
		{"", "1e300", longestRetry},
		{date(-time.Hour), "", 0},
		{date(time.Hour), "", time.Hour},
		{date(48 * time.Hour), "", longestRetry},
	} {
		h := http.Header{}
		h.Set("Retry-After", tt.seconds)
		h.Set("Retry-After-Ms", tt.ms)
		// A date has whole seconds, and the test takes time.
		if got := RetryAfter(h); got > tt.want || got < tt.want-time.Minute && tt.want > time.Minute || got != tt.want && tt.want < time.Minute {
			t.Errorf("Retry-After %q, Retry-After-Ms %q: %v instead of %v", tt.seconds, tt.ms, got, tt.want)
		}
	}
}

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost": true, "localhost.": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "0.0.0.0": false, "::": false, "192.0.2.1": false, "localhost.example": false, "127.0.0.1.example": false, "2130706433": false,
	} {
		if got := IsLoopback(host); got != want {
			t.Errorf("%q: %t", host, got)
		}
	}
}
