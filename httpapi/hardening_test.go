package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/httpapi"
)

// Who is not let in is told how to ask.
func TestChallenge(t *testing.T) {
	s := newSite(t, nil)
	for _, key := range []string{"", "sk-memento-wrong"} {
		c := *s.admin
		c.key = key
		r := c.do(t, http.MethodGet, stores, nil)
		if got := r.header.Get("WWW-Authenticate"); r.status != http.StatusUnauthorized || got != `Bearer realm="memento"` {
			t.Errorf("key %q: %d, WWW-Authenticate %q", key, r.status, got)
		}
	}
	if r := s.admin.do(t, http.MethodGet, stores, nil); r.header.Get("WWW-Authenticate") != "" {
		t.Errorf("an answer has WWW-Authenticate %q", r.header.Get("WWW-Authenticate"))
	}
}

// A request whose end two parties may see at different places is the last of its
// connection.
func TestAmbiguousLength(t *testing.T) {
	s := newSite(t, nil)
	for _, tt := range []struct {
		name, length string
		closes       bool
	}{
		{"both", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", true},
		{"both, the other way round", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", true},
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		body := `{"name":"a"}`
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nx-api-key: %s\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\nGET %s HTTP/1.1\r\nHost: x\r\nx-api-key: %[2]s\r\n\r\n",
			stores, s.admin.key, tt.length, len(body), body, stores)
		in := bufio.NewReader(conn)
		_ = conn.SetReadDeadline(time.Now().Add(bound))
		r, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		if r.StatusCode != http.StatusOK || r.Close != tt.closes {
			t.Errorf("%s: %d, closes: %v", tt.name, r.StatusCode, r.Close)
		}
		if rest, err := io.ReadAll(in); err != nil || len(rest) > 0 {
			t.Errorf("%s: the connection goes on: %q, %v", tt.name, rest, err)
		}
	}
}

// A body that says to be in another encoding is not taken for UTF-8.
func TestCharset(t *testing.T) {
	s := newSite(t, nil)
	for kind, status := range map[string]int{
		"application/json; charset=utf-16":       http.StatusUnsupportedMediaType,
		"application/json;charset=ISO-8859-1":    http.StatusUnsupportedMediaType,
		"application/json; charset=\"utf-16":     http.StatusUnsupportedMediaType,
		"application/json; charset=utf-8":        http.StatusOK,
		`application/json; charset="UTF-8"`:      http.StatusOK,
		"application/json; charset=us-ascii":     http.StatusOK,
		"application/json; profile=x":            http.StatusOK,
		"text/plain; charset=utf-8":              http.StatusBadRequest,
		"application/json; charset=utf-8; x=utf": http.StatusOK,
	} {
		r := s.admin.with("Content-Type", "", "Content-Type", kind).do(t, http.MethodPost, stores, object{"name": "a"})
		if r.status != status || status == http.StatusUnsupportedMediaType && !strings.Contains(string(r.text), "must be utf-8") {
			t.Errorf("%s: %d %s, want %d", kind, r.status, r.text, status)
		}
	}
}

// A key of the client's choice is for one request and its repetitions.
func TestIdempotencyKeyReused(t *testing.T) {
	s := newSite(t, nil)
	store := s.admin.newStore(t, "notes")
	tool := store + "/tool"
	create := func(path string) object {
		return object{"command": "create", "path": "/memories" + path, "file_text": "x"}
	}
	c := s.admin.with("Idempotency-Key", "one")
	first := c.do(t, http.MethodPost, tool, create("/a")).text
	c.do(t, http.MethodPost, tool, create("/b")).fails(t, 422, invalidRequest, "Idempotency-Key", "another body")
	same(t, "the repetition", string(c.do(t, http.MethodPost, tool, create("/a")).text), string(first))
	same(t, "memories", column(items(t, s.admin.get(t, store+"/memories")), "path"), []any{"/a"})
	// Somebody else's key is another's, and so is one that is forgotten.
	s.as(memento.DefaultWorkspace, apikey.RoleWrite).with("Idempotency-Key", "one").post(t, tool, create("/b"))
	s.clock.add(11 * time.Minute)
	c.post(t, tool, create("/c"))
}

// Many wrong keys are answered late.
func TestWrongKeysAreSlowed(t *testing.T) {
	const delay = time.Second
	s := newSite(t, func(o *httpapi.Options) { o.FailureDelay = delay })
	start := time.Now()
	s.wrongKeys(t)
	if took := time.Since(start); took > freeFailures*delay/2 {
		t.Errorf("the first %d took %v", freeFailures, took)
	}
	start = time.Now()
	wrong := &caller{url: s.url, key: apikey.NewSecret()}
	if status, took := wrong.do(t, http.MethodGet, stores, nil).status, time.Since(start); status != http.StatusUnauthorized || took < delay {
		t.Errorf("one more: %d after %v", status, took)
	}
}

// Those that wait for a late answer are bounded, and right keys do not wait.
func TestRightKeysAreNotSlowed(t *testing.T) {
	const asked, delayed = 100, 64 // at once, and of them at most
	s := newSite(t, func(o *httpapi.Options) { o.FailureDelay = 2 * bound })
	s.wrongKeys(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wrong sync.WaitGroup
	var refused, late atomic.Int64
	for range asked {
		wrong.Go(func() {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+stores, nil)
			if err != nil {
				t.Error(err)
				return
			}
			request.Header.Set("x-api-key", apikey.NewSecret())
			r, err := http.DefaultTransport.RoundTrip(request)
			switch {
			case err != nil: // it was still waiting when it was cancelled
				late.Add(1)
			case r.StatusCode == http.StatusTooManyRequests:
				refused.Add(1)
				r.Body.Close()
			default:
				t.Errorf("a wrong key: %s", r.Status)
				r.Body.Close()
			}
		})
	}
	until(t, "the others are refused", func() bool { return refused.Load() >= asked-delayed })
	for range 20 {
		s.admin.get(t, stores)
	}
	if ctx.Err() != nil || late.Load() > 0 {
		t.Errorf("%d wrong keys were answered before right ones", late.Load())
	}
	cancel()
	wrong.Wait()
	if refused.Load() != asked-delayed || late.Load() != delayed {
		t.Errorf("of %d at once, %d were refused and %d waited", asked, refused.Load(), late.Load())
	}
}

// freeFailures is how many wrong keys are answered at once.
const freeFailures = 30

// wrongKeys sends as many wrong keys as are answered at once.
func (s *site) wrongKeys(t *testing.T) {
	t.Helper()
	wrong := &caller{url: s.url, key: apikey.NewSecret()}
	for range freeFailures {
		if r := wrong.do(t, http.MethodGet, stores, nil); r.status != http.StatusUnauthorized {
			t.Fatalf("a wrong key: %d", r.status)
		}
	}
}

// Paths that the hosted service does not take are refused by a server that is as
// strict.
func TestStrictDepth(t *testing.T) {
	deep, deeper := strings.Repeat("/d", 20), strings.Repeat("/e", 21)
	for _, strict := range []bool{false, true} {
		s := newSite(t, func(o *httpapi.Options) { o.StrictBetas = strict })
		c := s.admin.with("anthropic-beta", "agent-memory-2026-07-22").with("anthropic-version", "2023-06-01")
		store := c.newStore(t, "notes")
		m := c.put(t, store, deep, "x")
		for path, body := range map[string]object{
			"/memories":                     {"path": deeper + "/x/y", "content": "x"},
			"/memories/" + text(t, m, "id"): {"path": strings.Repeat("/f", 21)},
		} {
			r := c.do(t, http.MethodPost, store+path, body)
			if strict {
				r.fails(t, 400, invalidRequest, "at most 20")
			} else {
				r.ok(t)
			}
		}
	}
}

// Erasing versions, which hides what was done, is for admins, unless the server is set
// to let those who write do it.
func TestRedactRole(t *testing.T) {
	for role, status := range map[apikey.Role]int{"": 403, apikey.RoleAdmin: 403, apikey.RoleWrite: 200} {
		s := newSite(t, func(o *httpapi.Options) { o.RedactRole = role })
		admin, writer := s.as("a", apikey.RoleAdmin), s.as("a", apikey.RoleWrite)
		store := writer.newStore(t, "notes")
		redact := func(c *caller, p string) int {
			t.Helper()
			m := writer.put(t, store, p, "one")
			writer.post(t, store+"/memories/"+text(t, m, "id"), object{"content": "two"})
			return c.do(t, http.MethodPost, store+"/memory_versions/"+text(t, m, "memory_version_id")+"/redact", nil).status
		}
		if got := redact(writer, "/a"); got != status {
			t.Errorf("redact_role %q: a writer gets %d, want %d", role, got, status)
		}
		if got := redact(writer.with("Memento-Actor", "session/sesn_1"), "/b"); got != status {
			t.Errorf("redact_role %q: a session gets %d, want %d", role, got, status)
		}
		if got := redact(s.as("a", apikey.RoleRead), "/c"); got != 403 {
			t.Errorf("redact_role %q: a reader gets %d", role, got)
		}
		if got := redact(admin, "/d"); got != 200 {
			t.Errorf("redact_role %q: an admin gets %d", role, got)
		}
	}
}

// writersRedact is a server that is as the hosted service.
func writersRedact(o *httpapi.Options) { o.RedactRole = apikey.RoleWrite }

// A client that reads only after it has sent all of a body that nobody wants gets the
// answer, not a connection that was reset.
func TestAnswerToUnreadBody(t *testing.T) {
	s := newSite(t, nil)
	for _, tt := range []struct {
		path, key string
		status    int
	}{
		{stores, s.admin.key, http.StatusRequestEntityTooLarge},
		{stores, "sk-memento-wrong", http.StatusUnauthorized},
		{"/v1/nothing", s.admin.key, http.StatusNotFound},
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(bound))
		const pieces = 256
		piece := []byte(strings.Repeat("x", 64<<10))
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nx-api-key: %s\r\nContent-Length: %d\r\n\r\n", tt.path, tt.key, pieces*len(piece))
		for n := range pieces {
			if _, err := conn.Write(piece); err != nil {
				t.Fatalf("%s: piece %d of the body: %v", tt.path, n, err)
			}
			if n%64 == 0 {
				time.Sleep(300 * time.Millisecond) // longer in all than package http waits
			}
		}
		r, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || r.StatusCode != tt.status {
			t.Errorf("%s: %v, %v; want %d", tt.path, r, err, tt.status)
		}
	}
}
