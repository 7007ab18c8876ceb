package s3store

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
)

// Stats are what a backend has asked of the object storage since it was opened.
// Each attempt counts: what was answered with an error, too.
type Stats struct {
	Gets         int64 // objects, or parts of them, that were read
	GetsNotFound int64 // reads of objects that are not there: how a store is asked for news
	Puts         int64 // objects written
	PutsRefused  int64 // writes whose condition did not hold
	Lists        int64 // pages of listings
	Deletes      int64 // objects deleted
	Heads        int64 // questions about an object or the bucket
	Failures     int64 // requests without an answer, or with one from 500 on
	Retries      int64 // requests that were repeated
	BytesRead    int64 // of bodies
	BytesWritten int64 // of bodies
	CacheHits    int64 // contents and parts of history that came from memory
	CacheMisses  int64
	CacheBytes   int64 // in the cache at present
	StateBytes   int64 // of stores held in memory at present, roughly
}

// Requests is the number of requests in all.
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

// counting is the transport that counts.
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
