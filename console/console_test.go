package console_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/backend/memstore"
	"memento/backend/storetest"
	"memento/console"
	"memento/httpapi"
	"memento/internal/wire"
)

// A site is a console on the API of a memstore.
type site struct {
	url, key string
	now      time.Time
	console  *console.Handler
	backend  *memstore.Backend
}

func newSite(t *testing.T) *site {
	t.Helper()
	b := memstore.New(nil)
	s := &site{backend: b, now: time.Date(2026, 9, 26, 12, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return s.now }
	api, err := httpapi.New(b, httpapi.Options{Auth: httpapi.NewKeyAuth(b, clock), Now: clock, FailureDelay: -1})
	if err != nil {
		t.Fatal(err)
	}
	_, s.key = storetest.NewKey(t, b, memento.DefaultWorkspace, apikey.RoleAdmin, s.now)
	if s.console, err = console.New(console.Options{API: api, Now: clock, Notes: b}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.console)
	s.url = server.URL
	t.Cleanup(func() { api.Close(); server.Close(); s.console.Close(); b.Close() })
	return s
}

// ask sends a request with headers, pairs of a name and a value.
func (s *site) ask(t *testing.T, method, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

// signIn returns the header of a session.
func (s *site) signIn(t *testing.T) string {
	t.Helper()
	answer, text := s.ask(t, "POST", "/console/session", `{"key":"`+s.key+`"}`, "Memento-Console", "1")
	if answer.StatusCode != 200 || len(answer.Cookies()) != 1 {
		t.Fatalf("signing in: %d %s", answer.StatusCode, text)
	}
	c := answer.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/console/" || strings.Contains(c.Value, s.key) {
		t.Errorf("the cookie is %s", c)
	}
	return c.Name + "=" + c.Value
}

const whoAmI = "/console/api/v1/whoami"

// A session is used only by the console's own pages.
func TestForgedRequests(t *testing.T) {
	s := newSite(t)
	cookie := s.signIn(t)
	for name, tt := range map[string]struct {
		status  int
		headers []string
	}{
		"from a page":             {200, []string{"Cookie", cookie, "Memento-Console", "1", "Sec-Fetch-Site", "same-origin", "Origin", s.url}},
		"without the header":      {403, []string{"Cookie", cookie}},
		"of another origin":       {403, []string{"Cookie", cookie, "Memento-Console", "1", "Origin", "http://evil.example"}},
		"of an opaque origin":     {403, []string{"Cookie", cookie, "Memento-Console", "1", "Origin", "null"}},
		"of another port":         {403, []string{"Cookie", cookie, "Memento-Console", "1", "Sec-Fetch-Site", "same-site"}},
		"without a session":       {401, []string{"Memento-Console", "1"}},
		"with a key":              {401, []string{"Memento-Console", "1", "X-Api-Key", s.key}},
		"with another's cookie":   {401, []string{"Memento-Console", "1", "Cookie", cookie[:len(cookie)-2] + "xx"}},
		"with a cookie of a link": {401, []string{"Memento-Console", "1", "Cookie", strings.Split(cookie, "=")[0] + "=" + s.link(t)}},
	} {
		if answer, text := s.ask(t, "GET", whoAmI, "", tt.headers...); answer.StatusCode != tt.status {
			t.Errorf("%s: %d %s", name, answer.StatusCode, text)
		}
	}
}

// link returns the code of a new link.
func (s *site) link(t *testing.T) string {
	t.Helper()
	answer, text := s.ask(t, "POST", wire.ConsoleLinks, "", "X-Api-Key", s.key)
	var link struct{ Path string }
	if err := json.Unmarshal([]byte(text), &link); err != nil || answer.StatusCode != 200 {
		t.Fatalf("%d %s", answer.StatusCode, text)
	}
	_, code, _ := strings.Cut(link.Path, "#code=")
	return code
}

// A session ends when it is signed out, after 12 hours, and with the secret.
func TestSessionEnds(t *testing.T) {
	s := newSite(t)
	works := func(cookie string) bool {
		answer, _ := s.ask(t, "GET", whoAmI, "", "Cookie", cookie, "Memento-Console", "1")
		return answer.StatusCode == 200
	}
	out, kept := s.signIn(t), s.signIn(t)
	s.ask(t, "DELETE", "/console/session", "", "Cookie", out, "Memento-Console", "1")
	if works(out) || !works(kept) {
		t.Error("signing out ends one session")
	}
	s.now = s.now.Add(12*time.Hour - time.Second)
	if !works(kept) {
		t.Error("it ends too early")
	}
	s.now = s.now.Add(time.Second)
	if works(kept) {
		t.Error("it does not end")
	}

	s.console.KeepSessions([]byte("secret of the server"))
	before := s.signIn(t)
	s.console.KeepSessions([]byte("secret of the server"))
	if !works(before) {
		t.Error("the same secret ends sessions")
	}
	s.console.KeepSessions([]byte("another secret"))
	if works(before) {
		t.Error("another secret opens sessions")
	}
}

// A link signs in once, within a minute, and only programs with a key get one.
func TestLinks(t *testing.T) {
	s := newSite(t)
	use := func(code string) int {
		answer, _ := s.ask(t, "POST", "/console/session", `{"code":"`+code+`"}`, "Memento-Console", "1")
		return answer.StatusCode
	}
	code := s.link(t)
	if first, second := use(code), use(code); first != 200 || second != 401 {
		t.Errorf("used twice: %d, then %d", first, second)
	}
	late := s.link(t)
	s.now = s.now.Add(time.Minute)
	if got := use(late); got != 401 {
		t.Errorf("after a minute: %d", got)
	}
	_, session, _ := strings.Cut(s.signIn(t), "=")
	if got := use(session); got != 401 {
		t.Errorf("a session as a link: %d", got)
	}
	for _, tt := range []struct {
		status  int
		headers []string
	}{
		{200, []string{"Authorization", "Bearer " + s.key}},
		{401, nil},
		{401, []string{"X-Api-Key", "sk-memento-wrong"}},
		{401, []string{"Authorization", s.key}},
		{401, []string{"X-Api-Key", s.key, "Authorization", "Bearer sk-memento-other"}},
		{403, []string{"X-Api-Key", s.key, "Origin", s.url}},
	} {
		if answer, text := s.ask(t, "POST", wire.ConsoleLinks, "", tt.headers...); answer.StatusCode != tt.status {
			t.Errorf("a link with %q: %d %s", tt.headers, answer.StatusCode, text)
		}
	}
}

// A request to sign in is refused if it is none, or with a wrong key, and sets no cookie.
func TestSignInRefused(t *testing.T) {
	s := newSite(t)
	for body, status := range map[string]int{
		``: 400, `{}`: 400, `[]`: 400, `{"key":"` + strings.Repeat("x", 4000) + `"}`: 400,
		`{"key":"` + strings.Repeat("x", 10_000) + `"}`: 400,
		`{"key":"sk-memento-wrong"}`:                    401, `{"code":"wrong"}`: 401,
	} {
		answer, text := s.ask(t, "POST", "/console/session", body, "Memento-Console", "1")
		if answer.StatusCode != status || len(answer.Cookies()) > 0 || !strings.Contains(text, `"type":"error"`) {
			t.Errorf("%.40s: %d %s", body, answer.StatusCode, text)
		}
	}
}

// Every file comes with the policy, compressed if the client can take it, and is cached by
// its name or its tag.
func TestAssets(t *testing.T) {
	s := newSite(t)
	answer, page := s.ask(t, "GET", "/console/", "")
	for name, want := range map[string]string{
		"Content-Security-Policy": "frame-ancestors 'none'", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
		"X-Content-Type-Options": "nosniff", "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache",
	} {
		if got := answer.Header.Get(name); !strings.Contains(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if again, _ := s.ask(t, "GET", "/console/", "", "If-None-Match", answer.Header.Get("ETag")); again.StatusCode != 304 {
		t.Errorf("unchanged: %d", again.StatusCode)
	}
	_, rest, _ := strings.Cut(page, `type="module" src="`)
	script, _, _ := strings.Cut(rest, `"`)
	compressed, data := s.ask(t, "GET", "/console/"+script, "", "Accept-Encoding", "gzip")
	if compressed.Header.Get("Content-Encoding") != "gzip" || !strings.Contains(compressed.Header.Get("Cache-Control"), "immutable") || len(data) > 80_000 {
		t.Errorf("%s: %d bytes, %v", script, len(data), compressed.Header)
	}
	for path, status := range map[string]int{"/console/nothing": 404, "/console/../console.go": 404, "/console/assets": 404} {
		if answer, _ := s.ask(t, "GET", path, ""); answer.StatusCode != status {
			t.Errorf("%s: %d", path, answer.StatusCode)
		}
	}
	if answer, _ := s.ask(t, "POST", "/console/", ""); answer.StatusCode != 405 {
		t.Errorf("POST: %d", answer.StatusCode)
	}
}

// Signing out again and again with one key ends the sessions of that key, of which no more can
// be remembered, and none of others.
func TestManySignOuts(t *testing.T) {
	s := newSite(t)
	mine := s.signIn(t)
	_, other := storetest.NewKey(t, s.backend, memento.DefaultWorkspace, apikey.RoleRead, s.now)
	var last string
	signOut := func() {
		t.Helper()
		s.now = s.now.Add(time.Millisecond)
		answer, _ := s.ask(t, "POST", "/console/session", `{"key":"`+other+`"}`, "Memento-Console", "1")
		last = answer.Cookies()[0].Name + "=" + answer.Cookies()[0].Value
		s.ask(t, "DELETE", "/console/session", "", "Cookie", last, "Memento-Console", "1")
	}
	status := func(cookie string) int {
		t.Helper()
		answer, _ := s.ask(t, "GET", whoAmI, "", "Cookie", cookie, "Memento-Console", "1")
		return answer.StatusCode
	}
	signOut()
	first := last
	for range 150 {
		signOut()
		if got := status(last); got != http.StatusUnauthorized {
			t.Fatalf("after signing out: %d", got)
		}
	}
	if got := status(first); got != http.StatusUnauthorized {
		t.Errorf("the first session that was ended: %d", got)
	}
	if got := status(mine); got != http.StatusOK {
		t.Errorf("the session of another key: %d", got)
	}
	s.now = s.now.Add(time.Millisecond)
	answer, _ := s.ask(t, "POST", "/console/session", `{"key":"`+other+`"}`, "Memento-Console", "1")
	if got := status(answer.Cookies()[0].Name + "=" + answer.Cookies()[0].Value); got != http.StatusOK {
		t.Errorf("a new session of the same key: %d", got)
	}
}
