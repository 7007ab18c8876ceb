package s3store

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
)

// Stats are the counts of a backend's requests to the object storage since it was opened,
// and the state of its caches. Each attempt counts, also one that was answered with an
// error.
type Stats struct {
	Gets         int64 // GET requests that returned an object, or a part of one
	GetsNotFound int64 // GET requests for objects that do not exist, as the check for a next record is
	Puts         int64 // PUT requests that wrote an object
	PutsRefused  int64 // PUT requests whose condition did not hold
	Lists        int64 // requests for a page of a listing
	Deletes      int64 // DELETE requests
	Heads        int64 // HEAD requests, and GET requests for properties of the bucket
	Failures     int64 // requests that got no answer, or a status of 500 or more
	Retries      int64 // requests that were repeated
	BytesRead    int64 // of bodies
	BytesWritten int64 // of bodies
	CacheHits    int64 // reads of contents and segments' headers that the cache answered
	CacheMisses  int64 // and those that it did not
	CacheBytes   int64 // current size of the cache
	StateBytes   int64 // current size of the states, approximately
}

// Requests returns the total number of requests.
func (s *Stats) Requests() int64 {
	return s.Gets + s.GetsNotFound + s.Puts + s.PutsRefused + s.Lists + s.Deletes + s.Heads + s.Failures
}

// Stats returns the counts up to now.
func (b *Backend) Stats() Stats {
	t := b.transport
	s := Stats{
		Gets: t.gets.Load(), GetsNotFound: t.missing.Load(), Puts: t.puts.Load(), PutsRefused: t.refused.Load(),
		Lists: t.lists.Load(), Deletes: t.deletes.Load(), Heads: t.heads.Load(), Failures: t.failures.Load(),
		Retries: b.s3.retries.Load(), BytesRead: t.in.Load(), BytesWritten: t.out.Load(),
	}
	s.CacheHits, s.CacheMisses, s.CacheBytes = b.cache.counts()
	s.StateBytes = b.stateBytes()
	return s
}

// statsTransport is a transport that counts requests.
type statsTransport struct {
	base http.RoundTripper

	gets, missing, puts, refused, lists, deletes, heads, failures, in, out atomic.Int64

	date atomic.Pointer[serverDate]
}

func (t *statsTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(req)
	t.out.Add(max(req.ContentLength, 0))
	if err != nil {
		t.failures.Add(1)
		return nil, err
	}
	t.noteDate(resp.Header)
	query := req.URL.RawQuery
	switch code := resp.StatusCode; {
	case code >= 500:
		t.failures.Add(1)
	case req.Method == http.MethodGet && (strings.Contains(query, "list-type=") || strings.Contains(query, "versions=") || strings.Contains(query, "prefix=")):
		t.lists.Add(1)
	case req.Method == http.MethodGet && query != "" || req.Method == http.MethodHead:
		t.heads.Add(1)
	case req.Method == http.MethodGet && code == http.StatusNotFound:
		t.missing.Add(1)
	case req.Method == http.MethodGet:
		t.gets.Add(1)
	case req.Method == http.MethodPut && (code == http.StatusPreconditionFailed || code == http.StatusConflict || code == http.StatusNotFound):
		t.refused.Add(1)
	case req.Method == http.MethodPut:
		t.puts.Add(1)
	default:
		t.deletes.Add(1)
	}
	resp.Body = &countingBody{resp.Body, &t.in}
	return resp, nil
}

type countingBody struct {
	io.ReadCloser
	n *atomic.Int64
}

func (b *countingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.n.Add(int64(n))
	return n, err
}
