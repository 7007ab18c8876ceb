package httpapi

import (
	"bytes"
	"io"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"memento/backend/apikey"
)

// KeyHeader has the key of a request to a handler of [API.Guard], if the request's other
// credentials are for somebody else.
const KeyHeader = "Memento-Key"

// Guard returns a handler of other endpoints for the same callers. It checks where a
// request comes from, the key, which is the one of [KeyHeader] if there is one, and the
// limits of the key, and refuses as the API does. Then next answers, without limits of
// time. endpoint names the one of a request, for logs and metrics: there must be few.
func (a *API) Guard(endpoint func(*http.Request) string, next func(http.ResponseWriter, *http.Request, Principal)) http.Handler {
	return a.guard(endpoint, nil, next)
}

// MessageOptions are the options of [API.GuardMessages].
type MessageOptions struct {
	MaxBody  int64                    // maximum size of a body in bytes
	IsStream func(*http.Request) bool // whether the answer goes on until the client leaves
}

// GuardMessages is Guard for short messages, of which all callers take their shares as they
// do of the API: of the memory and the slots for bodies until a body has arrived, and then
// of those for requests, or for streams. next has the body in main memory. The answer of
// what is no stream must leave in the time that Options.Timeout allows.
func (a *API) GuardMessages(endpoint func(*http.Request) string, opts MessageOptions, next func(http.ResponseWriter, *http.Request, Principal)) http.Handler {
	return a.guard(endpoint, &opts, next)
}

func (a *API) guard(endpoint func(*http.Request) string, messages *MessageOptions, next func(http.ResponseWriter, *http.Request, Principal)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := a.newCall(w, r)
		defer c.done()
		defer func() {
			if fault := recover(); fault != nil {
				if fault != http.ErrAbortHandler {
					a.opts.Logger.ErrorContext(r.Context(), "panic in a request", "request_id", c.id, "panic", panicText(fault), "stack", string(debug.Stack()))
				}
				panic(http.ErrAbortHandler) // the answer may have begun
			}
		}()
		c.route = &route{pattern: endpoint(r)}
		answered, err := c.admit()
		switch {
		case err != nil:
			c.refuse(err)
			return
		case answered:
			return
		}
		c.w.begin = func() {}
		if messages != nil {
			defer c.releaseAll()
			if err := c.takeMessage(messages); err != nil {
				c.w.begin = c.setWriteDeadline
				c.refuse(err)
				return
			}
		}
		unset := []string{"Cache-Control", "X-Content-Type-Options"}
		if messages != nil {
			unset = append(unset, "Request-Id")
		}
		for _, name := range unset {
			c.w.Header().Del(name)
		}
		if messages == nil && c.hasBody() {
			counted := &countedBody{ReadCloser: r.Body}
			r.Body = counted
			defer func() { c.body = counted.n.Load() }()
		}
		next(c.w, r, c.who)
	})
}

// A countedBody counts what is read of a body, perhaps still when the answer has ended.
type countedBody struct {
	io.ReadCloser
	n atomic.Int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.n.Add(int64(n))
	return n, err
}

// admit checks a request to a handler of Guard.
func (c *call) admit() (answered bool, err error) {
	_ = c.control.SetWriteDeadline(time.Time{}) // that of the connection's previous request
	c.endAmbiguous()
	if answered, err := c.checkOrigin(); err != nil || answered {
		return answered, err
	}
	credentials := c.r.Header.Values(KeyHeader)
	switch len(credentials) {
	case 0:
		c.who, err = c.authenticate()
	case 1:
		c.who, err = c.authenticateWith(credentials[0])
	default:
		err = unauthenticated("several keys were sent; send one")
	}
	if err != nil {
		return false, err
	}
	if !c.who.Role.Allows(apikey.RoleRead) {
		return false, needsRole(apikey.RoleRead)
	}
	return false, c.api.rates.allow(c.who.key(), c.r.Method != http.MethodGet, 1, time.Now())
}

// takeMessage reads the body of a message, and takes the slot of its request.
func (c *call) takeMessage(opts *MessageOptions) error {
	if c.hasBody() {
		err := c.receiveUpTo(opts.MaxBody, c.api.opts.Timeout)
		_ = c.control.SetReadDeadline(time.Time{}) // package http goes on reading, to see the client leave
		if err != nil {
			return err
		}
		c.r.Body = io.NopCloser(bytes.NewReader(c.text))
	}
	if opts.IsStream(c.r) {
		return c.hold(c.api.streams)
	}
	c.w.begin = c.setWriteDeadline
	return c.hold(c.api.slots)
}
