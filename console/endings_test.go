package console_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/backend/storetest"
	"memento/console"
	"memento/httpapi"
)

var secret = []byte("what the servers of one storage share")

// another returns another server on the storage of s, which accepts the same sessions.
func (s *site) another(t *testing.T, notes console.Notes) *site {
	t.Helper()
	clock := func() time.Time { return s.now }
	api, err := httpapi.New(s.backend, httpapi.Options{Auth: httpapi.NewKeyAuth(s.backend, clock), Now: clock, FailureDelay: -1})
	if err != nil {
		t.Fatal(err)
	}
	other := &site{backend: s.backend, key: s.key, now: s.now}
	if other.console, err = console.New(console.Options{API: api, Now: clock, Notes: notes}); err != nil {
		t.Fatal(err)
	}
	other.console.KeepSessions(secret)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = strings.TrimPrefix(s.url, "http://") // one address, as behind a load balancer
		other.console.ServeHTTP(w, r)
	}))
	other.url = server.URL
	t.Cleanup(func() { api.Close(); server.Close(); other.console.Close() })
	return other
}

func (s *site) status(t *testing.T, cookie string) int {
	t.Helper()
	answer, _ := s.ask(t, "GET", whoAmI, "", "Cookie", cookie, "Memento-Console", "1")
	return answer.StatusCode
}

func (s *site) signOut(t *testing.T, cookie string) int {
	t.Helper()
	answer, _ := s.ask(t, "DELETE", "/console/session", "", "Cookie", cookie, "Memento-Console", "1")
	return answer.StatusCode
}

// A session that was ended is refused by every server, and after a restart; so is a link that
// was used.
func TestEndedSessionsAreShared(t *testing.T) {
	s := newSite(t)
	s.console.KeepSessions(secret)
	there := s.another(t, s.backend)
	ended, open := s.signIn(t), s.signIn(t)
	_, link := s.ask(t, "POST", "/console/links", "", "X-Api-Key", s.key)
	_, code, _ := strings.Cut(link, "#code=")
	code, _, _ = strings.Cut(code, `"`)
	if got := s.signOut(t, ended); got != http.StatusOK {
		t.Fatalf("signing out: %d", got)
	}
	s.ask(t, "POST", "/console/session", `{"code":"`+code+`"}`, "Memento-Console", "1")
	for what, server := range map[string]*site{"another server": there, "after a restart": s.another(t, s.backend)} {
		if got := server.status(t, ended); got != http.StatusUnauthorized {
			t.Errorf("%s: the session that was ended: %d", what, got)
		}
		if got := server.status(t, open); got != http.StatusOK {
			t.Errorf("%s: a session that was not: %d", what, got)
		}
		if answer, _ := server.ask(t, "POST", "/console/session", `{"code":"`+code+`"}`, "Memento-Console", "1"); answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: a link that was used: %d", what, answer.StatusCode)
		}
	}
}

// Servers that end sessions at the same time, in the same note, lose none.
func TestEndedSessionsOfSeveralServers(t *testing.T) {
	s := newSite(t)
	s.console.KeepSessions(secret)
	servers := []*site{s, s.another(t, s.backend), s.another(t, s.backend)}
	var cookies []string
	for range 30 {
		cookies = append(cookies, s.signIn(t))
	}
	var all sync.WaitGroup
	for i, server := range servers {
		all.Go(func() {
			for n := i; n < len(cookies); n += len(servers) {
				server.signOut(t, cookies[n])
			}
		})
	}
	all.Wait()
	last := s.signIn(t)
	for _, server := range servers {
		server.signOut(t, s.signIn(t)) // each adds what it knows and was overwritten
	}
	fresh := s.another(t, s.backend)
	for i, cookie := range cookies {
		if got := fresh.status(t, cookie); got != http.StatusUnauthorized {
			t.Errorf("session %d: %d", i, got)
		}
	}
	if got := fresh.status(t, last); got != http.StatusOK {
		t.Errorf("a session that was not ended: %d", got)
	}
}

// brokenNotes fail until they are mended.
type brokenNotes struct {
	console.Notes
	mended atomic.Bool
}

func (n *brokenNotes) Note(ctx context.Context, name string) (string, error) {
	if !n.mended.Load() {
		return "", memento.ErrUnavailable
	}
	return n.Notes.Note(ctx, name)
}

func (n *brokenNotes) SetNote(ctx context.Context, name, text string) error {
	if !n.mended.Load() {
		return memento.ErrUnavailable
	}
	return n.Notes.SetNote(ctx, name, text)
}

// If the storage cannot say whether a session was ended, it is not accepted, and not forgotten.
// Who signs out then is signed out of that server for good.
func TestEndedSessionsUnknown(t *testing.T) {
	s := newSite(t)
	s.console.KeepSessions(secret)
	cookie := s.signIn(t)
	notes := &brokenNotes{Notes: s.backend}
	broken := s.another(t, notes)
	if got := broken.status(t, cookie); got != http.StatusServiceUnavailable {
		t.Errorf("a request: %d", got)
	}
	if got := broken.signOut(t, cookie); got != http.StatusServiceUnavailable {
		t.Errorf("signing out: %d", got)
	}
	if got := s.status(t, cookie); got != http.StatusOK {
		t.Errorf("the session elsewhere: %d", got)
	}
	notes.mended.Store(true)
	if got := broken.status(t, cookie); got != http.StatusUnauthorized {
		t.Errorf("the session when the storage is back: %d", got)
	}
	if got := broken.status(t, s.signIn(t)); got != http.StatusOK {
		t.Errorf("another session: %d", got)
	}
}

// What is remembered is bounded: no note is longer than it may be, and whatever was ended stays
// so.
func TestEndedSessionsBounded(t *testing.T) {
	s := newSite(t)
	s.console.KeepSessions(secret)
	var cookies []string
	for range 60 {
		_, key := storetest.NewKey(t, s.backend, memento.DefaultWorkspace, apikey.RoleRead, s.now)
		for range 60 {
			s.now = s.now.Add(time.Millisecond)
			answer, _ := s.ask(t, "POST", "/console/session", `{"key":"`+key+`"}`, "Memento-Console", "1")
			cookie := answer.Cookies()[0].Name + "=" + answer.Cookies()[0].Value
			s.signOut(t, cookie)
			cookies = append(cookies, cookie)
		}
	}
	for n := range 256 {
		if text, err := s.backend.Note(t.Context(), fmt.Sprintf("console-ended-%02x", n)); err != nil || len(text) > 4<<10 {
			t.Errorf("note %02x has %d bytes: %v", n, len(text), err)
		}
	}
	fresh := s.another(t, s.backend)
	for i, cookie := range cookies {
		if got := fresh.status(t, cookie); got != http.StatusUnauthorized {
			t.Fatalf("session %d: %d", i, got)
		}
	}
	s.now = s.now.Add(12 * time.Hour)
	again := s.signIn(t)
	s.signOut(t, again)
	for n := range 256 {
		if text, _ := s.backend.Note(t.Context(), fmt.Sprintf("console-ended-%02x", n)); strings.Count(text, `"ids"`) > 60 {
			t.Errorf("note %02x forgets nothing: %s", n, text)
		}
	}
}
