package faultproxy

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// An Action is what is done to one request. The zero Action passes it on.
type Action struct {
	// Delay is how long the request is delayed before anything else happens to it.
	Delay time.Duration

	// Silent sends no response, and passes nothing on. The connection stays open until
	// the client gives up or Set is called: then it is cut.
	Silent bool

	// Status makes the proxy respond with this status, Header and Body; 0 passes on the
	// response of the server.
	Status int
	Header http.Header
	Body   string

	// Lose cuts the connection without a response.
	Lose bool

	// Carried passes the request to the server before Status or Lose.
	Carried bool

	// Half cuts the connection in the middle of the server's response body, or after its
	// first byte if the length is not known.
	Half bool
}

// HTTP is a proxy for requests to one server. Requests keep their Host header, so
// that signatures stay valid. It is safe for concurrent use.
type HTTP struct {
	listener net.Listener
	server   http.Server
	proxy    httputil.ReverseProxy
	idle     func()
	served   chan struct{}
	did      atomic.Int64

	mu      sync.Mutex
	choose  func(*http.Request) Action
	changed chan struct{} // closed when choose is replaced
}

// ListenHTTP returns a proxy, on a free port of this machine, for the server at a
// URL such as http://127.0.0.1:9000. The caller closes it.
func ListenHTTP(target string) (*HTTP, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64, ExpectContinueTimeout: time.Second}
	p := &HTTP{listener: listener, served: make(chan struct{}), changed: make(chan struct{}), idle: transport.CloseIdleConnections}
	p.proxy = httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1, // so that what precedes a cut has been sent
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.URL.Path, r.Out.URL.RawPath = r.In.URL.Path, r.In.URL.RawPath
			r.Out.Host = r.In.Host
		},
		ModifyResponse: func(r *http.Response) error {
			if half, _ := r.Request.Context().Value(halfKey{}).(bool); half {
				r.Body = &halved{ReadCloser: r.Body, left: max(r.ContentLength, 2) / 2}
			}
			return nil
		},
		// An error of the server looks to the client like what it is: a connection that
		// ends.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     silent,
	}
	p.server = http.Server{Handler: p, ErrorLog: silent}
	go func() {
		defer close(p.served)
		_ = p.server.Serve(listener)
	}()
	return p, nil
}

// Addr returns the address of the proxy, as HOST:PORT.
func (p *HTTP) Addr() string { return p.listener.Addr().String() }

// Set sets the function that chooses the action for each request; nil passes on all. It
// is called by many goroutines concurrently, and must not read the body.
func (p *HTTP) Set(choose func(*http.Request) Action) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.choose = choose
	close(p.changed)
	p.changed = make(chan struct{})
}

// Did returns the number of requests whose Action was not the zero one.
func (p *HTTP) Did() int64 { return p.did.Load() }

// Close ends the proxy and its connections.
func (p *HTTP) Close() error {
	p.Set(nil)
	err := p.server.Close()
	<-p.served
	p.idle()
	return err
}

type halfKey struct{}

// ServeHTTP applies the chosen action to a request.
func (p *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	choose, changed := p.choose, p.changed
	p.mu.Unlock()
	if choose == nil {
		p.proxy.ServeHTTP(w, r)
		return
	}
	a := choose(r)
	if a.Delay > 0 || a.Silent || a.Status != 0 || a.Lose || a.Half {
		p.did.Add(1)
	}
	if a.Delay > 0 {
		select {
		case <-time.After(a.Delay):
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
	switch {
	case a.Silent:
		_, _ = io.Copy(io.Discard, r.Body) // so that the end of the client's connection is noticed
		select {
		case <-changed:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	case a.Status == 0 && !a.Lose:
		p.proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), halfKey{}, a.Half)))
		return
	case a.Carried:
		// It is carried out whether or not the client waits for it.
		p.proxy.ServeHTTP(&discarded{header: http.Header{}}, r.WithContext(context.WithoutCancel(r.Context())))
	default:
		_, _ = io.Copy(io.Discard, r.Body)
	}
	if a.Lose {
		panic(http.ErrAbortHandler)
	}
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.Status)
	_, _ = io.WriteString(w, a.Body)
}
