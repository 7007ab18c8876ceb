package httpmessage

import (
	"net/http"
	"strconv"
	"time"
)

// longestRetry bounds what RetryAfter returns.
const longestRetry = 24 * time.Hour

// RetryAfter returns how long a response asks its client to wait before the next request: 0 if
// it does not, at most a day. Retry-After-Ms, in milliseconds, counts before Retry-After,
// which has seconds or a date.
//
// Sources: RFC 9110, 10.2.3; Anthropic's SDKs for Retry-After-Ms and fractions.
func RetryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return bounded(ms / 1000)
	}
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		return bounded(s)
	}
	if at, err := http.ParseTime(value); err == nil {
		return bounded(time.Until(at).Seconds())
	}
	return 0
}

// bounded returns seconds as a duration from 0 to longestRetry; 0 if they are no number.
func bounded(seconds float64) time.Duration {
	if !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, longestRetry.Seconds()) * float64(time.Second))
}
