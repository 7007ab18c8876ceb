package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// Memento's own key never reaches the upstream, also if the application sends it in the
// header of the upstream's key as well. Then the held key is used.
func TestGatewayKeepsItsKey(t *testing.T) {
	got := make(chan http.Header, 10)
	c := gatewayConfig(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header
		io.WriteString(w, "{}")
	}))
	r := start(t, c)
	another := r.addKey("other", "admin")
	ask := func(headers ...string) answer {
		return r.ask("POST", "/v1/messages", "", "{}", append(headers, "Memento-Key", r.key)...)
	}
	for _, headers := range [][]string{
		{"X-Api-Key", r.key}, {"Authorization", "Bearer " + r.key}, {"Authorization", "bearer  " + r.key}, {"X-Api-Key", r.key, "Authorization", r.key}, {"X-Api-Key", another},
	} {
		if a := ask(headers...); a.StatusCode != http.StatusForbidden || !strings.Contains(a.text, "holds no key") {
			t.Errorf("%s: got %d %s", headers[0], a.StatusCode, a.text)
		}
	}
	for _, headers := range [][]string{{"X-Api-Key", r.key, "Authorization", "Bearer sk-own"}, {"X-Api-Key", "sk-own", "Authorization", "Bearer " + another}} {
		if a := ask(headers...); a.StatusCode != http.StatusOK {
			t.Fatalf("got %d %s", a.StatusCode, a.text)
		}
		if h := fmt.Sprint(<-got); !strings.Contains(h, "sk-own") || strings.Contains(h, "sk-memento") {
			t.Errorf("the upstream got %s", h)
		}
	}
	if len(got) > 0 {
		t.Errorf("the upstream got %v", <-got)
	}
}

// What the application learns as the ID of a request is in the log, whoever has made it,
// and so are the bytes of the request and the final status.
func TestGatewayLog(t *testing.T) {
	c := gatewayConfig(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "hang up") {
			panic(http.ErrAbortHandler)
		}
		if r.URL.Path != "/v1/models" {
			w.Header().Set("Request-Id", "req_upstream")
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"type":"message","content":[],"stop_reason":"end_turn"}`)
	}))
	r := start(t, c)
	var want []string // in the log, which is complete when the server has stopped
	ask := func(path, body string) answer {
		a := r.ask("POST", path, "sk-own", body, "Memento-Key", r.key)
		if len(a.Header.Values("Request-Id")) != 1 || a.Header.Get("Server-Timing") == "" && a.StatusCode == http.StatusOK {
			t.Errorf("%s: the header is %v", path, a.Header)
		}
		return a
	}
	for _, path := range []string{"/v1/messages", "/v1/files"} {
		a := ask(path, strings.Replace(remember, "I like tea", "hang up", 1))
		id := a.Header.Get("Request-Id")
		if a.StatusCode != http.StatusBadGateway || !strings.Contains(a.text, id) {
			t.Errorf("%s: got %d %s", path, a.StatusCode, a.text)
		}
		want = append(want, `did not answer".* upstream=127\.0\.0\.1:\d+ request_id=`+id, `msg=request request_id=`+id+` .*status=502`)
		if a := ask(path, remember); a.Header.Get("Request-Id") != "req_upstream" {
			t.Errorf("%s: got %v", path, a.Header)
		}
	}
	want = append(want, fmt.Sprintf(`route=/v1/messages status=200 .*read=%d .*upstream_request_id=req_upstream`, len(remember)))
	want = append(want, fmt.Sprintf(`route=/v1/.gateway. status=200 .*read=%d .*upstream_request_id=req_upstream`, len(remember)))
	want = append(want, "request_id="+ask("/v1/models", "").Header.Get("Request-Id")+" .*status=200")

	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/expecting HTTP/1.1\r\nHost: 127.0.0.1\r\nMemento-Key: %s\r\nX-Api-Key: sk-own\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 2\r\n\r\n", r.key)
	in := bufio.NewReader(conn)
	if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("got %q, %v", line, err)
	}
	io.WriteString(conn, "{}")
	if rest, err := io.ReadAll(in); err != nil || !strings.Contains(string(rest), "200 OK") {
		t.Errorf("got %s, %v", rest, err)
	}
	// A request whose end could be seen at two places ends its connection.
	for _, path := range []string{"/v1/messages", "/v1/files"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nMemento-Key: %s\r\nX-Api-Key: sk-own\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", path, r.key)
		if rest, err := io.ReadAll(conn); err != nil || !strings.Contains(string(rest), "200 OK") || !strings.Contains(string(rest), "Connection: close") {
			t.Errorf("%s: got %s, %v", path, rest, err)
		}
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range want {
		if !regexp.MustCompile(pattern).MatchString(r.log.String()) {
			t.Errorf("the log lacks %s", pattern)
		}
	}
	if strings.Contains(r.log.String(), "status=100") {
		t.Error("a status that only informs is logged as that of the answer")
	}
	if t.Failed() {
		t.Log(r.log.String())
	}
}

// The spans of messages count tokens as the conventions do: those of the cache as well.
func TestGatewaySpanTokens(t *testing.T) {
	to := receive(t)
	c := gatewayConfig(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"type":"message","content":[],"stop_reason":"end_turn","usage":{"input_tokens":5,"cache_creation_input_tokens":70,"cache_read_input_tokens":1100,"output_tokens":3}}`)
	}))
	c.Traces.Endpoint = to.URL
	r := start(t, c)
	r.ask("POST", "/v1/messages", "sk-own", remember, "Memento-Key", r.key)
	if err := r.stop(); err != nil { // which sends the last spans
		t.Fatal(err)
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	for _, s := range to.spans {
		about := attributes(s)
		if about["gen_ai.request.model"] == "" {
			continue
		}
		for name, want := range map[string]string{"input_tokens": "1175", "cache_creation.input_tokens": "70", "cache_read.input_tokens": "1100", "output_tokens": "3"} {
			if got := about["gen_ai.usage."+name]; got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
		return
	}
	t.Error("there is no span of a message")
}
