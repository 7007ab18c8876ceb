package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"memento/internal/httpmessage"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// StoreHeader is the header of a request that names the store of its memory. It is not
// passed on.
const StoreHeader = "Memento-Store"

// ownPrefix is the prefix of headers that are for the gateway.
const ownPrefix = "Memento-"

func newTransport() http.RoundTripper {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          1000,
		MaxIdleConnsPerHost:   1000,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true, // what passes keeps its encoding
	}
}

// newProxy returns the proxy for what the gateway does not look into.
func (g *Gateway) newProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL = g.target(p.In.URL)
			p.Out.Host = ""
			setCredentials(p.Out.Header, passedOf(p.In).caller)
			g.c.Emulate.removeBetas(p.Out.Header)
		},
		Transport:      roundTripper(g.passOn),
		ModifyResponse: timed,
		FlushInterval:  -1,
		ErrorLog:       log.New(io.Discard, "", 0), // ErrorHandler logs
		ErrorHandler:   func(w http.ResponseWriter, r *http.Request, err error) { g.unreachable(w, r, err) },
	}
}

// A passed is a request that is sent on as it is.
type passed struct {
	caller Caller
	start  time.Time
	waited time.Duration // for the upstream to begin its answer
	header http.Header   // of the answer
}

type passedKey struct{}

func passedOf(r *http.Request) *passed { return r.Context().Value(passedKey{}).(*passed) }

// passOn is roundTrip for a request that is sent on as it is.
func (g *Gateway) passOn(r *http.Request) (*http.Response, error) {
	began := time.Now()
	response, err := g.roundTrip(r)
	passedOf(r).waited = time.Since(began)
	if err == nil {
		response.Request = r // for timed
	}
	return response, err
}

// timed adds the gateway's own time to an answer of the upstream, whose request ID is the
// one that counts.
func timed(response *http.Response) error {
	p := passedOf(response.Request)
	addTiming(response.Header, time.Since(p.start)-p.waited)
	if response.Header.Get("Request-Id") != "" {
		p.header.Del("Request-Id")
	}
	return nil
}

func addTiming(h http.Header, own time.Duration) {
	h.Add("Server-Timing", "memento;dur="+strconv.FormatFloat(float64(own)/float64(time.Millisecond), 'f', 2, 64))
}

// pass sends a request on as it is, with body unless that is nil.
func (g *Gateway) pass(w http.ResponseWriter, r *http.Request, caller Caller, body []byte, start time.Time) {
	r = r.WithContext(context.WithValue(r.Context(), passedKey{}, &passed{caller: caller, start: start, header: w.Header()}))
	if body != nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.TransferEncoding = nil
		r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	} else if r.Body != nil && r.Body != http.NoBody {
		// The transport may still read the body when the answer has ended; the server's
		// own body must not be closed by it.
		r.Body = io.NopCloser(r.Body)
	}
	g.proxy.ServeHTTP(w, r)
}

// unreachable answers when the upstream did not.
func (g *Gateway) unreachable(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		errGone.Write(w)
		return
	}
	g.c.Logger.WarnContext(r.Context(), "gateway: the upstream did not answer", "error", withoutURL(err), "upstream", g.c.Upstream.Host)
	upstreamError(err).Write(w)
}

// upstreamError is what the caller reads about an upstream that did not answer.
func upstreamError(err error) *Error {
	if own := (*Error)(nil); errors.As(err, &own) {
		return own
	}
	if t, ok := err.(interface{ Timeout() bool }); ok && t.Timeout() {
		return &Error{Status: http.StatusGatewayTimeout, Type: "timeout_error", Message: "the upstream of the gateway did not answer in time", Retry: true}
	}
	message := "the upstream of the gateway cannot be reached"
	for _, known := range []error{errCutOff, errLarge, errLargeEvent} {
		if errors.Is(err, known) {
			message = known.Error() // what caused it is for the log
		}
	}
	return &Error{Status: http.StatusBadGateway, Type: "api_error", Message: message, Retry: true}
}

// withoutURL returns the reason of an error without the URL of the request, whose query
// is the caller's.
func withoutURL(err error) error {
	if u, ok := err.(*url.Error); ok {
		return u.Err
	}
	return err
}

// target returns the upstream's URL for a request.
func (g *Gateway) target(in *url.URL) *url.URL {
	u := *g.c.Upstream
	u.Path = strings.TrimSuffix(u.Path, "/") + in.Path
	u.RawPath = ""
	if in.RawPath != "" {
		u.RawPath = strings.TrimSuffix(g.c.Upstream.EscapedPath(), "/") + in.RawPath
	}
	u.RawQuery = in.RawQuery
	return &u
}

// setCredentials removes what is for the gateway only, and sets the upstream's key if
// the gateway has it.
func setCredentials(h http.Header, caller Caller) {
	for name := range h {
		if strings.HasPrefix(name, ownPrefix) {
			h.Del(name)
		}
	}
	if caller.UpstreamKey != "" {
		h.Del("Authorization")
		h.Set("X-Api-Key", caller.UpstreamKey)
	}
}

// hopByHop are headers of one connection. Source: RFC 9110 section 7.6.1.
var hopByHop = []string{"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

func removeHopByHop(h http.Header) {
	for _, line := range h.Values("Connection") {
		for name := range strings.SplitSeq(line, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopByHop {
		h.Del(name)
	}
}

// send sends one round to the upstream.
func (c *conversation) send(body []byte) (*http.Response, error) {
	header := c.in.Header.Clone()
	removeHopByHop(header)
	for _, name := range []string{"Content-Length", "Expect"} {
		header.Del(name)
	}
	header.Set("Accept-Encoding", "identity") // it is looked into
	if len(header.Values("User-Agent")) == 0 {
		header.Set("User-Agent", "") // or Go would send its own
	}
	setCredentials(header, c.caller)
	c.g.c.Emulate.removeBetas(header)
	request := (&http.Request{
		Method: http.MethodPost, URL: c.g.target(c.in.URL), Header: header,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
		Proto:   "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(c.in.Context())
	began := time.Now()
	response, err := c.g.roundTrip(request)
	c.waited += time.Since(began)
	if err == nil && response.StatusCode == http.StatusOK && !slices.Contains([]string{"", "identity"}, response.Header.Get("Content-Encoding")) {
		response.Body.Close()
		return nil, errEncoded
	}
	return response, err
}

var errEncoded = &Error{Status: http.StatusBadGateway, Type: "api_error", Message: "the upstream of the gateway compresses its answers although it was asked not to; turn that off there, or in the proxy before it"}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// roundTrip sends a request to the upstream, and gives up when nothing moves for
// Config.Timeout: while the request is sent, until the answer begins, and in it.
func (g *Gateway) roundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	late := time.AfterFunc(g.c.Timeout, func() { cancel(errTimeout) })
	r = r.WithContext(ctx)
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &sentBody{r.Body, late, g.c.Timeout}
	}
	response, err := g.c.Transport.RoundTrip(r)
	if err != nil {
		late.Stop()
		if context.Cause(ctx) == errTimeout {
			err = errTimeout
		}
		cancel(nil)
		return nil, err
	}
	if response.StatusCode == http.StatusSwitchingProtocols {
		late.Stop() // its body is the connection
		return response, nil
	}
	response.Body = &upstreamBody{response.Body, ctx, cancel, late, g.c.Timeout}
	return response, nil
}

// A sentBody is the body of a request, whose parts are signs of life.
type sentBody struct {
	io.ReadCloser
	late    *time.Timer
	timeout time.Duration
}

func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.late.Stop() { // not once it was given up, or the answer has ended
		b.late.Reset(b.timeout)
	}
	return n, err
}

// An upstreamBody ends its request when it is closed, and when the upstream is silent
// for too long.
type upstreamBody struct {
	io.ReadCloser
	ctx     context.Context
	cancel  context.CancelCauseFunc
	late    *time.Timer
	timeout time.Duration
}

func (b *upstreamBody) Read(p []byte) (int, error) {
	b.late.Reset(b.timeout)
	n, err := b.ReadCloser.Read(p)
	if err != nil && context.Cause(b.ctx) == errTimeout {
		err = errTimeout
	}
	return n, err
}

func (b *upstreamBody) Close() error {
	b.late.Stop()
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}

type timeoutError struct{}

func (timeoutError) Error() string { return "it was silent for too long; gateway.timeout bounds that" }
func (timeoutError) Timeout() bool { return true }

var errTimeout error = timeoutError{}

// Retries of later rounds, as the official SDKs make them. The first round is repeated by
// the application, which knows nothing of the later ones.
const (
	maxRetries   = 2
	firstDelay   = 500 * time.Millisecond
	longestDelay = 8 * time.Second
	longestWait  = time.Minute // that the upstream may ask for; more is not waited for
)

// sendAgain sends a later round, and repeats it as the SDKs do.
func (c *conversation) sendAgain(body []byte) (*http.Response, error) {
	for attempt := 0; ; attempt++ {
		response, err := c.send(body)
		if c.in.Context().Err() != nil || attempt == maxRetries || err == nil && !shouldRetry(response) {
			return response, err
		}
		delay := min(firstDelay<<attempt, longestDelay)
		delay -= time.Duration(rand.Int64N(int64(delay / 4)))
		if err == nil {
			if asked := httpmessage.RetryAfter(response.Header); asked > 0 && asked <= longestWait {
				delay = asked
			}
			response.Body.Close()
		}
		began := time.Now()
		select {
		case <-time.After(delay):
		case <-c.in.Context().Done():
			return nil, c.in.Context().Err()
		}
		c.waited += time.Since(began)
	}
}

func shouldRetry(r *http.Response) bool {
	switch r.Header.Get("X-Should-Retry") {
	case "true":
		return true
	case "false":
		return false
	}
	return r.StatusCode >= 500 || slices.Contains([]int{http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests}, r.StatusCode)
}

// relay sends an answer of the upstream on as it is: an error, or what is not understood.
func (c *conversation) relay(w http.ResponseWriter, response *http.Response, body io.Reader) {
	if response.StatusCode == http.StatusOK {
		c.g.c.Logger.WarnContext(c.in.Context(), "gateway: the upstream's answer is no message, and is passed on as it is", "upstream", c.g.c.Upstream.Host, "asked_for_stream", c.request.stream)
	}
	c.copyHeaders(w, response)
	if response.ContentLength >= 0 {
		w.Header().Set("Content-Length", strconv.FormatInt(response.ContentLength, 10))
	}
	w.WriteHeader(response.StatusCode)
	io.Copy(w, body) // the caller's connection; there is nobody to tell
}

// copyHeaders sets the headers of the upstream's answer, without those of its length and
// connection.
func (c *conversation) copyHeaders(w http.ResponseWriter, response *http.Response) {
	removeHopByHop(response.Header)
	h := w.Header()
	for name, values := range response.Header {
		if name != "Content-Length" {
			h[name] = values
		}
	}
	addTiming(h, c.own())
}
