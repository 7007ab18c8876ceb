package s3store

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// What happens to requests in the tests of this package and of s3store_test.

type RoundTripper func(*http.Request) (*http.Response, error)

func (f RoundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Transport returns a transport of the test's own.
func Transport(t testing.TB) *http.Transport {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// Via returns a transport whose requests pass through do, which sends them.
func Via(t testing.TB, do func(req *http.Request, send RoundTripper) (*http.Response, error)) http.RoundTripper {
	transport := Transport(t)
	return RoundTripper(func(req *http.Request) (*http.Response, error) { return do(req, transport.RoundTrip) })
}

// IsOn reports whether a request has a method, and a key that ends in part, or is below it if
// that is a directory.
func IsOn(req *http.Request, method, part string) bool {
	return req.Method == method && (strings.HasSuffix(req.URL.Path, part) || strings.HasSuffix(part, "/") && strings.Contains(req.URL.Path, part))
}

// Before returns a transport that, once it is armed, runs do before the next request with a
// method and a key, see IsOn.
func Before(t testing.TB, armed *atomic.Bool, method, part string, do func()) http.RoundTripper {
	return Via(t, func(req *http.Request, send RoundTripper) (*http.Response, error) {
		if IsOn(req, method, part) && armed.CompareAndSwap(true, false) {
			do()
		}
		return send(req)
	})
}

// Unsent is the answer to a request of a process that is dead.
func Unsent(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		req.Body.Close()
	}
	return nil, errors.New("dead")
}
