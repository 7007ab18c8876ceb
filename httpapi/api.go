// Package httpapi serves the Memory Stores API over HTTP: stores, memories and
// their versions, as Anthropic's SDKs ask for them, and beside these the memory
// tool, search, a stream of changes, export and keys. The document openapi.yaml,
// which it serves at /openapi.json, describes every endpoint.
//
// [New] makes a handler on a backend. Every request is authenticated by the
// [Authenticator] of its options, and sees the workspace of its key and no other.
// What is asked for is decoded, done by a memento.Store, and encoded: no rule about
// memories lives here.
//
// Bodies, pages, times and the number of requests under way are bounded. The caller
// owns listeners, TLS and shutdown; package server has them.
package httpapi

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime"
	"time"

	"memento"
	"memento/backend/apikey"
)

// An API is an http.Handler. See [New].
type API struct {
	backend     memento.Backend
	keys        apikey.Keeper // nil if the backend keeps no keys
	opts        Options
	mux         *http.ServeMux
	stores      storeCache
	rates       rateLimiter
	slots       *limiter // for requests under way, whose bodies have arrived
	streams     *limiter // for streams
	bodies      *limiter // for requests whose bodies are arriving
	scans       *limiter // for requests that read a large part of a store
	memory      *limiter // in bytes
	changes     hub
	positions   positions
	idempotency idempotencyCache
	failures    authFailures
	closed      context.Context // ends with Close
	close       context.CancelFunc
}

// Options are the options of [New].
type Options struct {
	// Auth authenticates the callers. It is required.
	Auth Authenticator

	// Detector finds what the settings of stores keep out. Without one, contents
	// can only be written to stores that have this set to off.
	Detector memento.Detector

	// Searcher, if not nil, searches instead of the backend; see memento.StoreOptions.
	Searcher memento.Searcher

	// Observe is called after each store operation, ToolCalled after each call of the memory
	// tool, Requested after each request, and StoreEvent when a store was created, archived
	// or deleted here. The context is the request's. They must return quickly. Nil functions
	// are not called.
	Observe    func(context.Context, memento.Observation)
	ToolCalled func(context.Context, ToolCall)
	Requested  func(context.Context, Request)
	StoreEvent func(context.Context, StoreEvent)

	// Logger receives internal errors, which clients only see as "internal error"; nil
	// means no log. Contents of memories and credentials are never logged.
	Logger *slog.Logger

	Now func() time.Time // nil means time.Now

	// StrictBetas refuses requests that do not name one of the API's betas.
	StrictBetas bool

	// FailureDelay is the delay of answers to wrong keys once an address has sent many
	// of them in a minute; 0 means 1 s, a negative value no delay.
	FailureDelay time.Duration

	// RedactRole is the role that erasing the contents of versions needs: RoleAdmin,
	// which "" means too, or RoleWrite, as in the hosted service.
	RedactRole apikey.Role

	// Hosts are the names, without port, that requests may be addressed to; nil
	// means any. It keeps web pages from reaching a server on this machine by a
	// name of their own. Origins are those of web pages that may send requests,
	// such as "https://console.example.com", besides pages of this server.
	Hosts   []string
	Origins []string

	// Proxy says whose word is taken for the addresses of clients. They are reported with
	// requests, and wrong keys are counted by them.
	Proxy Proxy

	MaxBody       int64         // maximum size of a JSON body in bytes; 32 times as much for changes; 0 means 4 MiB
	MaxImport     int64         // maximum size of an archive or a history in bytes; 0 means 256 MiB
	MaxConcurrent int           // maximum number of requests under way, of streams, and of arriving bodies, each; 0 means 256
	MemoryBudget  int64         // approximate maximum memory of all requests under way in bytes; 0 means 1 GiB
	QueueTime     time.Duration // maximum time that a request waits for a limiter; 0 means 1.5 s
	Timeout       time.Duration // for a body to arrive, and for each part of an answer to leave; 0 means 30 s
	Rate          Rate          // of each key; zero means no limit
	Heartbeat     time.Duration // interval of heartbeats in idle streams; 0 means 15 s
	Poll          time.Duration // how often streams look for changes by other processes; 0 means 500 ms, or 1 s if the backend is no [backend.PositionLister]

	Tool memento.ToolOptions // of the tool endpoint; Actor, ReadOnly and Logger are set here
}

// A Request describes a request that has been answered.
type Request struct {
	ID        string // "req_…", as answered
	AnswerID  string // the request-id of the answer, if it is another, as that of an upstream
	Method    string
	Route     string // the pattern it matched, "" if none
	Status    int
	Start     time.Time
	Took      time.Duration
	Read      int64 // bytes of its body
	Written   int64 // bytes of the answer's
	Principal Principal
	Remote    netip.Addr // of the client: see Options.Proxy; the zero value if not known
	UserAgent string     // as the client says, in at most 200 printable bytes
	ErrorType string     // as answered; "" if it is none
	Retries   string     // of the client, as it says
}

// A ToolCall describes a call of the memory tool that has been executed. One that was
// answered from the results of an earlier request is not reported again.
type ToolCall struct {
	Command string // as of [memento.Call.Command]; "" if the call was malformed
	Store   memento.StoreID
	Start   time.Time
	Took    time.Duration
	Refused bool  // whether the agent was answered with an error
	Err     error // the storage's fault, if that was the reason
}

// A StoreEvent reports that a store was created, archived or deleted.
type StoreEvent struct {
	Type      string // "memory_store.created", "memory_store.archived" or "memory_store.deleted"
	Store     memento.StoreID
	Workspace memento.Workspace
	At        time.Time
}

// New returns the API on b, which the caller closes after it.
func New(b memento.Backend, opts Options) (*API, error) {
	if opts.Auth == nil {
		return nil, errors.New("httpapi: Options.Auth is required")
	}
	opts.MaxBody = cmp.Or(opts.MaxBody, 4<<20)
	opts.MaxImport = cmp.Or(opts.MaxImport, 256<<20)
	opts.MaxConcurrent = cmp.Or(opts.MaxConcurrent, 256)
	opts.MemoryBudget = cmp.Or(opts.MemoryBudget, 1<<30)
	opts.QueueTime = cmp.Or(opts.QueueTime, 1500*time.Millisecond)
	opts.Timeout = cmp.Or(opts.Timeout, 30*time.Second)
	opts.Heartbeat = cmp.Or(opts.Heartbeat, 15*time.Second)
	lister := listerOf(b)
	if opts.Poll == 0 && lister != nil {
		opts.Poll = 500 * time.Millisecond
	}
	opts.Poll = cmp.Or(opts.Poll, time.Second)
	opts.FailureDelay = cmp.Or(opts.FailureDelay, time.Second)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	a := &API{
		backend: b, opts: opts,
		slots:   newLimiter("requests", int64(opts.MaxConcurrent)),
		streams: newLimiter("streams", int64(opts.MaxConcurrent)),
		bodies:  newLimiter("bodies", int64(opts.MaxConcurrent)),
		scans:   newLimiter("scans", int64(max(3, 2*runtime.GOMAXPROCS(0)-1))),
		memory:  newLimiter("memory", opts.MemoryBudget),
	}
	a.keys, _ = b.(apikey.Keeper)
	a.positions.lister = lister
	a.closed, a.close = context.WithCancel(context.Background())
	a.rates.rate = opts.Rate
	a.idempotency.maxBytes = min(maxCacheBytes, opts.MemoryBudget/8)
	a.stores.now = opts.Now
	a.failures.delay = opts.FailureDelay
	a.mux = a.routes()
	return a, nil
}

// Close ends all streams, which would otherwise delay the shutdown of a server. Other
// requests are answered as before.
func (a *API) Close() { a.close() }

// Loads returns the current use of each limiter.
func (a *API) Loads() (all []Load) {
	for _, s := range []*limiter{a.slots, a.streams, a.bodies, a.scans, a.memory} {
		all = append(all, s.load())
	}
	return all
}

// PeakMemory returns the maximum number of bytes that requests took at one time since
// its last call, and the number that they take now. Both are estimates, as for
// Options.MemoryBudget.
func (a *API) PeakMemory() (peak, now int64) {
	s := a.memory
	s.mu.Lock()
	defer s.mu.Unlock()
	peak, s.peak = s.peak, s.used
	return peak, s.used
}

// observe notifies the streams of changes, and passes the observation to
// Options.Observe.
func (a *API) observe(ctx context.Context, o memento.Observation) {
	if o.Err == nil && (o.Op == "import" || len(o.Receipt.Versions) > 0) {
		a.changes.notify(o.Store)
	}
	if a.opts.Observe != nil {
		a.opts.Observe(ctx, o)
	}
}

func (a *API) sendStoreEvent(ctx context.Context, kind string, ws memento.Workspace, id memento.StoreID) {
	if a.opts.StoreEvent != nil {
		a.opts.StoreEvent(ctx, StoreEvent{Type: "memory_store." + kind, Store: id, Workspace: ws, At: a.opts.Now()})
	}
}
