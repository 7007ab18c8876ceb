package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/memstore"
	"memento/test/proctest"
)

// The server answers the API, and its health without a key.
func TestServes(t *testing.T) {
	r := start(t, testConfig())
	for _, tc := range []struct {
		method, path string
		status       int
		text         string
	}{
		{"GET", "/healthz", 200, `{"status":"ok"}` + "\n"},
		{"HEAD", "/healthz", 200, ""},
		{"GET", "/readyz", 200, `{"status":"ready"}` + "\n"},
	} {
		a := r.ask(tc.method, tc.path, "", "")
		if a.StatusCode != tc.status || a.text != tc.text || a.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %d %q, %s", tc.method, tc.path, a.StatusCode, a.text, a.Header)
		}
	}
	for _, path := range []string{"/healthz", "/healthz/", "//healthz", "/", "/v1/memory_stores"} {
		if a := r.ask("POST", path, "", "{}"); a.StatusCode < 400 || !strings.Contains(a.text, `"type":"error"`) {
			t.Errorf("POST %s: %d %q", path, a.StatusCode, a.text)
		}
	}
	store := r.newStore()
	r.do("POST", store+"/memories", `{"path":"/a.md","content":"hello"}`)
	if got := r.do("GET", store+"/memories/by-path?path=/a.md&view=full", ""); got["content"] != "hello" {
		t.Errorf("the memory is %v", got)
	}
}

// A server that listens only on this machine accepts only this machine's host names.
func TestHostOfLoopback(t *testing.T) {
	c := testConfig()
	r := start(t, c)
	ask := func(r *running, host string) int {
		q, err := http.NewRequestWithContext(t.Context(), "GET", r.url+"/v1/whoami", nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Host = host
		q.Header.Set("x-api-key", r.key)
		res, err := r.client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		return answerOf(t, res).StatusCode
	}
	for host, want := range map[string]int{"localhost": 200, "localhost:99": 200, "127.0.0.1": 200, "[::1]:8377": 200, "evil.example": 403} {
		if got := ask(r, host); got != want {
			t.Errorf("host %s: %d; want %d", host, got, want)
		}
	}
	c.Hosts = []string{"memory.example"}
	named := start(t, c)
	for host, want := range map[string]int{"memory.example": 200, "localhost": 403} {
		if got := ask(named, host); got != want {
			t.Errorf("with hosts set, host %s: %d; want %d", host, got, want)
		}
	}
}

// A server is ready if its backend answers, and not ready if it does not.
func TestReady(t *testing.T) {
	b := &stuck{Backend: memstore.New(nil)}
	r := startOn(t, testConfig(), b)
	if a := r.ask("GET", "/readyz", "", ""); a.StatusCode != 200 {
		t.Fatalf("at first: %d %s", a.StatusCode, a.text)
	}
	b.Close()
	proctest.Until(t, "the closed backend is noticed", func() bool {
		a := r.ask("GET", "/readyz", "", "")
		return a.StatusCode == 503 && a.text == `{"status":"unavailable"}`+"\n"
	})
	if a := r.ask("GET", "/healthz", "", ""); a.StatusCode != 200 {
		t.Errorf("health: %d", a.StatusCode)
	}
}

// A body that no handler reads, and that never arrives, delays neither the response nor
// the shutdown.
func TestBodyNobodyReads(t *testing.T) {
	r := start(t, testConfig())
	at := r.Addresses()
	for _, ask := range []struct{ address, path, header string }{
		{at.Main, "/healthz", "Content-Length: 9"},
		{at.Main, "/readyz", "Transfer-Encoding: chunked"},
		{at.Metrics, "/metrics", "Content-Length: 9"},
	} {
		conn, err := net.Dial("tcp", ask.address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", ask.path, ask.header); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(conn) // to the end of the connection
		if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 200 OK\r\n") {
			t.Errorf("%s: %.40q, %v", ask.path, text, err)
		}
	}
	if err := r.stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
}

// stuck is memstore with its keys, whichever way it is held.
type stuck struct{ *memstore.Backend }

// A backend that hangs makes the server unready in bounded time.
func TestAnswersInTime(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	release := make(chan struct{})
	defer close(release)
	if state := checkBackend(ctx, hanging{memstore.New(nil), release}); state != stateUnavailable {
		t.Errorf("a backend that hangs is %q", state)
	}
}

type hanging struct {
	*memstore.Backend
	release chan struct{}
}

func (h hanging) ListStores(context.Context, memento.Workspace, memento.StoreListOptions) iter.Seq2[memento.StoreInfo, error] {
	return func(func(memento.StoreInfo, error) bool) { <-h.release }
}

// A shutdown finishes accepted requests: a request whose body is still being sent is
// answered, a stream ends, and no new request is accepted.
func TestGracefulShutdown(t *testing.T) {
	r := start(t, testConfig())
	store := r.newStore()

	stream, err := http.NewRequestWithContext(t.Context(), "GET", r.url+store+"/changes", nil)
	if err != nil {
		t.Fatal(err)
	}
	stream.Header.Set("x-api-key", r.key)
	events, err := http.DefaultClient.Do(stream)
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()

	slow := r.beginCreate(store, "/slow.md", "kept")
	proctest.Until(t, "the request is under way", func() bool { return strings.Contains(r.scrape(), "memento_http_requests_in_flight 2") })
	r.end()
	proctest.Until(t, "the listener is closed", func() bool {
		conn, err := net.Dial("tcp", r.Addresses().Main)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	if _, err := io.ReadAll(events.Body); err != nil {
		t.Errorf("the stream ended with %v", err)
	}
	if !strings.Contains(r.scrape(), "memento_build_info") {
		t.Error("metrics are gone while requests finish")
	}
	if status := slow.finish(); status != "HTTP/1.1 200 OK" {
		t.Errorf("the slow request was answered with %q", status)
	}
	if err := r.stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	m, err := memento.OpenStore(t.Context(), r.backend, memento.DefaultWorkspace, memento.StoreID(strings.TrimPrefix(store, "/v1/memory_stores/")), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.Get(t.Context(), memento.ByPath("/slow.md")); err != nil || got.Content != "kept" {
		t.Errorf("the memory is %+v, %v", got, err)
	}
}

// While a load balancer still sends requests, they are answered, and /readyz
// tells it to stop.
func TestShutdownDelay(t *testing.T) {
	c := testConfig()
	c.Shutdown.Delay = 300 * time.Millisecond
	r := start(t, c)
	r.end()
	proctest.Until(t, "not ready", func() bool {
		a := r.ask("GET", "/readyz", "", "")
		return a.StatusCode == 503 && a.text == `{"status":"draining"}`+"\n"
	})
	if a := r.ask("GET", "/v1/whoami", r.key, ""); a.StatusCode != 200 {
		t.Errorf("a request meanwhile: %d %s", a.StatusCode, a.text)
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}

// Requests that never finish do not prevent the server from ending.
func TestShutdownGraceEnds(t *testing.T) {
	c := testConfig()
	c.Shutdown.Grace = 50 * time.Millisecond
	r := start(t, c)
	slow := r.beginCreate(r.newStore(), "/never.md", "x")
	defer slow.conn.Close()
	proctest.Until(t, "the request is under way", func() bool { return strings.Contains(r.scrape(), "memento_http_requests_in_flight 1") })
	if err := r.stop(); !errors.Is(err, ErrCutOff) {
		t.Errorf("Run: %v; want ErrCutOff", err)
	}
}

// A slowRequest is one whose body has not arrived whole.
type slowRequest struct {
	t    *testing.T
	conn net.Conn
	rest string
}

func (r *running) beginCreate(store, path, content string) *slowRequest {
	r.t.Helper()
	body := fmt.Sprintf(`{"path":%q,"content":%q}`, path, content)
	conn, err := net.Dial("tcp", r.Addresses().Main)
	if err != nil {
		r.t.Fatal(err)
	}
	head := fmt.Sprintf("POST %s/memories HTTP/1.1\r\nHost: localhost\r\nx-api-key: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		store, r.key, len(body))
	if _, err := io.WriteString(conn, head+body[:5]); err != nil {
		r.t.Fatal(err)
	}
	return &slowRequest{r.t, conn, body[5:]}
}

// finish sends the rest and returns the first line of the answer.
func (s *slowRequest) finish() string {
	s.t.Helper()
	defer s.conn.Close()
	if _, err := io.WriteString(s.conn, s.rest); err != nil {
		s.t.Fatal(err)
	}
	status, err := bufio.NewReader(s.conn).ReadString('\n')
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(status)
}

// If the server cannot listen on some addresses, the error names all of them, and says
// what to do.
func TestListenFaults(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := testConfig()
	c.Address = l.Addr().String()
	c.Metrics = "192.0.2.1:0" // documentation, so nobody's
	_, err = New(c, Deps{Backend: memstore.New(nil)})
	faults, ok := errors.AsType[ConfigErrors](err)
	if !ok || len(faults) != 2 {
		t.Fatalf("New: %v", err)
	}
	for i, want := range []string{"address: port ", "metrics: this machine does not have this address"} {
		if !strings.HasPrefix(faults[i].String(), want) {
			t.Errorf("fault %d is %q", i, faults[i])
		}
	}
	if !strings.Contains(faults[0].Message, "is in use; stop the program that uses it") {
		t.Errorf("a port in use: %q", faults[0].Message)
	}
}

// New checks a configuration that was made without Load.
func TestNewChecks(t *testing.T) {
	for want, hook := range map[string]Webhook{
		"exactly one of secret":                 {URL: "https://app.example/"},
		"must be https":                         {URL: "http://app.example/", Secret: hookSecret},
		`must be "whsec_" and the base64 of 24`: {URL: "https://app.example/", Secret: "secret"},
	} {
		c := testConfig()
		c.Webhooks = []Webhook{hook}
		if _, err := New(c, Deps{Backend: memstore.New(nil)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %s", hook, err, want)
		}
	}
}

// A server whose backend does not store keys needs an issuer.
func TestNobodyCouldComeIn(t *testing.T) {
	type bare struct{ memento.Backend } // hides the powers
	if _, err := New(testConfig(), Deps{Backend: bare{memstore.New(nil)}}); !errors.Is(err, memento.ErrUnsupported) {
		t.Errorf("New: %v", err)
	}
}

// If a handler outside of the API panics, the request is answered, the log does not
// contain the value, and the server goes on.
func TestPanicBesideAPI(t *testing.T) {
	log := &proctest.Buffer{}
	s := &Server{}
	s.logger, s.level = newLogger(log, Log{Format: "text", Level: "info"})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := s.httpServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { panic("canary") }))
	go h.Serve(l)
	defer h.Close()
	for range 2 {
		res, err := http.Get("http://" + l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if a := answerOf(t, res); a.StatusCode != 500 || !strings.Contains(a.text, `"api_error"`) {
			t.Errorf("%d %s", a.StatusCode, a.text)
		}
	}
	if text := log.String(); !strings.Contains(text, "panic") || strings.Contains(text, "canary") {
		t.Errorf("the log is %s", text)
	}
}

// The profiler is served only if it is configured, and only to this machine.
func TestPprof(t *testing.T) {
	c := testConfig()
	c.Pprof = "127.0.0.1:0"
	r := start(t, c)
	for host, want := range map[string]int{"": 200, "localhost": 200, "evil.example": 403} {
		q, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+r.Addresses().Pprof+"/debug/pprof/goroutine?debug=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Host = host
		res, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		if a := answerOf(t, res); a.StatusCode != want {
			t.Errorf("host %q: %d; want %d", host, a.StatusCode, want)
		}
	}
	c.Pprof = "0.0.0.0:0"
	if _, err := New(c, Deps{Backend: memstore.New(nil)}); err == nil || !strings.Contains(err.Error(), "a loopback address") {
		t.Errorf("for everybody: %v", err)
	}
}

// Connections with endless headers, and connections that send too slowly, are closed.
func TestHeaderFlood(t *testing.T) {
	r := start(t, testConfig())
	conn, err := net.Dial("tcp", r.Addresses().Main)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
	for range 64 { // until the server has enough; what it answers is to be read
		if _, err := io.WriteString(conn, "x-filler: "+strings.Repeat("a", 1000)+"\r\n"); err != nil {
			break
		}
	}
	status, _ := bufio.NewReader(conn).ReadString('\n')
	if status != "" && !strings.HasPrefix(status, "HTTP/1.1 431 ") {
		t.Errorf("64 kB of headers were answered with %q", status)
	}
}

// scrape reads the metrics.
func (r *running) scrape() string {
	r.t.Helper()
	res, err := http.Get("http://" + r.Addresses().Metrics + "/metrics")
	if err != nil {
		r.t.Fatal(err)
	}
	return answerOf(r.t, res).text
}

// The server listens on an IP address as given, and not on the other IP version.
func TestListenFamily(t *testing.T) {
	for address, want := range map[string]string{
		"0.0.0.0:0": "tcp4", "127.0.0.1:80": "tcp4", "[::]:0": "tcp6", "[::1]:0": "tcp6", "[fe80::1%eth0]:1": "tcp6", ":0": "tcp", "localhost:0": "tcp",
	} {
		if got := networkOf(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
	c := testConfig()
	c.Address = "0.0.0.0:0"
	s, err := New(c, Deps{Backend: memstore.New(nil)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	host, _, err := net.SplitHostPort(s.Addresses().Main)
	if err != nil || host != "0.0.0.0" {
		t.Errorf("it listens at %s, %v", s.Addresses().Main, err)
	}
}

// A key that is revoked here is refused by the next request, although keys are cached.
func TestRevokedAtOnce(t *testing.T) {
	r := start(t, testConfig())
	made := r.do("POST", "/v1/admin/keys", `{"name":"short","role":"read"}`)
	key := made["key"].(string)
	if a := r.ask("GET", "/v1/whoami", key, ""); a.StatusCode != 200 {
		t.Fatalf("before: %d", a.StatusCode)
	}
	r.do("POST", "/v1/admin/keys/"+made["id"].(string)+"/revoke", `{}`)
	if a := r.ask("GET", "/v1/whoami", key, ""); a.StatusCode != 401 {
		t.Errorf("after: %d", a.StatusCode)
	}
}
