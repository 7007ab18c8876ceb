package httpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/httpapi"
	"memento/test/race"
)

// bound is how long the tests wait for the server: much longer than the server waits
// for anything, for the machine may be busy with other things.
const bound = 2 * time.Minute

// guard serves the site's API once more, with the bounds on connections that package
// server has, but shorter ones.
func (s *site) guard(timeout time.Duration) {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	server := &http.Server{Handler: s.api, ReadHeaderTimeout: timeout, IdleTimeout: timeout, MaxHeaderBytes: 32 << 10}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	s.t.Cleanup(func() {
		server.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			s.t.Error(err)
		}
	})
	s.url = "http://" + l.Addr().String()
	s.admin.url = s.url
}

// A siege is many bad clients at once.
type siege struct {
	t       *testing.T
	address string

	mu    sync.Mutex
	conns []net.Conn // which stay open on this side
}

// dial opens a connection that takes in little by itself.
func (g *siege) dial() *net.TCPConn {
	c, err := net.Dial("tcp", g.address)
	if err != nil {
		g.t.Error(err)
		return nil
	}
	conn := c.(*net.TCPConn)
	_ = conn.SetReadBuffer(4096)
	_ = conn.SetDeadline(time.Now().Add(bound))
	g.mu.Lock()
	defer g.mu.Unlock()
	g.conns = append(g.conns, conn)
	return conn
}

func (g *siege) hangUp() {
	for _, c := range g.conns {
		c.Close()
	}
}

// A member does something on a connection that the server has to end.
type member struct {
	what   string
	n      int    // how many of them make a siege
	answer string // the beginning of what one hears before: "" is nothing, or whichever
	attack func(net.Conn)
}

// attack returns what the server says until it ends the connection.
func (g *siege) attack(m member) string {
	conn := g.dial()
	if conn == nil {
		return ""
	}
	// It is heard meanwhile: once the server has hung up, it may be too late.
	var heard bytes.Buffer
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(&heard, conn)
		ended <- err
	}()
	m.attack(conn)
	if err := <-ended; errors.Is(err, os.ErrDeadlineExceeded) {
		g.t.Errorf("%s: not cut off after %v", m.what, bound)
	}
	return heard.String()
}

// drip writes a text in pieces, at a pace, for as long as the server takes them.
func drip(conn net.Conn, first string, pace time.Duration, piece string) {
	if _, err := io.WriteString(conn, first); err != nil {
		return
	}
	for {
		if _, err := io.WriteString(conn, piece); err != nil {
			return
		}
		time.Sleep(pace)
	}
}

// members are those who are slow, endless or silent in what they send.
func (s *site) members(store string, timeout time.Duration) []member {
	const host = "Host: localhost\r\n"
	key, nobody := host+"x-api-key: "+s.admin.key+"\r\n", host+"x-api-key: "+apikey.NewSecret()+"\r\n"
	who := "GET /v1/whoami HTTP/1.1\r\n" + key
	post := "POST " + store + "/memories HTTP/1.1\r\nContent-Type: application/json\r\n"
	slowly := timeout / 20
	chunks := strings.Repeat("1000\r\n"+strings.Repeat(" ", 0x1000)+"\r\n", 16)
	send := func(text string) func(net.Conn) {
		return func(c net.Conn) { _, _ = io.WriteString(c, text) }
	}
	drips := func(first string, pace time.Duration, piece string) func(net.Conn) {
		return func(c net.Conn) { drip(c, first, pace, piece) }
	}
	return []member{
		{"silent from the start", 1000, "", send("")},
		{"silent after a request", 100, "HTTP/1.1 200 ", send(who + "\r\n")},
		{"slow headers", 50, "", drips(who+"X-Slow: ", slowly, "a")},
		{"a slow request line", 20, "", drips("GET /", slowly, "a")},
		{"a slow body", 30, "HTTP/1.1 408 ", drips(post+key+"Content-Length: 100000\r\n\r\n", slowly, " ")},
		{"a body that stops", 10, "HTTP/1.1 408 ", send(post + key + "Content-Length: 100000\r\n\r\n{")},
		{"a slow body without a key", 30, "HTTP/1.1 401 ", drips(post+nobody+"Content-Length: 100000\r\n\r\n", slowly, " ")},
		{"a body without a key that never comes", 10, "HTTP/1.1 401 ", send(post + nobody + "Content-Length: 100000\r\n\r\n")},
		{"a body that nobody asked for", 10, "HTTP/1.1 200 ", send(who + "Content-Length: 100000\r\n\r\n")},
		{"such a body for all to ask", 10, "HTTP/1.1 200 ", send("GET /openapi.json HTTP/1.1\r\n" + host + "Content-Length: 100000\r\n\r\n")},
		{"a body for a listing, that never comes", 10, "HTTP/1.1 200 ", send("GET " + store + "/entries HTTP/1.1\r\n" + key + "Content-Length: 100000\r\n\r\n")},
		{"slow chunks", 10, "HTTP/1.1 408 ", drips(post+key+"Transfer-Encoding: chunked\r\n\r\n", slowly, "1\r\n \r\n")},
		{"a slow archive, which is none", 5, "HTTP/1.1 400 ", drips("POST "+store+"/import HTTP/1.1\r\n"+key+"Content-Length: 100000\r\n\r\n", slowly, " ")},
		{"endless headers", 2, "HTTP/1.1 431 ", drips(who, 0, strings.Repeat("X-Many: a\r\n", 50))},
		{"an endless header", 2, "HTTP/1.1 431 ", drips(who+"X-Long: ", 0, strings.Repeat("a", 1000))},
		{"more headers than allowed", 2, "HTTP/1.1 431 ", send(who + "X-Long: " + strings.Repeat("a", 40<<10) + "\r\n\r\n")},
		{"endless chunks", 2, "HTTP/1.1 413 ", drips(post+key+"Transfer-Encoding: chunked\r\n\r\n", 0, chunks)},
		{"endless chunks without a key", 2, "HTTP/1.1 401 ", drips(post+nobody+"Transfer-Encoding: chunked\r\n\r\n", 0, chunks)},
		{"a body that is promised to be large", 2, "HTTP/1.1 413 ", drips(post+key+"Content-Length: 1000000000\r\n\r\n", 0, strings.Repeat(" ", 64<<10))},
	}
}

// TestSlowClients has one of all kinds of slow, endless and silent clients come at
// once: each is cut off, and told why if there is anything to answer.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	const timeout = 2 * time.Second
	var longest atomic.Int64 // of the bodies that were read
	s := newSite(t, func(o *httpapi.Options) {
		o.Timeout, o.MaxBody = timeout, 128<<10
		o.Requested = func(_ context.Context, r httpapi.Request) {
			for now := longest.Load(); r.Read > now && !longest.CompareAndSwap(now, r.Read); now = longest.Load() {
			}
		}
	})
	s.guard(timeout)
	g := &siege{t: t, address: strings.TrimPrefix(s.url, "http://")}
	defer g.hangUp()
	var members sync.WaitGroup
	for _, m := range s.members(s.admin.newStore(t, "a"), timeout) {
		members.Go(func() {
			// Who goes on writing may lose the answer with the connection.
			var heard string
			for range 3 {
				if heard = g.attack(m); strings.HasPrefix(heard, m.answer) {
					return
				}
			}
			t.Errorf("%s: the answer is %.300q; want %q", m.what, heard, m.answer)
		})
	}
	members.Wait()
	if got := longest.Load(); got > 128<<10+1 {
		t.Errorf("%d bytes were read of a body", got)
	}
}

// TestSiege has over a thousand of them come at once, and some who ask for much and do
// not read it. Meanwhile others are served as always, and in the end nothing is left
// of those clients, not even while they hold on to their connections.
func TestSiege(t *testing.T) {
	const timeout = 2 * time.Second // so that those who mean well are in time
	s := newSite(t, func(o *httpapi.Options) {
		o.Timeout, o.Heartbeat, o.Poll = timeout, timeout/4, timeout/20
		o.MaxBody = 2 << 20
	})
	s.guard(timeout)
	store := s.admin.newStore(t, "a")
	large := strings.Repeat("0123456789abcdef", 6<<10) // 96 KB
	big := s.admin.newStore(t, "12 MB")
	var changes []memento.Change
	for i := range 128 {
		changes = append(changes, memento.Put{Path: memento.Path(fmt.Sprintf("/%d.md", i)), Content: large})
	}
	if _, err := s.backend.Apply(t.Context(), memento.StoreID(strings.TrimPrefix(big, stores+"/")), memento.Actor{}, changes); err != nil {
		t.Fatal(err)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	before := runtime.NumGoroutine()

	// Those who mean well. Their requests arrive at once, or on a busy machine nearly so.
	over := make(chan struct{})
	var others sync.WaitGroup
	var served atomic.Int64
	calm := s.admin.with("Connection", "close")
	for i := range 2 {
		others.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-over:
					return
				default:
				}
				path := fmt.Sprintf("/other%d/%d.md", i, n%50)
				for _, ask := range []struct {
					method, path string
					body         any
				}{
					{"POST", store + "/changes", object{"changes": []object{{"type": "put", "path": path, "content": fmt.Sprint(n)}}}},
					{"GET", store + "/memories/by-path?path=" + path, nil},
				} {
					r, err := calm.send(t, ask.method, ask.path, ask.body)
					if err != nil || r.status != http.StatusOK {
						t.Errorf("meanwhile, %s %s: %v, %+v", ask.method, ask.path, err, r)
						return
					}
				}
				served.Add(2)
			}
		})
	}

	g := &siege{t: t, address: strings.TrimPrefix(s.url, "http://")}
	defer g.hangUp()
	// Those who ask and do not read what they are told.
	get := func(path string) string {
		return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nx-api-key: " + s.admin.key + "\r\n\r\n"
	}
	for what, text := range map[string]string{
		"pages":          strings.Repeat(get(big+"/memories?view=full"), 30),
		"a long answer":  get(big + "/entries?contents=true"),
		"a long history": get(big + "/history?contents=true"),
		"events":         get(big + "/changes?after=0&view=full"),
	} {
		for range 3 {
			if conn := g.dial(); conn != nil {
				if _, err := io.WriteString(conn, text); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
		}
	}
	var members sync.WaitGroup
	for _, m := range s.members(store, timeout) {
		for range m.n {
			members.Go(func() { g.attack(m) })
		}
	}
	members.Wait()
	close(over)
	others.Wait()
	t.Logf("%d requests were served meanwhile", served.Load())
	if got := served.Load(); got < 4 {
		t.Errorf("only %d requests were served meanwhile", got)
	}
	settled(t, before)
	if r := s.admin.do(t, "GET", store, nil); r.status != http.StatusOK {
		t.Errorf("afterwards: %d %s", r.status, r.text)
	}
}

// A stream that is idle, and an import that takes its time, last longer than a
// request may take to arrive or an answer to be read, by both protocols.
func TestSlowButWelcome(t *testing.T) {
	t.Parallel()
	const short = 400 * time.Millisecond
	s := newSite(t, func(o *httpapi.Options) {
		o.Timeout, o.Heartbeat, o.Poll = short, 10*short, short/10
	})
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			w := newWorld(s, memento.Workspace("of."+protocol[:4]+protocol[5:]))
			server := httptest.NewUnstartedServer(s.api)
			server.EnableHTTP2 = protocol == "HTTP/2.0"
			server.StartTLS()
			t.Cleanup(server.Close) // after the streams
			reader, writer := *w.by[apikey.RoleRead], w.by[apikey.RoleWrite]
			store := stores + "/" + w.store
			open := func(method, path, key string, body io.Reader) *http.Response {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), bound)
				t.Cleanup(cancel)
				request, err := http.NewRequestWithContext(ctx, method, server.URL+store+path, body)
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("x-api-key", key)
				response, err := server.Client().Do(request)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { response.Body.Close() })
				if response.Proto != protocol || response.StatusCode != http.StatusOK {
					t.Fatalf("%s %s: %s by %s", method, path, response.Status, response.Proto)
				}
				return response
			}

			// One has a body that it should not have, and that is no reason to end it.
			for what, body := range map[string]io.Reader{"idle": nil, "with a body": strings.NewReader("{}")} {
				lines := bufio.NewScanner(open("GET", "/changes", reader.key, body).Body)
				lines.Scan()
				time.Sleep(3 * short) // in which nothing is sent
				writer.put(t, store, "/news "+what+".md", "news")
				for lines.Scan() && !strings.Contains(lines.Text(), "/news "+what) {
				}
				if !strings.Contains(lines.Text(), "/news "+what) {
					t.Errorf("a stream that is %s ended: %v", what, lines.Err())
				}
			}

			// An archive may take many times as long as other bodies, and its answer has
			// its own time after that.
			slow, feed := io.Pipe()
			go func() {
				for i := range w.imported {
					if i%(len(w.imported)/10) == 0 {
						time.Sleep(short / 3)
					}
					if _, err := feed.Write(w.imported[i : i+1]); err != nil {
						return
					}
				}
				feed.Close()
			}()
			var sum object
			if err := json.NewDecoder(open("POST", "/import?contents_only=true", writer.key, slow).Body).Decode(&sum); err != nil || sum["memories"] != 1.0 {
				t.Errorf("a slow import: %v, %v", sum, err)
			}
		})
	}
}

// Nesting of any depth is an error like others, found without going down into it.
func TestDeepNesting(t *testing.T) {
	s := newSite(t, nil)
	w := newWorld(s, "acme")
	admin := w.by[apikey.RoleAdmin]
	room, deep := 4<<20-100, 100_000 // bytes of the body; levels
	if race.Enabled {                // which takes ten times as long
		room, deep = 400<<10, 20_000
	}
	for _, e := range httpapi.Endpoints() {
		if e.Method != "POST" && e.Method != "PATCH" || strings.HasSuffix(e.Pattern, "/import") {
			continue
		}
		for what, body := range map[string]string{
			"lists":          strings.Repeat("[", room),
			"closed lists":   strings.Repeat("[", deep) + strings.Repeat("]", deep),
			"objects":        strings.Repeat(`{"a":`, room/5),
			"closed objects": strings.Repeat(`{"path":`, deep) + "1" + strings.Repeat("}", deep),
			"in a field":     `{"content":` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + "}",
			"in metadata":    `{"name":"a","metadata":` + strings.Repeat(`{"a":`, deep) + "1" + strings.Repeat("}", deep) + "}",
			"in calls":       `{"calls":[` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + "]}",
			"in changes":     `{"changes":[{"type":"put","content":` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + "}]}",
		} {
			start := time.Now()
			r := admin.do(t, e.Method, w.ids.path(e), body)
			refused := r.status == http.StatusBadRequest
			if strings.HasSuffix(e.Pattern, "/tool") && r.status == http.StatusOK { // the tool says so itself
				refused = bytes.Contains(r.text, []byte(`"is_error":true`))
			}
			if !refused || len(r.text) > 2000 {
				t.Errorf("%s, %s: %d %.300s", r.request, what, r.status, r.text)
			}
			if took := time.Since(start); took > bound {
				t.Errorf("%s, %s: took %v", r.request, what, took)
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.StackInuse > 64<<20 {
		t.Errorf("%d MB of stacks", m.StackInuse>>20)
	}
}
