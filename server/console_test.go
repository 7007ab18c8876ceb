package server

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A browser is sent to the console, and others get the API's answer. Without the setting
// there is no console.
func TestConsole(t *testing.T) {
	c := testConfig()
	ask := func(r *running, path, accept string) int {
		q, err := http.NewRequestWithContext(t.Context(), "GET", r.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Accept", accept)
		res, err := http.DefaultTransport.RoundTrip(q)
		if err != nil {
			t.Fatal(err)
		}
		return answerOf(t, res).StatusCode
	}
	const browser, program = "text/html,*/*", "*/*"
	for _, on := range []bool{true, false} {
		c.Console = on
		r := start(t, c)
		want := map[string]int{"/": 303, "/console": 308, "/console/": 200}
		if !on {
			want = map[string]int{"/": 401, "/console": 401, "/console/": 401}
		}
		for path, status := range want {
			if got := ask(r, path, browser); got != status {
				t.Errorf("console %v: %s: %d, want %d", on, path, got, status)
			}
		}
		if got := ask(r, "/", program); got != 401 {
			t.Errorf("console %v: a program gets %d", on, got)
		}
	}
}

// The console does not wait for bodies that it does not read, and answers on a connection
// whose last answer of the API had a deadline that is over.
func TestConsoleConnections(t *testing.T) {
	c := testConfig()
	c.Console, c.Timeout = true, 200*time.Millisecond
	r := start(t, c)
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	in := bufio.NewReader(conn)
	ask := func(request, more string) int {
		t.Helper()
		fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: %s\r\nX-Api-Key: %s\r\n%s\r\n", request, conn.RemoteAddr(), r.key, more)
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("%s: %v", request, err)
		}
		return answerOf(t, res).StatusCode
	}
	if got := ask("GET /v1/whoami", ""); got != http.StatusOK {
		t.Fatalf("got %d", got)
	}
	time.Sleep(2 * c.Timeout) // until the deadline is over
	if got := ask("GET /console/", ""); got != http.StatusOK {
		t.Errorf("got %d", got)
	}
	if got := ask("POST /console/session", "Content-Length: 5\r\n"); got != http.StatusForbidden {
		t.Errorf("got %d", got)
	}
}
