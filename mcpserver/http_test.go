package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/mcpserver"
	"memento/test/memories"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveHTTP serves a store to callers, who say in a header who they are: their key, and
// perhaps more after a slash. The caller "reader" can only read.
func serveHTTP(t *testing.T, store *memento.Store) *httptest.Server {
	t.Helper()
	server, _ := serveHandler(t, store, mcpserver.HandlerOptions{})
	return server
}

func serveHandler(t *testing.T, store *memento.Store, opts mcpserver.HandlerOptions) (*httptest.Server, *mcpserver.Handler) {
	t.Helper()
	opts.Server = mcpserver.Options{Poll: 5 * time.Millisecond}
	opts.Recheck = 5 * time.Millisecond
	opts.Heartbeat = time.Millisecond
	opts.Caller = func(_ http.ResponseWriter, r *http.Request) (mcpserver.Caller, bool) {
		who := r.Header.Get("Caller")
		key, _, _ := strings.Cut(who, "/")
		valid := func(context.Context) bool {
			_, is := revoked.Load(who)
			return !is
		}
		return mcpserver.Caller{ID: who, Key: key, ReadOnly: who == "reader", Valid: valid, Open: func(context.Context, mcpserver.Client) (mcpserver.Memory, error) {
			return mcpserver.Memory{Mounts: []memento.Mount{{Store: store}}}, nil
		}}, true
	}
	h, err := mcpserver.NewHandler(opts)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		h.Close()
		server.Close()
	})
	return server, h
}

// revoked has the callers that are no longer valid.
var revoked sync.Map

// as is a transport that says who sends the requests.
type as string

func (who as) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Caller", string(who))
	return http.DefaultTransport.RoundTrip(r)
}

// connectHTTP returns a session of the official client over HTTP.
func connectHTTP(t *testing.T, server *httptest.Server, who, era string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test-client", Version: "1"}, opts)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL, HTTPClient: &http.Client{Transport: as(who)}}, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func TestHTTP(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			store := newStore("default")
			memories.Put(t, store, "/notes/a.md", "1")
			server := serveHTTP(t, store)
			n, opts := newNotices()
			session := connectHTTP(t, server, "alice", era, opts)
			if text, isError := call(t, session, "memory", args{"command": "create", "path": "/memories/x é.md", "file_text": "hello"}); isError {
				t.Error(text)
			}
			got, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "memory:///memories/x%20%C3%A9.md"})
			if err != nil || got.Contents[0].Text != "hello" {
				t.Errorf("the file is %+v, %v", got, err)
			}
			if _, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "memory-topic", Arguments: map[string]string{"topic": "tea"}}); err != nil {
				t.Error(err)
			}
			const file = "memory:///memories/notes/a.md"
			if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: file}); err != nil {
				t.Fatal(err)
			}
			expect(t, n.updated, file, func(n int) { edit(t, store, "/notes/a.md", fmt.Sprint("text ", n)) })
			expect(t, n.listed, "", func(n int) { memories.Put(t, store, memento.Path(fmt.Sprintf("/notes/b%d.md", n)), "new") })

			reader := connectHTTP(t, server, "reader", era, nil)
			if text, isError := call(t, reader, "memory", args{"command": "delete", "path": "/memories/notes/a.md"}); !isError {
				t.Errorf("a reader's call is answered %q", text)
			}
		})
	}
}

// post sends one message.
func post(t *testing.T, server *httptest.Server, who, body string, headers ...string) (status int, text string, header http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := as(who).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(all), answer.Header
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

// A stream in which nothing happens has heartbeats, between events and not inside of them.
func TestHeartbeat(t *testing.T) {
	store := newStore("default")
	memories.Put(t, store, "/a.md", "1")
	server := serveHTTP(t, store)
	_, _, header := post(t, server, "alice", initialize)
	older := []string{"Mcp-Session-Id", header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version", "2025-11-25"}
	post(t, server, "alice", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, older...)
	post(t, server, "alice", `{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"memory:///memories/a.md"}}`, older...)
	for _, stream := range []struct {
		name, method, body string
		headers            []string
	}{
		{"2025-11-25", http.MethodGet, "", older},
		{"2026-07-28", http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{` + modern + `,"notifications":{"resourceSubscriptions":["memory:///memories/a.md"]}}}`,
			[]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen", "Content-Type", "application/json"}},
	} {
		t.Run(stream.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, stream.method, server.URL, strings.NewReader(stream.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Accept", "application/json, text/event-stream")
			for i := 0; i < len(stream.headers); i += 2 {
				r.Header.Set(stream.headers[i], stream.headers[i+1])
			}
			answer, err := as("alice").RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			lines := bufio.NewScanner(answer.Body)
			beats, updated := 0, false
			for beats < 3 || !updated {
				if !lines.Scan() {
					t.Fatalf("the stream has ended after %d heartbeats: %v", beats, lines.Err())
				}
				switch line := lines.Text(); {
				case line == ": still here":
					if beats++; beats == 3 {
						edit(t, store, "/a.md", "changed for "+stream.name)
					}
				case strings.HasPrefix(line, "data: {") && strings.HasSuffix(line, "}"):
					updated = updated || strings.Contains(line, "notifications/resources/updated")
				case line != "" && line[0] != ':' && !strings.HasPrefix(line, "event: ") && !strings.HasPrefix(line, "id: ") && line != "data: ":
					t.Errorf("the stream has the line %q", line)
				}
			}
		})
	}
	// What is not a stream has none.
	if _, text, _ := post(t, server, "alice", `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`, older...); strings.Contains(text, "still here") {
		t.Errorf("an answer has a heartbeat: %s", text)
	}
}

// A session can only be used by the caller who has begun it.
func TestSessionBelongsToItsCaller(t *testing.T) {
	server := serveHTTP(t, newStore("default"))
	status, text, header := post(t, server, "alice", initialize)
	session := header.Get("Mcp-Session-Id")
	if status != http.StatusOK || session == "" {
		t.Fatalf("initialize is answered with %d %s", status, text)
	}
	const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	in := []string{"Mcp-Session-Id", session, "Mcp-Protocol-Version", "2025-11-25"}
	post(t, server, "alice", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, in...)
	if status, text, _ := post(t, server, "mallory", list, in...); status != http.StatusForbidden {
		t.Errorf("another caller is answered with %d %s", status, text)
	}
	if status, text, _ := post(t, server, "alice", list, in...); status != http.StatusOK || !strings.Contains(text, "memory_search") {
		t.Errorf("the caller is answered with %d %s", status, text)
	}
	// A client that asks for what it has missed gets a stream nevertheless.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Accept": "text/event-stream", "Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-11-25", "Last-Event-ID": "x_1"} {
		r.Header.Set(name, value)
	}
	answer, err := as("alice").RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("a stream with Last-Event-ID is answered with %d", answer.StatusCode)
	}
}

// The requests of 2026-07-28 name in headers what they are about, encoded if need be.
func TestHeaders(t *testing.T) {
	store := newStore("default")
	memories.Put(t, store, "/é.md", "hello")
	server := serveHTTP(t, store)
	const uri = "memory:///memories/é.md"
	body := `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{` + modern + `,"uri":"` + uri + `"}}`
	encoded := "=?base64?" + base64.StdEncoding.EncodeToString([]byte(uri)) + "?="
	headers := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "resources/read", "Mcp-Name", encoded}
	if status, text, _ := post(t, server, "alice", body, headers...); status != http.StatusOK || !strings.Contains(text, "hello") || !strings.Contains(text, `"ttlMs":0,"cacheScope":"private"`) || !strings.Contains(text, `"resultType":"complete"`) {
		t.Errorf("answered %d %s", status, text)
	}
	headers[5] = "=?base64?" + base64.StdEncoding.EncodeToString([]byte("memory:///memories/other.md")) + "?="
	if status, text, _ := post(t, server, "alice", body, headers...); status == http.StatusOK {
		t.Errorf("a header that names something else is answered with %d %s", status, text)
	}
	discover := `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modern + `}}`
	if status, text, _ := post(t, server, "alice", discover, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "server/discover"); status != http.StatusOK || !strings.Contains(text, "2026-07-28") {
		t.Errorf("discover is answered with %d %s", status, text)
	}
}

// A stream ends when its caller is no longer valid.
func TestStreamOfRevokedCaller(t *testing.T) {
	server := serveHTTP(t, newStore("default"))
	body := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{` + modern + `,"notifications":{"resourcesListChanged":true}}}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"} {
		r.Header.Set(name, value)
	}
	answer, err := as("revoked").RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "acknowledged") {
			revoked.Store("revoked", true)
			defer revoked.Delete("revoked")
			break
		}
	}
	for lines.Scan() { // until the stream ends
	}
	if _, was := revoked.Load("revoked"); !was || answer.StatusCode != http.StatusOK {
		t.Errorf("the stream was not acknowledged: %d", answer.StatusCode)
	}
}

func TestHTTPLimits(t *testing.T) {
	server := serveHTTP(t, newStore("default"))
	if status, _, _ := post(t, server, "alice", strings.Repeat("x", mcpserver.MaxMessageBytes+1)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large message is answered with %d", status)
	}
	for _, body := range []string{"", "garbage", "{}", "[]", "null", strings.Repeat("[", 100_000)} {
		if status, text, _ := post(t, server, "alice", body); status < 400 || status >= 500 {
			t.Errorf("%.20q is answered with %d %s", body, status, text)
		}
	}
}

// The sessions of a key are bounded, whatever stores it names, and however many requests
// begin them at once. One that has ended makes room.
func TestSessionsOfKey(t *testing.T) {
	const most = 3
	server, _ := serveHandler(t, newStore("default"), mcpserver.HandlerOptions{MaxSessions: most})
	var (
		wg      sync.WaitGroup
		begun   atomic.Int32
		session atomic.Pointer[[2]string] // caller and ID of one
	)
	for i := range 4 * most {
		wg.Go(func() {
			who := fmt.Sprintf("alice/%d", i%5)
			switch status, text, header := post(t, server, who, initialize); status {
			case http.StatusOK:
				begun.Add(1)
				session.Store(&[2]string{who, header.Get("Mcp-Session-Id")})
			case http.StatusTooManyRequests:
			default:
				t.Errorf("answered with %d %s", status, text)
			}
		})
	}
	wg.Wait()
	if n := begun.Load(); n > most || n == 0 {
		t.Fatalf("%d sessions have begun; at most %d are allowed", n, most)
	}
	for n := begun.Load(); n < most; n++ { // one at a time, as many as allowed begin
		if status, text, _ := post(t, server, "alice/more", initialize); status != http.StatusOK {
			t.Fatalf("session %d is answered with %d %s", n, status, text)
		}
	}
	if status, _, _ := post(t, server, "alice/last", initialize); status != http.StatusTooManyRequests {
		t.Errorf("the session after the last allowed one is answered with %d", status)
	}
	if status, text, _ := post(t, server, "bob", initialize); status != http.StatusOK {
		t.Errorf("another key's session is answered with %d %s", status, text)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := session.Load()
	r.Header.Set("Mcp-Session-Id", ended[1])
	answer, err := as(ended[0]).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if status, text, _ := post(t, server, "alice/last", initialize); status != http.StatusOK {
		t.Errorf("after the end of a session another is answered with %d %s", status, text)
	}
}

// However many stores a key names, with a session for each, the servers that are kept are
// bounded, and those of other keys stay.
func TestServersAreBounded(t *testing.T) {
	server, h := serveHandler(t, newStore("default"), mcpserver.HandlerOptions{MaxCallers: 8})
	_, _, header := post(t, server, "bob", initialize)
	for i := range 20 {
		if status, text, _ := post(t, server, fmt.Sprintf("alice/%d", i), initialize); status != http.StatusOK {
			t.Fatalf("store %d is answered with %d %s", i, status, text)
		}
	}
	if n := h.Servers(); n != 3 { // a quarter, and Bob's
		t.Errorf("%d servers are kept", n)
	}
	for i := range 20 {
		if status, text, _ := post(t, server, fmt.Sprintf("carol%d", i), `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+modern+`}}`, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "server/discover"); status != http.StatusOK {
			t.Fatalf("key %d is answered with %d %s", i, status, text)
		}
	}
	if n := h.Servers(); n != 8 {
		t.Errorf("%d servers are kept", n)
	}
	if status, text, _ := post(t, server, "bob", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "Mcp-Session-Id", header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version", "2025-11-25"); status != http.StatusOK {
		t.Errorf("the session of another key is answered with %d %s", status, text)
	}
}
