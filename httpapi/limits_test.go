package httpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"memento/backend"
	"memento/backend/apikey"
	"memento/httpapi"
)

// Rates in time that is made up.
func TestRates(t *testing.T) {
	start := time.Now()
	at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	r := httpapi.NewRates(httpapi.Rate{Reads: 60, Writes: 6, Burst: 3})
	for _, tt := range []struct {
		at     float64 // seconds
		key    string
		writes bool
		want   float64 // seconds to wait
	}{
		{0, "a", false, 0}, {0, "a", false, 0}, {0, "a", false, 0}, // the burst
		{0, "a", false, 1},
		{0, "b", false, 0},                                      // each key has its own
		{0, "a", true, 0}, {0, "a", true, 0}, {0, "a", true, 0}, // and writes are not reads
		{0, "a", true, 10},
		{0.25, "a", false, 0.75},
		{0.25, "a", false, 0.75}, // who is refused does not wait longer for it
		{1, "a", false, 0},
		{1, "a", false, 1},
		{9, "a", true, 1},
		{10, "a", true, 0},
		{10, "a", true, 10},
		{100, "a", false, 0}, {100, "a", false, 0}, {100, "a", false, 0}, // no more than the burst adds up
		{100, "a", false, 1},
	} {
		got := r.Take(tt.key, tt.writes, at(tt.at)).Seconds()
		if got < tt.want-0.001 || got > tt.want+0.001 {
			t.Errorf("%+v: %v to wait", tt, got)
		}
	}
	unlimited := httpapi.NewRates(httpapi.Rate{Writes: 6, Burst: 1})
	for range 1000 {
		if got := unlimited.Take("a", false, start); got != 0 {
			t.Fatalf("reads without a rate wait for %v", got)
		}
	}
	for range 2 {
		unlimited.Take("a", true, start)
	}
	if got := unlimited.Take("a", true, start); got != 10*time.Second {
		t.Errorf("writes wait for %v", got)
	}
}

// Keys that have their burst again are forgotten, and no others.
func TestRatesForget(t *testing.T) {
	start := time.Now()
	r := httpapi.NewRates(httpapi.Rate{Reads: 1, Burst: 10})
	for range 10 {
		r.Take("busy", false, start)
	}
	for i := range httpapi.MaxRates - 1 {
		r.Take(fmt.Sprint("idle", i), false, start)
	}
	later := start.Add(2 * time.Minute)
	r.Take("new", false, later)
	if got := r.Len(); got != 2 {
		t.Errorf("%d keys are known; want 2", got)
	}
	for range 2 {
		r.Take("busy", false, later)
	}
	if got := r.Take("busy", false, later); got != time.Minute {
		t.Errorf("a busy key waits for %v; want 1m: it was forgotten", got)
	}
}

// Who asks too often is told when to come back, on whichever connection; others are
// not concerned.
func TestRateLimits(t *testing.T) {
	s := newSite(t, func(o *httpapi.Options) { o.Rate = httpapi.Rate{Reads: 1, Writes: 1, Burst: 3} })
	reader, writer := s.as("acme", apikey.RoleRead), s.as("acme", apikey.RoleWrite)
	for i := range 3 {
		if r := reader.with("Connection", "close").do(t, "GET", "/v1/whoami", nil); r.status != http.StatusOK {
			t.Fatalf("request %d: %d %s", i, r.status, r.text)
		}
	}
	r := reader.do(t, "GET", stores, nil)
	r.fails(t, http.StatusTooManyRequests, "rate_limit_error", "1 requests of this kind per minute")
	seconds, err := strconv.Atoi(r.header.Get("retry-after"))
	if err != nil || seconds < 50 || seconds > 60 {
		t.Errorf("retry-after is %q; want nearly a minute", r.header.Get("retry-after"))
	}
	millis, err := strconv.Atoi(r.header.Get("retry-after-ms"))
	if err != nil || millis < 50_000 || millis > 60_000 || (millis+999)/1000 != seconds {
		t.Errorf("retry-after-ms is %q with retry-after %d", r.header.Get("retry-after-ms"), seconds)
	}
	before := s.state("acme")
	for i := range 5 { // writes have their own rate, and what is refused does nothing
		r := writer.do(t, "POST", stores, object{"name": fmt.Sprint("store ", i)})
		if want := map[bool]int{true: 200, false: 429}[i < 3]; r.status != want {
			t.Errorf("write %d: %d %s; want %d", i, r.status, r.text, want)
		}
	}
	if got := strings.Count(s.state("acme"), `"Name": "store `) - strings.Count(before, `"Name": "store `); got != 3 {
		t.Errorf("%d stores were made; want 3", got)
	}
	if r := writer.do(t, "GET", stores, nil); r.status != http.StatusOK {
		t.Errorf("a read of a key that wrote too much: %d %s", r.status, r.text)
	}
	// Refusals for other reasons do not count, or a wrong key could use up a rate.
	nobody := s.as("acme", apikey.RoleRead)
	for range 10 {
		nobody.do(t, "POST", stores, object{"name": "x"}).fails(t, http.StatusForbidden, noAccess)
	}
	if r := nobody.do(t, "GET", stores, nil); r.status != http.StatusOK {
		t.Errorf("after refusals: %d %s", r.status, r.text)
	}
}

// A pending is a request whose body has not arrived.
type pending struct {
	net.Conn
	in *bufio.Reader
}

// begin sends a request except the last byte of its body.
func (s *site) begin(c *caller, path, body string) *pending {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(bound))
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nx-api-key: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, c.key, len(body), body[:len(body)-1])
	if err != nil {
		s.t.Fatal(err)
	}
	return &pending{conn, bufio.NewReader(conn)}
}

// end sends the last byte, and returns the status of the answer.
func (p *pending) end(t *testing.T) int {
	t.Helper()
	if _, err := p.Write([]byte("}")); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(p.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// look is a request with a body that changes nothing.
var look = object{"command": "view", "path": "/memories"}

// fill begins requests until a caller gets no place for one more body, and returns
// them: some may not have got one either.
func (s *site) fill(c *caller, store string) (held []*pending) {
	s.t.Helper()
	for end := time.Now().Add(bound); ; time.Sleep(5 * time.Millisecond) {
		if r := c.do(s.t, "POST", store+"/tool", look); r.status == 529 {
			r.fails(s.t, 529, "overloaded_error")
			if r.header.Get("retry-after") != "1" || r.header.Get("retry-after-ms") != "1000" || r.header.Get("x-should-retry") != "true" {
				s.t.Errorf("header %v", r.header)
			}
			return held
		}
		if time.Now().After(end) {
			s.t.Fatalf("%d requests are under way, and there is a place for one more", len(held))
		}
		held = append(held, s.begin(c, store+"/memories", fmt.Sprintf(`{"path":"/%s/%d.md","content":"x"}`, backend.NewMemoryID(end), len(held))))
	}
}

// end ends requests, of which so many must have had a place.
func end(t *testing.T, held []*pending, most int) {
	t.Helper()
	done := 0
	for _, p := range held {
		switch got := p.end(t); got {
		case http.StatusOK:
			done++
		case 529:
		default:
			t.Errorf("a request that was under way: %d", got)
		}
	}
	if done != most {
		t.Errorf("%d requests were under way; want %d", done, most)
	}
}

// until asks again and again until a request gets a status.
func (c *caller) until(t *testing.T, status int, method, path string, body any) *reply {
	t.Helper()
	for end := time.Now().Add(bound); ; time.Sleep(time.Millisecond) {
		r := c.do(t, method, path, body)
		if r.status == status {
			return r
		}
		if time.Now().After(end) {
			t.Fatalf("%s: still %d %s; want %d", r.request, r.status, r.text, status)
		}
	}
}

// When so many bodies arrive as may, more are told to come back, and those under way
// are carried out. Requests without a body are served meanwhile; streams are counted by
// themselves, and who has no key takes nobody's place.
func TestConcurrency(t *testing.T) {
	const most = 4
	s := newSite(t, func(o *httpapi.Options) { o.MaxConcurrent, o.QueueTime = most, 20*time.Millisecond })
	store := s.admin.newStore(t, "a")
	nobody := &caller{url: s.url, key: apikey.NewSecret()}
	for range 3 * most {
		s.begin(nobody, store+"/memories", `{"path":"/a.md"}`)
	}
	held := s.fill(s.admin, store)
	for range 20 {
		if r := s.admin.do(t, "GET", store, nil); r.status != http.StatusOK {
			t.Fatalf("a request without a body: %d %s", r.status, r.text)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var streams []*http.Response
	for i := range most + 1 {
		request, err := http.NewRequestWithContext(ctx, "GET", s.url+store+"/changes?after=0", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("x-api-key", s.admin.key)
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if want := map[bool]int{true: 200, false: 529}[i < most]; response.StatusCode != want {
			t.Errorf("stream %d: %d; want %d", i, response.StatusCode, want)
		}
		streams = append(streams, response)
	}

	end(t, held, most)
	s.admin.until(t, http.StatusOK, "POST", store+"/tool", look)
	end(t, s.fill(s.admin, store), most) // all are free again
	// The streams have missed nothing.
	seen := bufio.NewReader(streams[0].Body)
	for found := 0; found < 2*most; {
		line, err := seen.ReadBytes('\n')
		if err != nil {
			t.Fatalf("after %d versions: %v", found, err)
		}
		if bytes.HasPrefix(line, []byte("event: memory_version")) {
			found++
		}
	}
	cancel()
	s.admin.until(t, http.StatusOK, "GET", store+"/entries", nil) // a slot of a stream
}

// One workspace never takes all places, nor one key all of a workspace's: however much
// it asks for at once, others are served.
func TestShareOfOneKey(t *testing.T) {
	const most, ofWorkspace, ofKey = 12, 9, 7
	s := newSite(t, func(o *httpapi.Options) { o.MaxConcurrent, o.QueueTime = most, 20*time.Millisecond })
	greedy, second := s.as("acme", apikey.RoleWrite), s.as("acme", apikey.RoleWrite)
	other := s.as("other", apikey.RoleWrite)
	store, others := greedy.newStore(t, "a"), other.newStore(t, "b")
	serves := func(c *caller, store string) {
		t.Helper()
		for range 20 {
			if r := c.do(t, "POST", store+"/tool", look); r.status != http.StatusOK {
				t.Fatalf("%d %s", r.status, r.text)
			}
		}
	}
	held := s.fill(greedy, store)
	serves(second, store)
	more := s.fill(second, store)
	serves(other, others)
	if r := greedy.do(t, "POST", store+"/tool", look); r.status != 529 {
		t.Errorf("for the greedy one: %d", r.status)
	}
	end(t, s.fill(other, others), most-ofWorkspace)
	end(t, more, ofWorkspace-ofKey)
	end(t, held, ofKey)
	greedy.until(t, http.StatusOK, "POST", store+"/tool", look)
}
