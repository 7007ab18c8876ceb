package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"memento/internal/lru"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Caller is the sender of an HTTP request, who has been authenticated.
type Caller struct {
	// ID is unique to the caller and to what the caller sees. A session can only be used
	// by the Caller with the same ID who has begun it.
	ID       string
	ReadOnly bool
	Open     func(context.Context, Client) (Memory, error) // as in Options

	// Valid reports whether the caller may still do what it could when the request came.
	// It is asked from time to time during streams; nil means always.
	Valid func(context.Context) bool
}

// HandlerOptions are the options of [NewHandler].
type HandlerOptions struct {
	// Caller returns the sender of a request. It is required. If it has answered the
	// request with a refusal, it returns false.
	Caller func(http.ResponseWriter, *http.Request) (Caller, bool)

	// Server has the options for all callers. Its Open and ReadOnly are the caller's.
	Server Options

	MaxRequests int           // under way, without streams; 0 means 256
	MaxStreams  int           // of notifications; 0 means 1,024
	Timeout     time.Duration // for the body of a request to arrive; 0 means 30 s
	Idle        time.Duration // after which a session without requests ends; 0 means 30 min
	Recheck     time.Duration // how often Valid is asked during streams; 0 means 10 s
}

const (
	// modernVersion is the first version of the protocol without sessions.
	modernVersion = "2026-07-28"

	maxServers     = 1000 // for callers that were seen last
	maxSessions    = 100  // of one caller
	versionHeader  = "Mcp-Protocol-Version"
	methodHeader   = "Mcp-Method"
	nameHeader     = "Mcp-Name"
	sessionHeader  = "Mcp-Session-Id"
	lastEventID    = "Last-Event-Id"
	exposedHeaders = "Access-Control-Expose-Headers"
)

// A Handler is the HTTP endpoint: streamable HTTP of all versions of the protocol.
//
// It does not authenticate, and it does not check where requests come from: its caller
// does, before.
type Handler struct {
	opts     HandlerOptions
	modern   *mcp.StreamableHTTPHandler // for the version without sessions
	older    http.Handler               // for those with sessions; they belong to the caller
	requests chan struct{}
	streams  chan struct{}
	closed   context.Context // ends with Close
	close    context.CancelFunc

	mu      sync.Mutex
	servers lru.Map[string, *callerServer]
}

// A callerServer is the server of a caller.
type callerServer struct {
	*Server
	uses int // requests under way
}

// NewHandler returns a handler. The caller calls Close at the end.
func NewHandler(opts HandlerOptions) (*Handler, error) {
	if opts.Caller == nil {
		return nil, errors.New("mcpserver: HandlerOptions.Caller is required")
	}
	opts.Timeout = cmp.Or(opts.Timeout, 30*time.Second)
	opts.Recheck = cmp.Or(opts.Recheck, 10*time.Second)
	h := &Handler{
		opts:     opts,
		requests: make(chan struct{}, cmp.Or(opts.MaxRequests, 256)),
		streams:  make(chan struct{}, cmp.Or(opts.MaxStreams, 1024)),
	}
	h.closed, h.close = context.WithCancel(context.Background())
	h.modern = mcp.NewStreamableHTTPHandler(serverOf, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, DisableLocalhostProtection: true, MaxRequestBodyBytes: MaxMessageBytes,
		PropagateRequestCancellation: true,
	})
	older := mcp.NewStreamableHTTPHandler(serverOf, &mcp.StreamableHTTPOptions{
		JSONResponse: true, DisableLocalhostProtection: true, MaxRequestBodyBytes: MaxMessageBytes,
		SessionTimeout: cmp.Or(opts.Idle, 30*time.Minute),
	})
	// The SDK binds a session to the user of a token. Here it is the caller.
	h.older = auth.RequireBearerToken(func(_ context.Context, _ string, r *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: useOf(r).caller.ID}, nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(older)
	return h, nil
}

// Close ends all streams and sessions, and what runs in the background.
func (h *Handler) Close() {
	h.close()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.servers.Oldest() {
		for session := range s.mcp.Sessions() {
			go session.Close() // it waits for requests under way
		}
		s.Close()
	}
}

// A use is what a request uses, in its context.
type use struct {
	caller Caller
	server *callerServer
}

type useKey struct{}

func useOf(r *http.Request) use {
	u, _ := r.Context().Value(useKey{}).(use)
	return u
}

func serverOf(r *http.Request) *mcp.Server {
	if u := useOf(r); u.server != nil {
		return u.server.mcp
	}
	return nil
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	caller, ok := h.opts.Caller(w, r)
	if !ok {
		return
	}
	slots := h.requests
	if r.Method == http.MethodGet || r.Header.Get(methodHeader) == methodListen {
		slots = h.streams
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	default:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many requests are under way", http.StatusServiceUnavailable)
		return
	}
	if !h.readBody(w, r) {
		return
	}
	server, err := h.acquire(caller)
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	defer h.release(server)
	if w.Header().Get(exposedHeaders) != "" {
		w.Header().Add(exposedHeaders, sessionHeader)
	}
	ctx, cancel := context.WithCancel(context.WithValue(r.Context(), useKey{}, use{caller, server}))
	defer cancel()
	defer context.AfterFunc(h.closed, cancel)()
	if slots == h.streams && caller.Valid != nil {
		go h.recheck(ctx, cancel, caller.Valid)
	}
	r = r.Clone(ctx)
	if r.Header.Get(versionHeader) >= modernVersion {
		if name, ok := decodedName(r.Header.Get(nameHeader)); ok {
			r.Header.Set(nameHeader, name)
		}
		h.modern.ServeHTTP(w, r)
		return
	}
	if r.Method == http.MethodPost && r.Header.Get(sessionHeader) == "" && sessionsOf(server) >= maxSessions {
		w.Header().Set("Retry-After", "60")
		http.Error(w, "you have too many sessions; end some with DELETE", http.StatusTooManyRequests)
		return
	}
	// Streams cannot be resumed: what a client has missed, it lists and reads again.
	r.Header.Del(lastEventID)
	r.Header.Set("Authorization", "Bearer caller") // for RequireBearerToken; the caller is authenticated already
	h.older.ServeHTTP(w, r)
}

// recheck ends a stream when its caller is no longer valid.
func (h *Handler) recheck(ctx context.Context, end func(), valid func(context.Context) bool) {
	every := time.NewTicker(h.opts.Recheck)
	defer every.Stop()
	for {
		select {
		case <-every.C:
			if !valid(ctx) {
				end()
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// readBody reads the body, which has a bounded size and time. It reports whether the request
// goes on.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request) bool {
	if r.Body == nil || r.Body == http.NoBody || r.Method == http.MethodGet {
		return true
	}
	if r.ContentLength > MaxMessageBytes {
		http.Error(w, "the message is too large", http.StatusRequestEntityTooLarge)
		return false
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(h.opts.Timeout)) // a server without deadlines has other bounds
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxMessageBytes))
	_ = control.SetReadDeadline(time.Time{})
	if err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			http.Error(w, "the message is too large", http.StatusRequestEntityTooLarge)
		} else {
			http.Error(w, "the body did not arrive", http.StatusRequestTimeout)
		}
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return true
}

// acquire returns the caller's server.
func (h *Handler) acquire(caller Caller) (*callerServer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.servers.Get(caller.ID)
	if !ok {
		o := h.opts.Server
		o.Open, o.ReadOnly = caller.Open, caller.ReadOnly
		made, err := New(o)
		if err != nil {
			return nil, err
		}
		s = &callerServer{Server: made}
		h.evict()
		h.servers.Put(caller.ID, s)
	}
	s.uses++
	return s, nil
}

func (h *Handler) release(s *callerServer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.uses--
}

// evict makes room for a server. One in use is kept.
func (h *Handler) evict() {
	if h.servers.Len() < maxServers {
		return
	}
	for id, s := range h.servers.Oldest() {
		if s.uses == 0 && sessionsOf(s) == 0 {
			h.servers.Remove(id)
			s.Close()
			return
		}
	}
}

func sessionsOf(s *callerServer) (n int) {
	for range s.mcp.Sessions() {
		n++
	}
	return n
}

// decodedName decodes a name that a client has encoded because it has characters beyond
// those of headers. ok is false if it is not encoded.
func decodedName(value string) (name string, ok bool) {
	text, starts := strings.CutPrefix(value, "=?base64?")
	text, ends := strings.CutSuffix(text, "?=")
	if !starts || !ends {
		return "", false
	}
	decoded, err := base64.StdEncoding.DecodeString(text)
	return string(decoded), err == nil
}
