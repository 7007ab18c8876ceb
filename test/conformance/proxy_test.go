package conformance

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A proxy stands between an SDK and a server and notes what passes, which is the
// only way to see what an SDK repeats.
type proxy struct {
	url string

	mu        sync.Mutex
	exchanges []exchange
	lose      func(*http.Request) bool
}

// An exchange is a request and its answer.
type exchange struct {
	method, path, query string
	sent                http.Header
	status              int
	answered            http.Header
	lost                bool
}

func startProxy(t *testing.T, target string) *proxy {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{}
	handler := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: func(r *http.Response) error {
			if p.note(r) {
				panic(http.ErrAbortHandler) // the server has done it, the client does not learn
			}
			return nil
		},
	}
	// Each request arrives as a whole before it is passed on: if the server answers before
	// it has read a request, a ReverseProxy closes the connection to the client.
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if len(body) > 0 {
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	p.url = s.URL
	return p
}

// note keeps an exchange and reports whether its answer is to be lost.
func (p *proxy) note(r *http.Response) (lost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lose != nil && p.lose(r.Request) {
		p.lose, lost = nil, true
	}
	p.exchanges = append(p.exchanges, exchange{
		r.Request.Method, r.Request.URL.Path, r.Request.URL.RawQuery,
		r.Request.Header.Clone(), r.StatusCode, r.Header.Clone(), lost,
	})
	return lost
}

// loseAnswer drops the connection once, instead of handing on the answer to a
// request with this method whose path ends so.
func (p *proxy) loseAnswer(method, pathEnd string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose = func(r *http.Request) bool { return r.Method == method && strings.HasSuffix(r.URL.Path, pathEnd) }
}

// during returns what passed while f ran.
func (p *proxy) during(f func()) []exchange {
	p.mu.Lock()
	before := len(p.exchanges)
	p.mu.Unlock()
	f()
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.exchanges[before:])
}

// check holds what is to be true of every answer.
func (p *proxy) check(t *testing.T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.exchanges) == 0 {
		t.Error("nothing passed the proxy")
	}
	seen := map[string]bool{}
	for _, e := range p.exchanges {
		id := e.answered.Get("request-id")
		if !strings.HasPrefix(id, "req_") || seen[id] {
			t.Errorf("%s %s: request-id %q, want one of its own", e.method, e.path, id)
		}
		seen[id] = true
		if got := e.answered.Get("Content-Type"); got != "application/json" {
			t.Errorf("%s %s: content type %q, want application/json", e.method, e.path, got)
		}
		if e.status == http.StatusConflict && e.answered.Get("x-should-retry") != "false" {
			t.Errorf("%s %s: x-should-retry %q with a 409, want false", e.method, e.path, e.answered.Get("x-should-retry"))
		}
	}
}
