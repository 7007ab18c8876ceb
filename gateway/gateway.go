package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"memento"
)

// Config is the configuration of [New]. Upstream, Backend and Identify are required.
type Config struct {
	// Upstream is the base URL of the Messages API, such as https://api.anthropic.com.
	// No request can choose another one.
	Upstream *url.URL
	// Backend has the stores.
	Backend memento.Backend
	// Identify returns the caller of a request. It must not read the body. An error
	// that is an [*Error] is sent to the caller as it is; of any other the caller only
	// sees that the request failed.
	Identify func(*http.Request) (Caller, error)

	// Stores are the options of the stores that are opened.
	Stores memento.StoreOptions
	// Tool are the options of the memory tool. Actor and ReadOnly come from the caller.
	Tool memento.ToolOptions
	// UserStores gives each metadata.user_id a store of its own: see [UserStore].
	UserStores bool
	// Mounts are the directories of /memories; empty means that the selected store is
	// /memories itself.
	Mounts []Mount

	// Emulate is what the upstream lacks.
	Emulate Emulation

	// State keeps the rounds that the application does not see, so that the model sees
	// them again in later requests of the conversation. Nil keeps nothing: then a turn
	// has one call at a time, and later requests have the visible messages only.
	State *State

	// Transport sends the requests to the upstream; nil means a transport with the
	// proxy settings of the environment.
	Transport http.RoundTripper
	// MaxBody is the most bytes of a request; 0 means 32 MiB, as the API has it.
	MaxBody int64
	// MaxBodies is the most bytes of all requests that are being answered, with the answers
	// that the gateway reads for them; 0 means 1 GiB. One caller may have half of it.
	MaxBodies int64
	// MaxRounds is the most requests to the upstream for one request of the
	// application, at least 2; 0 means 20. In the last one the model may not call tools.
	MaxRounds int
	// Timeout is the most time until the upstream begins to answer; 0 means 10 minutes.
	Timeout time.Duration
	// Ping is the silence in a stream after which a ping is sent; 0 means 10 s.
	Ping time.Duration
	// Logger gets failures; nil means no log.
	Logger *slog.Logger
	// Observe, if it is set, is called after each request that had the memory tool or
	// emulated context management.
	Observe func(context.Context, Turn)
	// CountAll lets Observe be called for all other messages as well, to count their
	// tokens. A message in which they could not be counted is refused.
	CountAll bool
}

// A Caller is who sent a request, and what the request may use.
type Caller struct {
	Workspace memento.Workspace
	Actor     memento.Actor // recorded on the versions that the model makes
	ReadOnly  bool          // the model can view, but change nothing
	// Store is the name of the store for requests that name none; "" means that they
	// have no memory.
	Store string
	// UpstreamKey is the key that the upstream gets; "" passes on the credentials of
	// the request.
	UpstreamKey string
}

// A Mount is a store as a directory of /memories.
type Mount struct {
	Name string // of the directory
	// Store is the name of the store; {store} in it stands for the selected one.
	Store    string
	ReadOnly bool
}

// A Turn is a request for a message, as it ended.
type Turn struct {
	// Passed is whether the message was passed on as it was: it had neither the memory
	// tool nor emulated context management.
	Passed       bool
	Model        string // as the request names it, which can be any text
	Stream       bool
	Outcome      string // "ok", "mixed", "refused" (at a limit of the gateway), "upstream_error" or "canceled"
	Rounds       int    // requests to the upstream, without those for summaries
	MemoryCalls  int
	RefusedCalls int // memory calls that the model has to make differently
	FailedCalls  int // memory calls that the storage made fail
	Compactions  int // summaries that the gateway has made

	// Tokens of all rounds, as the upstream counts them. InputTokens has neither those
	// that were written to the prompt cache nor those that were read from it.
	InputTokens, CacheCreationTokens, CacheReadTokens, OutputTokens int64
	// ClearedTokens is by how much context edits have made the prompts of the rounds
	// smaller, by the upstream's count or the gateway's.
	ClearedTokens int64

	Duration time.Duration // of the whole request
	Own      time.Duration // of it, without waiting for the upstream and the caller
}

// A Gateway is an [http.Handler]. See [New].
type Gateway struct {
	c            Config
	proxy        *httputil.ReverseProxy
	stores       stores
	results      results
	budget       budget
	callTimeout  time.Duration
	writeTimeout time.Duration
}

// New returns a gateway. Errors: memento.ErrInvalid.
func New(c Config) (*Gateway, error) {
	switch {
	case c.Upstream == nil || c.Upstream.Host == "" || c.Upstream.Scheme != "https" && c.Upstream.Scheme != "http":
		return nil, fmt.Errorf("%w: the upstream of a gateway must be an http or https URL", memento.ErrInvalid)
	case c.Upstream.User != nil || c.Upstream.RawQuery != "":
		return nil, fmt.Errorf("%w: the URL of the upstream can have neither credentials nor a query", memento.ErrInvalid)
	case c.Backend == nil || c.Identify == nil:
		return nil, fmt.Errorf("%w: a gateway needs a backend and a function that identifies callers", memento.ErrInvalid)
	case c.MaxRounds == 1:
		return nil, fmt.Errorf("%w: a gateway needs at least two rounds: one for a call, and one for the answer", memento.ErrInvalid)
	}
	if len(c.Mounts) > 0 {
		var names []string
		for _, m := range c.Mounts {
			names = append(names, m.Name)
			if m.Store == "" {
				return nil, fmt.Errorf("%w: the mount %q has no store", memento.ErrInvalid, m.Name)
			}
		}
		if err := memento.CheckMountNames(names...); err != nil {
			return nil, err
		}
	}
	setDefault(&c.MaxBody, 32<<20)
	setDefault(&c.MaxBodies, 1<<30)
	setDefault(&c.MaxRounds, 20)
	setDefault(&c.Timeout, 10*time.Minute)
	setDefault(&c.Ping, 10*time.Second)
	if c.Transport == nil {
		c.Transport = newTransport()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	g := &Gateway{c: c, budget: budget{most: c.MaxBodies}, callTimeout: callTimeout, writeTimeout: writeTimeout}
	g.proxy = g.newProxy()
	return g, nil
}

func setDefault[T int | int64 | time.Duration](value *T, otherwise T) {
	if *value <= 0 {
		*value = otherwise
	}
}

// The paths that the gateway looks into.
const (
	messagesPath = "/v1/messages"
	countPath    = "/v1/messages/count_tokens"
)

// ServeHTTP implements [http.Handler].
func (g *Gateway) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	start := time.Now()
	w := newBoundedWriter(to, g.writeTimeout)
	caller, err := g.c.Identify(r)
	if err != nil {
		g.refuse(w, r, err)
		return
	}
	if hasDotSegment(r.URL.Path) {
		// An upstream that resolves it would answer for another path than the one that
		// was looked at, perhaps outside of the base URL.
		g.refuse(w, r, &Error{Status: http.StatusNotFound, Type: "not_found_error", Message: "the path of a request cannot have the segments . and .."})
		return
	}
	if r.Method != http.MethodPost || r.URL.Path != messagesPath && r.URL.Path != countPath {
		g.pass(w, r, caller, nil, start)
		return
	}
	held := g.budget.begin(caller)
	defer held.release()
	body, err := g.read(w, r, held)
	if err != nil {
		g.refuse(w, r, err)
		return
	}
	c, err := g.begin(r, caller, body, held, start)
	switch {
	case err != nil:
		g.refuse(w, r, err)
	case c == nil:
		g.pass(w, r, caller, body, start)
	case r.URL.Path == countPath:
		c.count(w)
	default:
		paused, err := c.compact()
		switch {
		case err != nil:
			g.refuse(w, r, err)
		case paused != nil:
			c.sendPaused(w, paused)
		case c.request.stream:
			c.stream(w)
		default:
			c.whole(w)
		}
	}
}

// hasDotSegment reports whether a path, decoded, has the segment "." or "..".
func hasDotSegment(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// refuse answers with an error of the gateway.
func (g *Gateway) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var e *Error
	switch {
	case errors.As(err, &e):
	case r.Context().Err() != nil:
		e = errGone
	default:
		g.c.Logger.ErrorContext(r.Context(), "gateway: the request failed", "error", err)
		e = errInternal
	}
	e.Write(w)
}
