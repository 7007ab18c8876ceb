package faultproxy_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"memento/test/faultproxy"
)

// A shelf is a server that remembers what it was sent.
type shelf struct {
	mu   sync.Mutex
	kept []string
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.kept = append(s.kept, r.Method+" "+r.Host+" "+r.URL.RequestURI()+" "+string(body))
	s.mu.Unlock()
	w.Header().Set("Content-Length", "100000")
	fmt.Fprint(w, strings.Repeat("0123456789", 10_000))
}

func (s *shelf) heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept
}

func proxiedShelf(t *testing.T) (*shelf, *faultproxy.HTTP, *http.Client) {
	t.Helper()
	s := &shelf{}
	server := httptest.NewServer(s)
	p, err := faultproxy.ListenHTTP(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return s, p, &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

// put sends a request, and returns the status and the body as far as it came.
func put(ctx context.Context, c *http.Client, p *faultproxy.HTTP, body string) (int, string, error) {
	r, err := http.NewRequestWithContext(ctx, "PUT", "http://"+p.Addr()+"/a%2Fb/c?x=%20y", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.Host = "signed.example"
	resp, err := c.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

const heardPut = "PUT signed.example /a%2Fb/c?x=%20y "

func TestHTTP(t *testing.T) {
	slowDown := faultproxy.Action{Status: 503, Header: http.Header{"Retry-After": {"1"}}, Body: "slow down"}
	late := slowDown
	late.Carried = true
	for _, tt := range []struct {
		name   string
		action faultproxy.Action
		status int // 0 if there is no answer, or no whole one
		body   int // bytes of it
		heard  bool
	}{
		{"passed on", faultproxy.Action{}, 200, 100_000, true},
		{"delayed", faultproxy.Action{Delay: 20 * time.Millisecond}, 200, 100_000, true},
		{"refused", slowDown, 503, len("slow down"), false},
		{"refused late", late, 503, len("slow down"), true},
		{"lost", faultproxy.Action{Lose: true}, 0, 0, false},
		{"answer lost", faultproxy.Action{Lose: true, Carried: true}, 0, 0, true},
		{"half", faultproxy.Action{Half: true}, 0, 50_000, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, p, c := proxiedShelf(t)
			p.Set(func(r *http.Request) faultproxy.Action {
				if r.Method != "PUT" {
					t.Errorf("asked about %s", r.Method)
				}
				return tt.action
			})
			began := time.Now()
			status, body, err := put(t.Context(), c, p, "contents")
			if (err == nil) != (tt.status != 0) || err == nil && status != tt.status || len(body) != tt.body {
				t.Errorf("answered %d with %d bytes, %v", status, len(body), err)
			}
			if took := time.Since(began); took < tt.action.Delay {
				t.Errorf("it took %v", took)
			}
			if heard := s.heard(); (len(heard) == 1) != tt.heard || tt.heard && heard[0] != heardPut+"contents" {
				t.Errorf("the server heard %q", heard)
			}
			if want := tt.name != "passed on"; (p.Did() == 1) != want {
				t.Errorf("%d faults", p.Did())
			}
			p.Set(nil)
			if status, body, err := put(t.Context(), c, p, "again"); status != 200 || len(body) != 100_000 || err != nil {
				t.Errorf("afterwards: %d, %d bytes, %v", status, len(body), err)
			}
		})
	}
}

// A silent proxy keeps a client waiting until one of them has enough.
func TestHTTPSilent(t *testing.T) {
	s, p, c := proxiedShelf(t)
	asked := make(chan struct{}, 2)
	p.Set(func(*http.Request) faultproxy.Action {
		asked <- struct{}{}
		return faultproxy.Action{Silent: true}
	})
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error, 1)
	go func() {
		_, _, err := put(ctx, c, p, "given up")
		answered <- err
	}()
	<-asked
	cancel()
	if err := <-answered; err == nil {
		t.Error("it answered")
	}
	go func() {
		_, _, err := put(t.Context(), c, p, "cut")
		answered <- err
	}()
	<-asked
	p.Set(nil)
	if err := <-answered; err == nil {
		t.Error("it answered when it was over")
	}
	if heard := s.heard(); len(heard) != 0 {
		t.Errorf("the server heard %q", heard)
	}
}

// What is carried out is carried out to the end, though the client has gone.
func TestHTTPCarriedWithoutClient(t *testing.T) {
	began, finish := make(chan struct{}), make(chan struct{})
	finished := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(began)
		<-finish
		finished <- r.Context().Err()
	}))
	defer server.Close()
	p, err := faultproxy.ListenHTTP(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.Set(func(*http.Request) faultproxy.Action { return faultproxy.Action{Carried: true, Lose: true} })
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		_, _, _ = put(ctx, &http.Client{Transport: transport}, p, "contents")
	}()
	<-began
	cancel()
	<-gone
	close(finish)
	if err := <-finished; err != nil {
		t.Errorf("the server saw the end of the request: %v", err)
	}
}
