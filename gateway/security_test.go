package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/gateway"
)

// Whatever goes wrong: neither keys nor words of requests and answers are logged.
func TestNothingOfRequestsIsLogged(t *testing.T) {
	const words = "canary of a request"
	echo := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, r.Header, string(body))
	}
	broken := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, events("message_start", start, "message_delta", `{"canary of an answer`))
	}
	gone := make(chan struct{}, 100)
	for name, upstream := range map[string]http.HandlerFunc{
		"no answer": hangUp, "an echo": echo, "a broken stream": broken, "an error": failing(529), "silence": waits(gone, ""),
		"an answer": saying(savesNote), "no JSON": saying("canary of an answer"),
	} {
		for _, held := range []string{"", "sk-held-canary"} {
			w := newWorld(t, upstream, func(c *gateway.Config) {
				c.Timeout = 50 * time.Millisecond
				c.Identify = func(*http.Request) (gateway.Caller, error) {
					return gateway.Caller{Workspace: memento.DefaultWorkspace, Store: "default", UpstreamKey: held}, nil
				}
			})
			for _, body := range []string{asksSave, request, `{"stream":`} {
				body = strings.Replace(body, `"x"`, `"`+words+`"`, 1)
				for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens", "/v1/other?words=canary+of+a+query"} {
					w.post(path, body)
				}
			}
			for _, secret := range []string{upstreamKey, "sk-held-canary", "canary of", "canary+of"} {
				if strings.Contains(w.log.String(), secret) {
					t.Errorf("%s: the log has %q:\n%s", name, secret, w.log)
				}
			}
		}
	}
}

// No request and no answer leads the gateway to another server.
func TestUpstreamIsFixed(t *testing.T) {
	var reached atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer other.Close()
	address := strings.TrimPrefix(other.URL, "http://")
	w := newWorld(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	client := &http.Client{Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	for _, body := range []string{asksSave, request, "{}"} {
		for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens", "/v1/other"} {
			response, err := client.Post(w.url+path, "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != http.StatusTemporaryRedirect {
				t.Errorf("%s: a redirection came as %d", path, response.StatusCode)
			}
		}
	}
	up := &tape{answers: []string{saysDone}}
	w = newWorld(t, up)
	for _, path := range []string{"/v1/messages", "/v1/other"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST http://%s%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nX-Forwarded-Host: %s\r\nContent-Length: %d\r\n\r\n%s", address, path, address, address, len(asksSave), asksSave)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("got %v, %v", response, err)
		}
	}
	if len(up.bodies) != 2 || reached.Load() != 0 {
		t.Errorf("the upstream got %d requests, another server %d", len(up.bodies), reached.Load())
	}
	// Nor to what is beside the base URL.
	for _, path := range []string{"/v1/../admin", "/v1/%2e%2e/admin", "/v1/./messages", "/v1/messages/.."} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || response.StatusCode != http.StatusNotFound {
			t.Errorf("%s: got %v, %v", path, response, err)
		}
	}
	if len(up.bodies) != 2 {
		t.Errorf("the upstream got %q", up.uris)
	}
}
