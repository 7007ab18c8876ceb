package httpstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"memento"
	"memento/backend/apikey"
)

// A request is an HTTP request made by a method.
type request struct {
	op     string // the method, for errors
	method string
	path   string // escaped, starting with /v1
	query  url.Values
	body   any              // sent as JSON; nil for none
	lines  func() io.Reader // a body of JSON lines instead
	by     *memento.Actor   // actor of the change; nil for none
	safe   bool             // whether it changes nothing, so that it can be retried
	first  bool             // whether it is the one made by Open
}

const (
	// grace is how much longer than its context the response to a write is awaited: most
	// arrive in this time, and say what the outcome is.
	grace = 2 * time.Second

	// maxWait is the longest delay before a retry that the server can ask for. If it asks
	// for more, its error is returned instead.
	maxWait = 30 * time.Second

	maxError = 1 << 20 // maximum size of an error response, in bytes
)

// call makes a request, and decodes the response into answer, if that is not nil.
func (b *Backend) call(ctx context.Context, r request, answer any) error {
	leave, err := b.enter(r.op)
	if err != nil {
		return err
	}
	defer leave()
	return b.round(ctx, r, answer)
}

// round is call for requests within a call under way, or within Close.
func (b *Backend) round(ctx context.Context, r request, answer any) error {
	return b.send(ctx, r, func(resp *http.Response) error {
		defer resp.Body.Close()
		text, err := io.ReadAll(io.LimitReader(resp.Body, b.opts.MaxAnswer+1))
		switch {
		case err != nil:
			return errCut{err}
		case int64(len(text)) > b.opts.MaxAnswer:
			return r.unsure(tooLarge(b.opts.MaxAnswer))
		case answer == nil, json.Unmarshal(text, answer) == nil:
			return nil
		case r.first:
			return r.unsure(errNoServer)
		}
		return r.unsure(errNotUnderstood)
	})
}

// unsure returns the error for a request that the server may have carried out.
func (r *request) unsure(cause error) error {
	if !r.safe {
		cause = fmt.Errorf("%w: the request may have been carried out (%w)", memento.ErrUncertain, cause)
	}
	return &memento.Error{Op: r.op, Err: cause}
}

var errNotUnderstood = fmt.Errorf("%w: the server's answer is not what a memento of this version sends", memento.ErrFormat)

func tooLarge(most int64) error {
	return fmt.Errorf("the server's answer has more than %d bytes", most)
}

// errCut says that a response ended early.
type errCut struct{ error }

// send makes a request, and retries it if possible. read is called with a success
// response, and closes its body.
func (b *Backend) send(ctx context.Context, r request, read func(*http.Response) error) error {
	var body []byte
	if r.body != nil {
		var err error
		if body, err = encode(r.body); err != nil {
			return &memento.Error{Op: r.op, Err: err}
		}
	}
	for n := 0; ; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		again, wait, err := b.try(ctx, r, body, read)
		if err == nil || !again || n >= b.opts.Retries || wait > maxWait || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(max(wait, pause(n))):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pause returns the delay after the nth failure, counted from 0. It is random, so that
// clients do not all retry at the same time.
func pause(n int) time.Duration {
	most := 100 * time.Millisecond << min(n, 6)
	return most/2 + rand.N(most/2)
}

// encode encodes JSON without escaping HTML characters.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// try makes a request once. again says that it can be retried after wait, because it had
// no effect or is safe.
func (b *Backend) try(ctx context.Context, r request, body []byte, read func(*http.Response) error) (again bool, wait time.Duration, err error) {
	var connected atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// The transport itself retries what it has not sent.
		GetConn: func(string) { connected.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	if !r.safe {
		var cancel context.CancelFunc
		traced, cancel = context.WithCancel(context.WithoutCancel(traced))
		defer cancel()
		defer context.AfterFunc(ctx, func() {
			if !connected.Load() { // the server has not received anything
				cancel()
				return
			}
			time.AfterFunc(grace, cancel)
		})()
	}
	req, err := b.newRequest(traced, r, body)
	if err != nil {
		return false, 0, err
	}
	resp, err := b.client.Do(req)
	if err == nil && resp.StatusCode/100 != 2 {
		return b.refused(r, resp)
	}
	if err == nil {
		err = read(resp)
		if cut, ok := errors.AsType[errCut](err); !ok {
			return false, 0, err
		} else {
			err = cut.error
		}
	}
	if ended := ctx.Err(); ended != nil {
		return false, 0, ended
	}
	cause, permanent := explain(err)
	if connected.Load() && !r.safe {
		return false, 0, r.unsure(cause)
	}
	return !r.first && !permanent, 0, &memento.Error{Op: r.op, Err: &unreachable{cause, permanent}}
}

const (
	actorHeader    = "Memento-Actor"
	actorKeyHeader = "Memento-Actor-Key"
)

func (b *Backend) newRequest(ctx context.Context, r request, body []byte) (*http.Request, error) {
	target := b.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	var content io.Reader
	switch {
	case r.lines != nil:
		content = r.lines()
	case r.body != nil:
		content = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, content)
	if err != nil {
		return nil, &memento.Error{Op: r.op, Err: invalid("the URL of the server cannot be used")}
	}
	switch {
	case r.lines != nil:
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(r.lines()), nil }
		req.Header.Set("Content-Type", "application/x-ndjson")
	case r.body != nil:
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", b.opts.UserAgent)
	req.Header.Set("anthropic-version", "2023-06-01")
	req.Header.Set("anthropic-beta", "agent-memory-2026-07-22")
	if b.opts.Key != "" {
		req.Header.Set("Authorization", "Bearer "+b.opts.Key)
	}
	if r.by != nil && b.maySign(r.by) {
		req.Header.Set(actorHeader, url.PathEscape(string(r.by.Kind))+"/"+url.PathEscape(r.by.ID))
	}
	if r.by != nil && r.by.Key != "" && b.identity.Role.Allows(apikey.RoleAdmin) {
		req.Header.Set(actorKeyHeader, url.PathEscape(string(r.by.Key)))
	}
	return req, nil
}

// maySign reports whether the key's role allows an actor other than the key's own.
func (b *Backend) maySign(by *memento.Actor) bool {
	return b.identity.Role.Allows(apikey.RoleAdmin) || by.Kind == memento.ActorSession && by.ID != ""
}
