package console_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

// follow opens the stream of all changes, and returns what tells when it has ended.
func (s *site) follow(t *testing.T, cookie string) (ended <-chan time.Time) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	r, _ := http.NewRequestWithContext(ctx, "GET", s.url+"/console/api/v1/memory_stores/changes", nil)
	r.Header.Set("Cookie", cookie)
	r.Header.Set("Memento-Console", "1")
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); answer.Body.Close() })
	lines := bufio.NewScanner(answer.Body)
	for !strings.HasPrefix(lines.Text(), ": connected") {
		if !lines.Scan() {
			t.Fatalf("no stream: %d", answer.StatusCode)
		}
	}
	end := make(chan time.Time, 1)
	go func() {
		for lines.Scan() {
		}
		if ctx.Err() == nil {
			end <- time.Now()
		}
	}()
	return end
}

// endsWithin reports whether a stream ends within a time.
func endsWithin(stream <-chan time.Time, limit time.Duration) bool {
	select {
	case <-stream:
		return true
	case <-time.After(limit):
		return false
	}
}

// A stream ends with its session, whichever server ended it, and no other does.
func TestStreamsOfEndedSessions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.console.KeepSessions(secret)
	there := s.another(t, s.backend)
	ended, open := s.signIn(t), s.signIn(t)
	here, elsewhere, other := s.follow(t, ended), there.follow(t, ended), s.follow(t, open)
	if got := s.signOut(t, ended); got != http.StatusOK {
		t.Fatalf("signing out: %d", got)
	}
	if !endsWithin(here, 20*time.Second) {
		t.Error("the stream on the server that ended the session goes on")
	}
	if !endsWithin(elsewhere, 20*time.Second) {
		t.Error("the stream on another server goes on")
	}
	if endsWithin(other, 0) {
		t.Error("the stream of another session has ended")
	}
}

// A stream ends when its session does by itself.
func TestStreamsOfOldSessions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	old := s.signIn(t)
	s.now = s.now.Add(12*time.Hour - time.Second)
	stream, other := s.follow(t, old), s.follow(t, s.signIn(t))
	if !endsWithin(stream, 4*time.Second) {
		t.Error("the stream goes on after 12 hours")
	}
	if endsWithin(other, 0) {
		t.Error("the stream of another session has ended")
	}
}
