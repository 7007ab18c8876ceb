package mcpserver

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
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
	ID string

	// Key names who is bounded: one key may have several Callers, such as one for each store
	// that it names. "" means the ID.
	Key string

	ReadOnly bool
	Open     func(context.Context, Client) (Memory, error) // as in Options

	// Valid reports whether the caller may still do what it could when the request came.
	// It is asked from time to time while the answer goes on; nil means always.
	Valid func(context.Context) bool
}

// HandlerOptions are the options of [NewHandler].
type HandlerOptions struct {
	// Caller returns the sender of a request. It is required. If it has answered the
	// request with a refusal, it returns false.
	Caller func(http.ResponseWriter, *http.Request) (Caller, bool)

	// Server has the options for all callers. Its Open and ReadOnly are the caller's.
	Server Options

	MaxSessions int           // of one key; 0 means 250
	MaxCallers  int           // whose servers are kept, a quarter of them for one key; 0 means 1,000
	Idle        time.Duration // after which a session without requests ends; 0 means 30 min
	Recheck     time.Duration // how often Valid is asked during requests; 0 means 10 s
	Heartbeat   time.Duration // how often something is sent in an idle stream; 0 means 15 s
}

const (
	// modernVersion is the first version of the protocol without sessions.
	modernVersion = "2026-07-28"

	versionHeader  = "Mcp-Protocol-Version"
	methodHeader   = "Mcp-Method"
	nameHeader     = "Mcp-Name"
	sessionHeader  = "Mcp-Session-Id"
	lastEventID    = "Last-Event-Id"
	exposedHeaders = "Access-Control-Expose-Headers"
)

// A Handler is the HTTP endpoint: streamable HTTP of all versions of the protocol.
//
// It bounds the sessions of each key. It does not authenticate, it does not check where
// requests come from, and it bounds neither how many of a key are under way, nor the time
// and memory that their bodies take: its caller does, before. [IsStream] says which
// requests are answered by a stream.
type Handler struct {
	opts   HandlerOptions
	modern *mcp.StreamableHTTPHandler // for the version without sessions
	older  http.Handler               // for those with sessions; they belong to the caller
	closed context.Context            // ends with Close
	close  context.CancelFunc

	mu       sync.Mutex
	servers  lru.Map[string, *callerServer] // by the ID of the caller
	starting map[string]int                 // by key: requests under way that may begin a session
}

// NewHandler returns a handler. The caller calls Close at the end.
func NewHandler(opts HandlerOptions) (*Handler, error) {
	if opts.Caller == nil {
		return nil, errors.New("mcpserver: HandlerOptions.Caller is required")
	}
	opts.MaxSessions = cmp.Or(opts.MaxSessions, 250)
	opts.MaxCallers = cmp.Or(opts.MaxCallers, 1000)
	opts.Recheck = cmp.Or(opts.Recheck, 10*time.Second)
	opts.Heartbeat = cmp.Or(opts.Heartbeat, 15*time.Second)
	h := &Handler{opts: opts, starting: map[string]int{}}
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
		s.end()
	}
}

// IsStream reports whether a request is answered by a stream of notifications.
func IsStream(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Header.Get(methodHeader) == methodListen
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
	caller.Key = cmp.Or(caller.Key, caller.ID)
	server, err := h.acquire(caller)
	switch {
	case err != nil:
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	case server == nil:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "you use too many stores at once", http.StatusTooManyRequests)
		return
	}
	defer h.release(server)
	if w.Header().Get(exposedHeaders) != "" {
		w.Header().Add(exposedHeaders, sessionHeader)
	}
	ctx, cancel := context.WithCancel(context.WithValue(r.Context(), useKey{}, use{caller, server}))
	defer cancel()
	defer context.AfterFunc(h.closed, cancel)()
	if caller.Valid != nil {
		go h.recheck(ctx, cancel, caller.Valid)
	}
	r = r.Clone(ctx)
	if IsStream(r) {
		stream := newBeating(w, h.opts.Heartbeat)
		defer stream.end()
		w = stream
	}
	if r.Header.Get(versionHeader) >= modernVersion {
		if name, ok := decodedName(r.Header.Get(nameHeader)); ok {
			r.Header.Set(nameHeader, name)
		}
		h.modern.ServeHTTP(w, r)
		return
	}
	if r.Method == http.MethodPost && r.Header.Get(sessionHeader) == "" {
		if !h.beginSession(caller.Key) {
			w.Header().Set("Retry-After", "60")
			http.Error(w, "you have too many sessions; end some with DELETE", http.StatusTooManyRequests)
			return
		}
		defer h.sessionBegun(caller.Key)
	}
	// Streams cannot be resumed: what a client has missed, it lists and reads again.
	r.Header.Del(lastEventID)
	r.Header.Set("Authorization", "Bearer caller") // for RequireBearerToken; the caller is authenticated already
	h.older.ServeHTTP(w, r)
}

// recheck ends a request when its caller is no longer valid.
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
