package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"memento/test/proctest"
)

// raw sends bytes to the server, byte by byte if slowly, and returns all that it says
// until it ends the connection, which it has to.
func (s *serving) raw(what, text string, slowly bool) string {
	conn, err := net.Dial("tcp", s.at.Address)
	if err != nil {
		s.t.Error(err)
		return ""
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
	go func() {
		if !slowly {
			_, _ = io.WriteString(conn, text)
			return
		}
		for i := range len(text) {
			if _, err := io.WriteString(conn, text[i:i+1]); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	heard, err := io.ReadAll(conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.t.Errorf("%s: not cut off", what)
	}
	return string(heard)
}

// The program as it is started, with a setting or two, keeps to its bounds.
func TestServeGuards(t *testing.T) {
	dataHome(t)
	s := serve(t, "--backend", "mem:", "--timeout", "2s", "--max-body", "64K")
	key := "x-api-key: " + s.key + "\r\n"
	const host, bad = "Host: localhost\r\n", "Host: evil.example\r\n"
	const post = "POST /v1/memory_stores HTTP/1.1\r\nContent-Type: application/json\r\n"
	long := strings.Repeat(" ", 10_000)
	ended := make(chan struct{})
	guards := []struct {
		what, text string
		slowly     bool
		want       string // of the answer's first line
	}{
		{"by a name of another", "GET /v1/whoami HTTP/1.1\r\nConnection: close\r\n" + bad + key + "\r\n", false, "403"},
		{"by no name", "GET /v1/whoami HTTP/1.0\r\n" + key + "\r\n", false, "403"},
		{"from a page of another", "GET /v1/whoami HTTP/1.1\r\nConnection: close\r\nOrigin: http://evil.example\r\n" + host + key + "\r\n", false, "403"},
		{"as it should be", "GET /v1/whoami HTTP/1.1\r\nConnection: close\r\n" + host + key + "\r\n", false, "200"},
		{"without a key", "GET /v1/whoami HTTP/1.1\r\nConnection: close\r\n" + host + "\r\n", false, "401"},
		{"a slow body", post + host + key + "Content-Length: 10000\r\n\r\n" + long, true, "408"},
		{"a slow body without a key", post + host + "Content-Length: 10000\r\n\r\n" + long, true, "401"},
		{"a slow body for the health", "GET /healthz HTTP/1.1\r\n" + host + "Content-Length: 10000\r\n\r\n" + long, true, "200"},
		{"a body for readiness that never comes", "GET /readyz HTTP/1.1\r\n" + host + "Content-Length: 10000\r\n\r\n", false, "200"},
		{"a large body", post + host + key + "Content-Length: 80000\r\n\r\n" + strings.Repeat(" ", 80_000), false, "413"},
		{"a header flood", "GET /v1/whoami HTTP/1.1\r\n" + host + key + strings.Repeat("X-Many: aaaaaaaaaa\r\n", 2000), false, "431"},
	}
	for _, g := range guards {
		go func() {
			heard := s.raw(g.what, g.text, g.slowly)
			if status, _, _ := strings.Cut(strings.TrimPrefix(heard, "HTTP/1.1 "), " "); status != g.want && strings.TrimPrefix(heard, "HTTP/1.0 "+g.want) == heard {
				t.Errorf("%s: %.300q; want %s", g.what, heard, g.want)
			}
			ended <- struct{}{}
		}()
	}
	for range guards {
		<-ended
	}
	if s.at.Pprof != "" || !strings.HasPrefix(s.at.Metrics, "127.0.0.1:") || !strings.HasPrefix(s.at.Address, "127.0.0.1:") {
		t.Errorf("it listens at %+v", s.at)
	}
}

// A key that is revoked on the file, while a server uses that, is refused after
// some seconds, and ends the streams that it has begun.
func TestServeForgetsKeys(t *testing.T) {
	dataHome(t)
	url := database(t)
	s := serve(t, "--backend", url)
	code, out, errs := runWith(t, "", "--backend", url, "--json", "keys", "create", "to be revoked", "--role", "read")
	var made struct{ ID, Key string }
	if err := json.Unmarshal([]byte(out), &made); err != nil || code != exitOK || made.Key == "" {
		t.Fatalf("keys create: exit code %d, %s%s", code, out, errs)
	}
	_, text := s.ask("POST", "/v1/memory_stores", `{"name":"a"}`)
	var store struct{ ID string }
	if err := json.Unmarshal([]byte(text), &store); err != nil {
		t.Fatal(err)
	}
	admin := s.key
	s.key = made.Key
	if status, text := s.ask("GET", "/v1/whoami", ""); status != http.StatusOK {
		t.Fatalf("a key that another process has made: %d %s", status, text)
	}
	request, err := http.NewRequestWithContext(t.Context(), "GET", s.at.URL+"/v1/memory_stores/"+store.ID+"/changes", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("x-api-key", made.Key)
	stream, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	if line, err := bufio.NewReader(stream.Body).ReadString('\n'); err != nil || line != ": connected\n" {
		t.Fatalf("a stream: %s, %q, %v", stream.Status, line, err)
	}

	if code, _, errs := runWith(t, "", "--backend", url, "keys", "revoke", made.ID); code != exitOK {
		t.Fatalf("keys revoke: exit code %d, %s", code, errs)
	}
	began := time.Now()
	proctest.Until(t, "the key is not let in", func() bool { status, _ := s.ask("GET", "/v1/whoami", ""); return status == http.StatusUnauthorized })
	t.Logf("after %v", time.Since(began))
	if _, err := io.Copy(io.Discard, stream.Body); err != nil {
		t.Errorf("the stream of the key: %v", err)
	}
	s.key = admin
	if status, text := s.ask("GET", "/v1/whoami", ""); status != http.StatusOK {
		t.Errorf("another key: %d %s", status, text)
	}
}

// What a server says, at its most talkative, has nothing of what it was told: no key,
// no contents, no path of a memory, no name, nothing that was asked for.
func TestServeKeepsSecrets(t *testing.T) {
	dataHome(t)
	s := serve(t, "--log-level", "debug", "--log-format", "json")
	store := func(body string) string {
		_, text := s.ask("POST", "/v1/memory_stores", body)
		var made struct{ ID string }
		if err := json.Unmarshal([]byte(text), &made); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return "/v1/memory_stores/" + made.ID
	}
	at := store(`{"name":"canary name","description":"canary description","metadata":{"canary":"canary"}}`)
	_, text := s.ask("POST", "/v1/admin/keys", `{"name":"canary key","role":"read"}`)
	var key struct{ Key string }
	if err := json.Unmarshal([]byte(text), &key); err != nil || key.Key == "" {
		t.Fatalf("%s: %v", text, err)
	}
	for _, ask := range [][3]string{
		{"POST", at + "/memories", `{"path":"/canary.md","content":"canary content"}`},
		{"POST", at + "/memories", `{"path":"/canary.md","content":"canary again"}`},
		{"POST", at + "/memories", `{"path":"/canary/../x","content":"canary"}`},
		{"POST", at + "/memories", `{"path":"/canary2.md","canary":"canary"}`},
		{"POST", at + "/memories", `canary`},
		{"POST", at + "/tool", `{"command":"create","path":"/memories/canary3.md","file_text":"canary","session_id":"canary"}`},
		{"POST", at + "/tool", `{"command":"canary"}`},
		{"POST", at + "/tool?session_id=canary", `{"command":"str_replace","path":"/memories/canary3.md","old_str":"canaries","new_str":"canary"}`},
		{"GET", at + "/search?query=canary", ""},
		{"GET", at + "/memories/by-path?path=/canary.md", ""},
		{"GET", at + "/memories?path_prefix=/canary/", ""},
		{"GET", "/canary?canary=canary", ""},
		{"CANARY", "/v1/whoami", ""},
		{"POST", at + "/history", `{"type":"memory_version","id":"canary"}`},
		{"POST", at + "/import", "canary"},
		{"DELETE", at, ""},
		{"GET", at + "/memories", ""},
	} {
		s.ask(ask[0], ask[1], ask[2])
	}
	own := s.key
	s.key = "canary-credential"
	s.ask("GET", "/v1/whoami", "")
	s.key = own
	res, err := http.Get("http://" + s.at.Metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.wait()
	for what, text := range map[string]string{"the log": s.said.String(), "metrics": string(metrics)} {
		if !strings.Contains(text, "memory_stores") {
			t.Errorf("%s: nothing of the requests: %s", what, text)
		}
		for line := range strings.Lines(text) {
			low := strings.ToLower(line)
			for _, secret := range []string{"canar", strings.ToLower(own), strings.ToLower(key.Key)} {
				if strings.Contains(low, secret) {
					t.Errorf("%s has %q: %s", what, secret, line)
				}
			}
		}
	}
}
