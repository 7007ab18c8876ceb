package server

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"time"
)

// cachingTransport answers repeated GET requests from memory for a short time. The
// OpenID Connect library requests the issuer's keys whenever a token names an unknown
// key, and anybody can make up such tokens.
type cachingTransport struct {
	next  http.RoundTripper
	fresh time.Duration

	mu   sync.Mutex
	kept map[string]*keptAnswer
}

type keptAnswer struct {
	at     time.Time
	status int
	header http.Header
	body   []byte
}

const maxKeptBody = 1 << 20

// RoundTrip implements http.RoundTripper for GET.
func (t *cachingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	defer t.mu.Unlock() // one request at a time is enough
	url := r.URL.String()
	if k := t.kept[url]; k != nil && time.Since(k.at) < t.fresh {
		return k.answer(r), nil
	}
	answer, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxKeptBody))
	if err != nil {
		return nil, err
	}
	k := &keptAnswer{at: time.Now(), status: answer.StatusCode, header: answer.Header, body: body}
	if len(t.kept) >= 16 { // an issuer has two URLs
		clear(t.kept)
	}
	if t.kept == nil {
		t.kept = map[string]*keptAnswer{}
	}
	t.kept[url] = k
	return k.answer(r), nil
}

func (k *keptAnswer) answer(r *http.Request) *http.Response {
	return &http.Response{
		StatusCode: k.status, Status: http.StatusText(k.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: k.header.Clone(), Body: io.NopCloser(bytes.NewReader(k.body)), ContentLength: int64(len(k.body)), Request: r,
	}
}
