package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/httpapi"
)

// wire sends bytes to a site, on a connection of their own, and returns the first
// answer to them. What does not answer within a time fails the test.
func (s *site) wire(method, text string) *reply {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(bound))
	if _, err := io.WriteString(conn, text); err != nil {
		s.t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		s.t.Fatalf("%q: %v", text, err)
	}
	defer response.Body.Close()
	r := &reply{request: fmt.Sprintf("%q", text), status: response.StatusCode, header: response.Header}
	if r.text, err = io.ReadAll(response.Body); err != nil {
		s.t.Fatal(err)
	}
	return r
}

// A server that knows its names answers to those only, so that a page that has its
// own name resolve to this machine (DNS rebinding) gets nowhere, key or no key.
func TestHosts(t *testing.T) {
	s := newSite(t, func(o *httpapi.Options) { o.Hosts = []string{"localhost", "127.0.0.1", "::1", "Memory.Example"} })
	key := "x-api-key: " + s.admin.key + "\r\n"
	const yes, no, malformed = http.StatusOK, http.StatusForbidden, http.StatusBadRequest
	for _, tt := range []struct {
		line, host string
		want       int
	}{
		{"GET /v1/whoami HTTP/1.1", "localhost", yes},
		{"GET /v1/whoami HTTP/1.1", "localhost:8377", yes},
		{"GET /v1/whoami HTTP/1.1", "LocalHost:1", yes},
		{"GET /v1/whoami HTTP/1.1", "localhost.", yes},
		{"GET /v1/whoami HTTP/1.1", "localhost.:8377", yes},
		{"GET /v1/whoami HTTP/1.1", "127.0.0.1:8377", yes},
		{"GET /v1/whoami HTTP/1.1", "[::1]:8377", yes},
		{"GET /v1/whoami HTTP/1.1", "[::1]", yes},
		{"GET /v1/whoami HTTP/1.1", "memory.example", yes},
		{"GET /v1/whoami HTTP/1.1", "localhost..", no},
		{"GET /v1/whoami HTTP/1.1", "evil.example", no},
		{"GET /v1/whoami HTTP/1.1", "evil.example:8377", no},
		{"GET /v1/whoami HTTP/1.1", "localhost.evil.example", no},
		{"GET /v1/whoami HTTP/1.1", "evil.localhost", no},
		{"GET /v1/whoami HTTP/1.1", "notlocalhost", no},
		{"GET /v1/whoami HTTP/1.1", "localhost:8377:8377", no},
		{"GET /v1/whoami HTTP/1.1", "127.0.0.1.evil.example", no},
		{"GET /v1/whoami HTTP/1.1", "127.0.0.2", no},
		{"GET /v1/whoami HTTP/1.1", "127.1", no},
		{"GET /v1/whoami HTTP/1.1", "2130706433", no},
		{"GET /v1/whoami HTTP/1.1", "0.0.0.0", no},
		{"GET /v1/whoami HTTP/1.1", "[::]", no},
		{"GET /v1/whoami HTTP/1.1", "[::ffff:127.0.0.1]", no},
		{"GET /v1/whoami HTTP/1.1", "[::1%25eth0]", no},
		{"GET /v1/whoami HTTP/1.1", "user@localhost", malformed},
		{"GET /v1/whoami HTTP/1.1", "", no},
		{"GET /openapi.json HTTP/1.1", "evil.example", no},
		{"GET /v1/nothing HTTP/1.1", "evil.example", no},
		{"GET /v1/whoami HTTP/1.1", "local host", malformed},
		{"GET /v1/whoami HTTP/1.1", "-", malformed}, // none
		{"GET /v1/whoami HTTP/1.0", "-", no},
		{"GET /v1/whoami HTTP/1.0", "localhost", yes},
		// What is in the target counts, as RFC 9112, section 3.2.2 has it.
		{"GET http://localhost:8377/v1/whoami HTTP/1.1", "evil.example", yes},
		{"GET http://evil.example/v1/whoami HTTP/1.1", "localhost", no},
		{"GET http://localhost@evil.example/v1/whoami HTTP/1.1", "localhost", no},
		{"GET http://evil.example/v1/whoami HTTP/1.0", "localhost", no},
		{"CONNECT evil.example:443 HTTP/1.1", "localhost", no},
	} {
		text := tt.line + "\r\n" + key
		if tt.host != "-" {
			text += "Host: " + tt.host + "\r\n"
		}
		r := s.wire(http.MethodGet, text+"\r\n")
		if r.status != tt.want {
			t.Errorf("%s, Host %q: %d %s; want %d", tt.line, tt.host, r.status, r.text, tt.want)
		}
		if r.status == no && !strings.Contains(string(r.text), `"permission_error"`) {
			t.Errorf("%s, Host %q: %s", tt.line, tt.host, r.text)
		}
		if r.status == no && strings.Contains(string(r.text), tt.host) && len(tt.host) > 1 {
			t.Errorf("%s, Host %q is repeated: %s", tt.line, tt.host, r.text)
		}
	}
	two := s.wire(http.MethodGet, "GET /v1/whoami HTTP/1.1\r\n"+key+"Host: localhost\r\nHost: evil.example\r\n\r\n")
	if two.status != malformed {
		t.Errorf("two hosts: %d %s", two.status, two.text)
	}
}

// Pages of other origins are refused, whatever key they have; those that are named,
// and those of this server, are not.
func TestOrigins(t *testing.T) {
	s := newSite(t, func(o *httpapi.Options) { o.Origins = []string{"https://console.example", "http://localhost:3000"} })
	for _, tt := range []struct {
		host    string
		origins []string
		want    int
		cors    bool
	}{
		{"localhost:8377", nil, 200, false},
		{"localhost:8377", []string{"http://localhost:8377"}, 200, false},
		{"localhost:8377", []string{"https://LOCALHOST:8377"}, 200, false},
		{"[::1]:8377", []string{"http://[::1]:8377"}, 200, false},
		{"localhost:8377", []string{"https://console.example"}, 200, true},
		{"localhost:8377", []string{"HTTPS://Console.Example"}, 200, true},
		{"localhost:8377", []string{"http://localhost:3000"}, 200, true},
		{"localhost:8377", []string{"http://localhost:3001"}, 403, false},
		{"localhost:8377", []string{"http://localhost"}, 403, false},
		{"localhost:8377", []string{"http://127.0.0.1:8377"}, 403, false},
		{"localhost:8377", []string{"http://console.example"}, 403, false},
		{"localhost:8377", []string{"https://console.example.evil"}, 403, false},
		{"localhost:8377", []string{"https://console.example/"}, 403, false},
		{"localhost:8377", []string{"https://evil.example"}, 403, false},
		{"localhost:8377", []string{"https://evil.example#localhost:8377"}, 403, false},
		{"localhost:8377", []string{"https://localhost:8377@evil.example"}, 403, false},
		{"localhost:8377", []string{"null"}, 403, false},
		{"localhost:8377", []string{""}, 403, false},
		{"localhost:8377", []string{"*"}, 403, false},
		{"localhost:8377", []string{"file://"}, 403, false},
		{"localhost:8377", []string{"localhost:8377"}, 403, false},
		{"localhost:8377", []string{"https://console.example", "https://evil.example"}, 403, false},
		{"localhost:8377", []string{"https://console.example, https://evil.example"}, 403, false},
	} {
		text := "GET /v1/whoami HTTP/1.1\r\nHost: " + tt.host + "\r\nx-api-key: " + s.admin.key + "\r\n"
		for _, o := range tt.origins {
			text += "Origin: " + o + "\r\n"
		}
		r := s.wire(http.MethodGet, text+"\r\n")
		if r.status != tt.want {
			t.Errorf("Host %s, Origin %q: %d %s; want %d", tt.host, tt.origins, r.status, r.text, tt.want)
		}
		if got := r.header.Get("Access-Control-Allow-Origin"); (got != "") != tt.cors || tt.cors && got != tt.origins[0] {
			t.Errorf("Host %s, Origin %q: allowed is %q", tt.host, tt.origins, got)
		}
		if r.header.Get("Access-Control-Allow-Credentials") != "" || r.header.Get("Vary") != "Origin" {
			t.Errorf("Host %s, Origin %q: %v", tt.host, tt.origins, r.header)
		}
	}
}

// The page of a rebound name has the origin of that name, so it is the server's own
// by its Host header: what tells is that the server does not have this name.
func TestRebinding(t *testing.T) {
	s := newSite(t, func(o *httpapi.Options) { o.Hosts = []string{"localhost", "127.0.0.1", "::1"} })
	before := s.state(memento.DefaultWorkspace)
	for _, method := range []string{"GET", "POST", "OPTIONS", "DELETE", "PUT"} {
		body := `{"name":"rebound"}`
		r := s.wire(method, method+" /v1/memory_stores HTTP/1.1\r\nHost: evil.example:8377\r\nOrigin: http://evil.example:8377\r\n"+
			"Content-Type: application/json\r\nx-api-key: "+s.admin.key+"\r\n"+fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body))
		if r.status != http.StatusForbidden || len(r.header.Values("Access-Control-Allow-Origin")) > 0 {
			t.Errorf("%s: %d %s", method, r.status, r.text)
		}
	}
	if s.state(memento.DefaultWorkspace) != before {
		t.Error("something changed")
	}
}

// A browser asks first, without a key, whether a page may send what it wants to.
func TestPreflight(t *testing.T) {
	s := newSite(t, func(o *httpapi.Options) { o.Origins = []string{"https://console.example"} })
	nobody := &caller{url: s.url}
	ask := []string{"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "x-api-key,content-type"}

	r := nobody.with(ask...).with("Origin", "https://console.example").do(t, "OPTIONS", stores, nil)
	if r.status != http.StatusNoContent || len(r.text) > 0 {
		t.Errorf("%d %s", r.status, r.text)
	}
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin":  "https://console.example",
		"Access-Control-Allow-Methods": "GET, POST, PATCH, DELETE",
		"Access-Control-Allow-Headers": "x-api-key,content-type",
		"Access-Control-Max-Age":       "600",
	} {
		if got := r.header.Get(name); got != want {
			t.Errorf("%s is %q; want %q", name, got, want)
		}
	}
	for what, c := range map[string]*caller{
		"of another origin": nobody.with(ask...).with("Origin", "https://evil.example"),
		"of this server":    nobody.with(ask...).with("Origin", s.url),
		"of no page":        nobody.with(ask...),
		"that is none":      nobody.with("Origin", "https://console.example"),
	} {
		r := c.do(t, "OPTIONS", stores, nil)
		if r.status == http.StatusNoContent || r.header.Get("Access-Control-Allow-Methods") != "" {
			t.Errorf("%s: %d %v", what, r.status, r.header)
		}
	}
	// The answer itself can be read by the page, also if it is an error.
	r = nobody.with("Origin", "https://console.example").do(t, "GET", stores, nil)
	if r.status != http.StatusUnauthorized || r.header.Get("Access-Control-Allow-Origin") == "" || !strings.Contains(r.header.Get("Access-Control-Expose-Headers"), "request-id") {
		t.Errorf("%d %v", r.status, r.header)
	}
}
