package httpapi_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/backend/storetest"
	"memento/httpapi"
	"memento/test/proctest"
	"memento/test/race"
)

// An attack is a request that is wrong in some way, or at least odd.
type attack struct {
	method string
	text   []byte
	rough  bool // whether it may be no HTTP: then the connection is its own, and ends with it
}

// TestMalformedRequests sends 20,000 requests that are wrong in all ways that a
// generator knows. None is the server's fault, every answer is of the form that it
// must have, and tells nothing of the server's insides; memory does not grow, and in
// the end all is as it should be.
func TestMalformedRequests(t *testing.T) {
	attacks := race.Scaled(20_000, 6_000)
	const (
		early   = 2_000 // when memory is looked at first
		round   = 1_000 // after which new stores are made: what is stored does not count
		callers = 4
	)
	var log proctest.Buffer
	s := newSite(t, func(o *httpapi.Options) {
		o.Hosts = nil
		o.MaxBody, o.MaxImport = 256<<10, 1<<20
		o.Timeout, o.Poll = 5*time.Second, 50*time.Millisecond
		o.Logger = slog.New(slog.NewJSONHandler(&log, nil))
	})
	victim := newWorld(s, "acme")
	victimState := s.state("acme")
	g := &generator{r: rand.New(rand.NewPCG(1, 2)), endpoints: httpapi.Endpoints(), foreign: victim.ids}
	g.bomb = zipped(make([]byte, 8<<20))

	secrets := append(leaks(victim), s.admin.key)
	before := runtime.NumGoroutine()
	var answered, own atomic.Int64
	var heap uint64
	for sent := 0; sent < attacks; sent += round {
		ws := memento.Workspace(fmt.Sprint("attacked-", sent/round))
		w := newWorld(s, ws)
		g.world, g.key = w, w.by[apikey.RoleAdmin].key
		work := make(chan attack)
		var senders sync.WaitGroup
		for range callers {
			senders.Go(func() {
				a := attacker{t: t, address: strings.TrimPrefix(s.url, "http://"), secrets: append([]string{g.key}, secrets...), seen: map[string]bool{}}
				defer a.hangUp()
				for next := range work {
					a.send(next)
				}
				answered.Add(int64(a.answered))
				own.Add(int64(a.own))
			})
		}
		for range round {
			work <- g.next()
		}
		close(work)
		senders.Wait()
		if t.Failed() {
			return
		}
		for info, err := range s.backend.ListStores(t.Context(), ws, memento.StoreListOptions{IncludeArchived: true}) {
			if err != nil {
				t.Fatal(err)
			}
			storetest.Audit(t, s.backend, info)
			if err := s.backend.DeleteStore(t.Context(), ws, info.ID); err != nil {
				t.Fatal(err)
			}
		}
		if sent+round == early {
			heap = settled(t, before)
		}
	}
	if now := settled(t, before); now > heap+4<<20 {
		t.Errorf("%d KB of memory after %d requests, %d KB after %d", heap>>10, early, now>>10, attacks)
	}
	t.Logf("%d answers, of which %d were the API's own; memory %d KB after %d requests", answered.Load(), own.Load(), heap>>10, early)
	if own.Load() < int64(attacks/2) {
		t.Errorf("only %d of %d requests reached the API", own.Load(), attacks)
	}
	if victimState != s.state("acme") {
		t.Error("another workspace's store has changed")
	}
	if text := log.String(); text != "" {
		t.Errorf("faults were logged: %.2000s", text)
	}
	w := newWorld(s, "afterwards")
	for _, e := range httpapi.Endpoints() {
		if e.Method == "DELETE" || strings.HasSuffix(e.Pattern, "/archive") || strings.HasSuffix(e.Pattern, "/import") || strings.HasSuffix(e.Pattern, "/restore") || strings.HasSuffix(e.Pattern, "/revoke") {
			continue // after which there is nothing for others, or something in their way
		}
		if r := w.ask(w.by[apikey.RoleAdmin], e, w.ids); r.status != http.StatusOK {
			t.Errorf("afterwards %s: %d %s", r.request, r.status, r.text)
		}
	}
}

// A time that can be read but not be written again, because in UTC it is beyond the
// years that there are, is refused: kept, it would spoil every listing it is in.
func TestTimesBeyond(t *testing.T) {
	s := newSite(t, nil)
	w := newWorld(s, "acme")
	admin, store := w.by[apikey.RoleAdmin], stores+"/"+w.store
	for _, at := range []string{"9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+23:59"} {
		admin.do(t, "POST", "/v1/admin/keys", object{"name": "k", "role": "read", "expires_at": at}).fails(t, http.StatusBadRequest, invalidRequest)
		version := object{"type": "memory_version", "id": "memver_x", "memory_id": "mem_x", "operation": "created", "path": "/x.md", "content": "x", "content_sha256": memento.HashContent("x"), "created_at": at}
		redacted := object{"type": "memory_version", "id": "memver_x", "memory_id": "mem_x", "operation": "modified", "created_at": "2026-01-01T00:00:00Z", "redacted_at": at}
		for _, v := range []object{version, redacted} {
			line, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			admin.do(t, "POST", store+"/history", string(line)+"\n"+`{"type":"end"}`+"\n").fails(t, http.StatusBadRequest, invalidRequest)
		}
		admin.do(t, "POST", store+"/restore", object{"as_of": at, "dry_run": true}).ok(t)
		admin.do(t, "POST", store+"/prune", object{"before": at, "dry_run": true}).ok(t)
		admin.get(t, store+"/memory_versions?created_at[lte]="+url.QueryEscape(at))
	}
	admin.get(t, "/v1/admin/keys")
	admin.get(t, store+"/memory_versions")
}

// leaks are texts that no answer may have: those of a world that is none of the
// asker's, and of keys.
func leaks(w *world) (list []string) {
	for _, c := range w.by {
		hash := apikey.HashSecret(c.key)
		list = append(list, c.key, c.keyID, fmt.Sprintf("%x", hash[:]))
	}
	return append(list, w.canary(), w.store, w.memory, w.version, w.key)
}

// insides are what an answer has, in whatever case, if an error of something below
// gets out.
var insides = []string{
	"*memento", "httpapi", "net/http", "json:", "json.", "strconv", "reflect.", "goroutine", "runtime error", "panic", ".go:", "/usr/", "/root/", "/home/", "sqlite", "select ", "%!", "<nil>",
	"invalid character", "unexpected e", "base64", "gzip", "flate", "archive/", "i/o ", "tcp ", "127.0.0.1", "unmarshal", "parsing time", "cannot parse", "go struct",
}

// packages begin the names of Go's types and functions; addresses are those of memory.
var packages = regexp.MustCompile(`\b(memento|memstore|wire|archive|http|url|tar)\.[A-Z]|\b0x[0-9a-f]{8}`)

// inside returns what a text says of the server's insides, or "".
func inside(text string) string {
	lower := strings.ToLower(text)
	for _, word := range insides {
		if strings.Contains(lower, word) {
			return word
		}
	}
	return packages.FindString(text)
}

// settled waits for goroutines to end, and returns how much memory is in use.
func settled(t *testing.T, goroutines int) uint64 {
	t.Helper()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for end := time.Now().Add(bound); runtime.NumGoroutine() > goroutines+2; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%d goroutines; there were %d", runtime.NumGoroutine(), goroutines)
			break
		}
	}
	var m runtime.MemStats
	for range 3 { // a pool gives its buffers back with the second
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// An attacker sends attacks and looks at the answers.
type attacker struct {
	t       *testing.T
	address string
	secrets []string
	conn    net.Conn
	in      *bufio.Reader

	answered int
	own      int // of which from the API, not from package http
	seen     map[string]bool
}

func (a *attacker) hangUp() {
	if a.conn != nil {
		a.conn.Close()
		a.conn = nil
	}
}

func (a *attacker) send(k attack) {
	if k.rough {
		a.hangUp()
	}
	for try := 0; ; try++ {
		if a.conn == nil {
			conn, err := net.Dial("tcp", a.address)
			if err != nil {
				a.t.Error(err)
				return
			}
			a.conn, a.in = conn, bufio.NewReader(conn)
		}
		_ = a.conn.SetDeadline(time.Now().Add(bound))
		_, err := a.conn.Write(k.text) // which may fail once the server has heard enough
		if k.rough {
			_ = a.conn.(*net.TCPConn).CloseWrite()
		}
		n, err2 := a.answers(k)
		switch {
		case k.rough:
			a.hangUp()
			return
		case n > 0 && err2 == nil:
			return
		}
		a.hangUp()
		if n > 0 || try > 0 { // the first may have met a connection that was about to be closed
			a.t.Errorf("%.300q: %d answers, %v, %v", k.text, n, err, err2)
			return
		}
	}
}

// answers reads what comes back: one answer, or all that there are to a rough attack.
func (a *attacker) answers(k attack) (n int, err error) {
	for {
		response, err := http.ReadResponse(a.in, &http.Request{Method: k.method})
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || isReset(err) {
				err = nil
			}
			if err != nil {
				a.t.Errorf("%.300q: answer %d is no HTTP: %v", k.text, n, err)
			}
			return n, err
		}
		if response.StatusCode == http.StatusContinue {
			continue
		}
		if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") && k.method != http.MethodHead {
			_, err := a.in.ReadByte()
			response.Body.Close()
			a.hangUp()
			return n + 1, err
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		n++
		if err != nil && !isReset(err) && !k.rough { // who hangs up early gets no more
			a.t.Errorf("%.300q: %d, and an answer that is cut off: %v", k.text, response.StatusCode, err)
		}
		a.judge(k, response, body)
		if response.Close || err != nil {
			a.hangUp()
			return n, nil
		}
		if !k.rough {
			return n, nil
		}
	}
}

func isReset(err error) bool {
	var closed *net.OpError
	return errors.As(err, &closed) && !closed.Timeout()
}

// judge checks one answer.
func (a *attacker) judge(k attack, r *http.Response, body []byte) {
	a.answered++
	fail := func(format string, args ...any) {
		a.t.Errorf("%.400q:\n%d %v\n%.600q:\n%s", k.text, r.StatusCode, r.Header, body, fmt.Sprintf(format, args...))
	}
	if r.Header.Get("request-id") == "" {
		// Package http did not get as far as the API. What it does not know of the
		// protocol is all that it may call its own fault, and OPTIONS * it answers.
		switch {
		case r.StatusCode >= 400 && r.StatusCode < 500 && r.Close:
		case r.StatusCode == http.StatusNotImplemented && string(body) == "Unsupported transfer encoding":
		case r.StatusCode == http.StatusHTTPVersionNotSupported && strings.Contains(string(body), "unsupported protocol version"):
		case k.method == http.MethodOptions && r.StatusCode == http.StatusOK && len(body) == 0:
		case k.rough && r.StatusCode == http.StatusOK && len(body) == 0:
		default:
			fail("not an answer of the API, nor one that package http should give")
		}
	} else {
		a.own++
		a.judgeOwn(k, r, body, fail)
	}
	header := fmt.Sprint(r.Header)
	for _, secret := range a.secrets {
		if bytes.Contains(body, []byte(secret)) || strings.Contains(header, secret) {
			fail("it has %q in it", secret)
		}
	}
}

func (a *attacker) judgeOwn(k attack, r *http.Response, body []byte, fail func(string, ...any)) {
	kind := r.Header.Get("Content-Type")
	switch {
	case r.StatusCode == 529 && strings.Contains(string(body), `"overloaded_error"`) && r.Header.Get("retry-after") != "" &&
		(bytes.Contains(k.text, []byte("/import")) || bytes.Contains(k.text, []byte("/history"))):
		// Few of these are read at once, and the attackers are more.
	case r.StatusCode >= 500:
		fail("the server's fault")
	case k.method == http.MethodHead:
		if len(body) > 0 {
			fail("a body to HEAD")
		}
	case r.StatusCode >= 400:
		if kind != "application/json" || !envelope.Match(body) || !bytes.Contains(body, []byte(r.Header.Get("request-id"))) {
			fail("not the form of an error")
		}
		text := strings.Replace(string(body), r.Header.Get("request-id"), "", 1)
		if a.seen[text] {
			return
		}
		a.seen[text] = true
		if found := inside(text); found != "" {
			fail("it has %q in it", found)
		}
	case r.StatusCode != http.StatusOK:
		fail("not a status of the API")
	case kind == "application/json" || kind == "application/x-ndjson" || kind == "application/gzip":
	default:
		fail("not a content type of the API")
	}
}

var envelope = regexp.MustCompile(`^\{"type":"error","error":\{"type":"[a-z_]+","message":"[^\x00-\x1f]+".*\},"request_id":"req_[0-9a-f]{24}"\}\n$`)

func zipped(text []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(text)
	_ = z.Close()
	return b.Bytes()
}
