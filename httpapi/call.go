package httpapi

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"mime"
	"net/http"
	"net/netip"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"memento/backend/apikey"
	"memento/internal/wire"
)

// A call is one request and its answer.
type call struct {
	api       *API
	w         *response
	r         *http.Request
	control   *http.ResponseController
	id        string
	start     time.Time
	who       Principal
	remote    netip.Addr // of the client
	route     *route
	text      []byte // the body, if it is JSON
	body      int64  // bytes read of it
	bodyRead  bool   // whether that was all of it
	errorType string

	permits []*permit // of all limiters; released when the request ends
	memory  *permit   // in bytes; nil if none is reserved
}

// ServeHTTP answers a request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := a.newCall(w, r)
	answered := false
	defer func() {
		if answered {
			c.linger()
		}
	}()
	defer c.done()
	defer func() {
		if fault := recover(); fault != nil {
			if fault == http.ErrAbortHandler { // the answer is cut off on purpose
				panic(fault)
			}
			a.opts.Logger.ErrorContext(r.Context(), "panic in a request", "request_id", c.id, "panic", panicText(fault), "stack", string(debug.Stack()))
			c.refuse(errInternal)
		}
	}()
	if err := c.serve(); err != nil {
		c.refuse(err)
	}
	c.setWriteDeadline() // for what package http has not written yet
	answered = true
}

func (a *API) newCall(w http.ResponseWriter, r *http.Request) *call {
	c := &call{
		api: a, w: &response{ResponseWriter: w}, r: r, control: http.NewResponseController(w),
		id: newRequestID(), start: a.opts.Now(), remote: a.opts.Proxy.clientAddr(r),
	}
	c.w.begin = func() { c.setReadDeadline(); c.setWriteDeadline() }
	c.w.Header().Set("request-id", c.id)
	c.w.Header().Set("x-content-type-options", "nosniff")
	c.w.Header().Set("cache-control", "no-store")
	return c
}

// panicText returns the text of a panic for the log. Of values other than the runtime's
// own errors it is only the type, because they may contain the contents of a memory.
func panicText(fault any) string {
	if err, ok := fault.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("%T", fault)
}

// serve authenticates the request, checks the caller's role and limits, and executes the
// request. The cheap checks come first.
func (c *call) serve() error {
	a := c.api
	// The deadlines belong to the connection: those of the previous request no longer
	// apply.
	_ = c.control.SetWriteDeadline(time.Time{})
	if answered, err := c.checkOrigin(); err != nil || answered {
		return err
	}
	found, unknown := c.find(a.mux)
	if unknown == nil && found.role == "" {
		c.route = found
		return found.do(a, c)
	}
	var err error
	c.endAmbiguous()
	if c.who, err = c.authenticate(); err != nil {
		return err // an unknown path is reported to authenticated callers only
	}
	if c.route = found; unknown != nil {
		return unknown
	}
	c.w.Header().Set(workspaceHeader, string(c.who.Workspace))
	if asked := c.r.Header.Get(workspaceHeader); asked != "" && asked != string(c.who.Workspace) {
		return &apiError{status: http.StatusForbidden, kind: permissionError, message: "this key belongs to another workspace than " + workspaceHeader + " names"}
	}
	if role := a.roleOf(c.route); !c.who.Role.Allows(role) {
		return needsRole(role)
	}
	if err := c.checkCharset(); err != nil {
		return err
	}
	key := c.who.key()
	if err := a.rates.allow(key, c.route.role != apikey.RoleRead, 1, time.Now()); err != nil {
		return err
	}
	if c.route.kind == anthropicEndpoint {
		if err := c.checkBetas(); err != nil {
			return err
		}
	}
	defer c.releaseAll()
	switch c.route.kind {
	case streamEndpoint:
		err = c.hold(a.streams)
	case bulkEndpoint: // it takes a slot once its whole body has arrived
		err = c.hold(a.bodies)
	default:
		if err = c.receive(); err == nil {
			err = c.hold(a.slots)
		}
	}
	if err != nil {
		return err
	}
	return c.route.do(a, c)
}

// endAmbiguous ends the connection of a request with Transfer-Encoding after the answer.
// Package http drops a Content-Length sent with it. A proxy may have used that to find the
// start of the next request.
func (c *call) endAmbiguous() {
	if c.r.ProtoMajor == 1 && len(c.r.TransferEncoding) > 0 {
		c.w.Header().Set("Connection", "close")
	}
}

// maxBodyGrace is the maximum time that an answer waits for the rest of an unread body:
// package http reads up to 256 KB of it before it sends the answer.
const maxBodyGrace = 2 * time.Second

// bodyGrace returns the time that the answer may wait for the rest of this request's
// body; 0 if nothing is left to read.
func (c *call) bodyGrace() time.Duration {
	if !c.hasBody() || c.bodyRead {
		return 0
	}
	return min(maxBodyGrace, c.api.opts.Timeout)
}

// setReadDeadline sets the deadline for reading the rest of the body.
func (c *call) setReadDeadline() {
	if d := c.bodyGrace(); d > 0 {
		_ = c.control.SetReadDeadline(time.Now().Add(d))
	}
}

// setWriteDeadline sets the deadline for writing the next part of the answer.
func (c *call) setWriteDeadline() {
	_ = c.control.SetWriteDeadline(time.Now().Add(c.bodyGrace() + c.api.opts.Timeout))
}

func (c *call) hasBody() bool { return c.r.Body != nil && c.r.Body != http.NoBody }

// answerID returns the ID in the answer, if that is not the request's own.
func (c *call) answerID() string {
	if id := c.w.Header().Get("Request-Id"); id != c.id {
		return fromOutside(id)
	}
	return ""
}

func newRequestID() string {
	var bits [12]byte
	rand.Read(bits[:]) // never fails: crypto/rand
	return "req_" + hex.EncodeToString(bits[:])
}

// done reports the request to Options.Requested.
func (c *call) done() {
	if c.api.opts.Requested == nil {
		return
	}
	pattern := ""
	if c.route != nil {
		pattern = c.route.pattern
	}
	c.api.opts.Requested(c.r.Context(), Request{
		ID: c.id, Method: c.r.Method, Route: pattern, Status: c.w.status, Start: c.start, Took: c.api.opts.Now().Sub(c.start),
		AnswerID: c.answerID(), Read: c.body, Written: c.w.written, Principal: c.who, Remote: c.remote, UserAgent: userAgent(c.r), ErrorType: c.errorType, Retries: shortHeader(c.r, "X-Stainless-Retry-Count"),
	})
}

// shortHeader returns the value of a header, or "" if it has more than 8 bytes.
func shortHeader(r *http.Request, name string) string {
	if v := r.Header.Get(name); len(v) <= 8 {
		return v
	}
	return ""
}

// A response is an http.ResponseWriter that records the status and counts the bytes
// written.
type response struct {
	http.ResponseWriter
	begin   func() // called before the header is written
	status  int    // 0 until then
	written int64
	gone    bool // whether writing to the client has failed
}

func (w *response) WriteHeader(status int) {
	if informs := status < 200 && status != http.StatusSwitchingProtocols; !informs && w.status == 0 {
		w.status = status
		w.begin()
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	n, err := w.ResponseWriter.Write(p)
	w.written += int64(n)
	w.gone = w.gone || err != nil
	return n, err
}

// Unwrap returns the inner writer, as http.ResponseController needs it.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// answer sends v as JSON.
func (c *call) answer(v any) error { return c.send(http.StatusOK, v) }

func (c *call) send(status int, v any) error {
	b := buffers.Get().(*bytes.Buffer)
	defer putBuffer(b)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	if err := c.reserveAnswer(b.Cap()); err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", fmt.Sprint(b.Len()))
	c.w.WriteHeader(status)
	_, _ = c.w.Write(b.Bytes()) // a client that is gone has no use for the error
	return nil
}

// buffers holds buffers for encoding answers.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func putBuffer(b *bytes.Buffer) {
	const most = 256 << 10 // larger buffers are not kept
	if b.Cap() <= most {
		b.Reset()
		buffers.Put(b)
	}
}

// refuse answers with an error. If the answer has begun already, it is cut off, so that
// the client does not take a part of it for the whole.
func (c *call) refuse(err error) {
	if c.w.gone { // the server is not at fault
		c.errorType = timeoutError
		panic(http.ErrAbortHandler)
	}
	f := c.toAPIError(err)
	c.errorType = f.kind
	if c.w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	h := c.w.Header()
	if f.allow != "" {
		h.Set("Allow", f.allow)
	}
	if f.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="memento"`) // x-api-key has no scheme
	}
	if f.shouldRetry != "" {
		h.Set("x-should-retry", f.shouldRetry)
	}
	if f.retryAfter > 0 {
		h.Set("retry-after", fmt.Sprint(int(math.Ceil(f.retryAfter.Seconds()))))
		h.Set("retry-after-ms", fmt.Sprint(math.Ceil(f.retryAfter.Seconds()*1000)))
	}
	if f.closeConn {
		h.Set("Connection", "close")
	}
	body := f.extra
	body.Type, body.Message = f.kind, f.message
	_ = c.send(f.status, wire.ErrorAnswer{Type: "error", Error: body, RequestID: c.id})
}

// context returns the context of the request. It ends when the client disconnects.
func (c *call) context() context.Context { return c.r.Context() }

// checkCharset refuses a body whose declared charset is not UTF-8 or ASCII, because it
// would be decoded as UTF-8.
func (c *call) checkCharset() error {
	kind := c.r.Header.Get("Content-Type")
	if kind == "" || !c.hasBody() {
		return nil
	}
	_, parameters, err := mime.ParseMediaType(kind)
	charset := strings.ToLower(parameters["charset"])
	if err == nil && (charset == "" || charset == "utf-8" || charset == "utf8" || charset == "us-ascii") {
		return nil
	}
	if err != nil && !strings.Contains(strings.ToLower(kind), "charset") {
		return nil // the handler checks the type
	}
	return &apiError{status: http.StatusUnsupportedMediaType, kind: invalidRequest, message: "Content-Type: the charset must be utf-8", closeConn: true}
}
