// Package httpstore is a [memento.Backend] that accesses a memento server over HTTP, with
// the same methods and the same errors as a local backend.
//
// [Open] asks the server whom the key belongs to. The key determines the workspace; the
// workspace that methods are given is only repeated in their results. The recorded actor
// of changes depends on the key's role: admins may name any actor in Apply; others a
// session, or else the key itself is the actor.
//
// The server masks or refuses secrets by the settings of the store and with its own
// detector, and has the guarantees of its own backend. A listing is a consistent
// snapshot, and is streamed: if the caller stops reading for half a minute, it may end
// with an error.
//
// # Retries
//
// Reads are retried if the connection fails. Any request is retried if the server says
// that it has not begun with it. A write whose response is lost is not retried: it
// returns memento.ErrUncertain. When the context of a write ends, the response is awaited
// a moment longer, so that the outcome is rarely unknown.
//
// # Keys
//
// A server's keys are managed with [Backend.Keys], [Backend.CreateKey],
// [Backend.RevokeKey] and [Backend.RotateKey]. A Backend is not a [apikey.Keeper]:
// servers do not say whom a secret belongs to.
package httpstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"memento"
	"memento/backend"
	"memento/backend/apikey"
	"memento/backend/readnotes"
	"memento/internal/wire"
)

var (
	_ memento.Backend    = (*Backend)(nil)
	_ memento.Searcher   = (*Backend)(nil)
	_ memento.ReadMarker = (*Backend)(nil)
	_ backend.Clock      = (*Backend)(nil)
)

// A Backend is that of a server. See [Open].
type Backend struct {
	base     string // without a trailing slash
	opts     Options
	client   *http.Client
	own      *http.Transport // nil if the client is the caller's
	identity Identity
	reads    *readnotes.Notes
	streams  context.Context // canceled by Close
	cut      context.CancelFunc

	mu     sync.Mutex
	closed bool
	active sync.WaitGroup // calls under way, except streams
}

// Options are the options of [Open]; nil means all defaults.
type Options struct {
	// Key is the secret of an API key, or another credential that the server accepts.
	// Memento servers require one.
	Key string

	// AllowPlaintext allows sending the key over a network in clear text: http:// to
	// another machine. Use it only on a trusted network.
	AllowPlaintext bool

	// HTTPClient sends the requests. Redirects and cookies are disabled. Nil means a
	// client that uses the proxy from the environment and the system's certificate
	// authorities.
	HTTPClient *http.Client

	// UserAgent identifies the program to the server; "" means "memento".
	UserAgent string

	// Retries is the maximum number of retries of a request; 0 means 4, and a negative
	// number none.
	Retries int

	// Timeout is the maximum time until a response begins after the request is sent, if
	// HTTPClient is nil; 0 means 5 minutes.
	Timeout time.Duration

	// MaxAnswer is the maximum size of a response, or of one entry of a listing, in
	// bytes; 0 means 256 MiB. A larger one is an error.
	MaxAnswer int64
}

// An Identity says whom the key belongs to.
type Identity struct {
	ID        string // of the key, "apikey_…", or another ID that the server uses
	Workspace memento.Workspace
	Role      apikey.Role
	Actor     memento.Actor // the default actor of changes
}

// Open connects to the server at a URL such as "https://memory.example.com", with a path
// if the server is below one. The caller closes the Backend.
//
// Errors: memento.ErrInvalid (a bad URL, or a key that would be sent in clear text),
// memento.ErrDenied (no key, or an invalid one), memento.ErrFormat (not a memento
// server). Others say why the server cannot be reached. No error contains the URL or the
// key.
func Open(ctx context.Context, baseURL string, opts *Options) (*Backend, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.UserAgent = cmp.Or(o.UserAgent, "memento")
	o.Retries = cmp.Or(o.Retries, 4)
	o.Timeout = cmp.Or(o.Timeout, 5*time.Minute)
	o.MaxAnswer = cmp.Or(o.MaxAnswer, 256<<20)
	base, err := parseBase(baseURL, &o)
	if err != nil {
		return nil, &memento.Error{Op: opOpen, Err: err}
	}
	b := &Backend{base: base, opts: o}
	b.client, b.own = newClient(&o)
	b.streams, b.cut = context.WithCancel(context.Background())
	b.reads = readnotes.New(readTiming, b.sendReads)
	if err := b.introduce(ctx); err != nil {
		_ = b.Close()
		return nil, err
	}
	return b, nil
}

const opOpen = "open backend"

// newClient returns the HTTP client, and its transport if it is not the caller's.
func newClient(o *Options) (*http.Client, *http.Transport) {
	c := &http.Client{}
	var own *http.Transport
	if o.HTTPClient != nil {
		*c = *o.HTTPClient
	} else {
		own = &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
			ForceAttemptHTTP2:     true,
			TLSHandshakeTimeout:   10 * time.Second,
			MaxIdleConnsPerHost:   64, // for this many concurrent callers
			IdleConnTimeout:       45 * time.Second,
			ResponseHeaderTimeout: o.Timeout,
			DisableCompression:    true,
		}
		c.Transport = own
	}
	// The key must not be sent to another host.
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.Jar = nil
	return c, own
}

// introduce asks the server whom the key belongs to.
func (b *Backend) introduce(ctx context.Context) error {
	var who wire.Identity
	err := b.call(ctx, request{op: opOpen, method: http.MethodGet, path: "/v1/whoami", safe: true, first: true}, &who)
	if b.opts.Key == "" && errors.Is(err, memento.ErrDenied) {
		err = &memento.Error{Op: opOpen, Err: fmt.Errorf("%w: the server requires a key, and none was given", memento.ErrDenied)}
	}
	if status, ok := errors.AsType[*StatusError](err); ok && status.Status == http.StatusNotFound {
		err = &memento.Error{Op: opOpen, Err: errOtherService}
	}
	if err != nil {
		return err
	}
	if who.Type != "identity" || who.Workspace == "" || !who.Role.Allows(apikey.RoleRead) {
		return &memento.Error{Op: opOpen, Err: errNoServer}
	}
	b.identity = Identity{ID: who.ID, Workspace: who.Workspace, Role: who.Role, Actor: who.Actor.Actor()}
	return nil
}

var errNoServer = fmt.Errorf(`%w: what answers there is no "memento serve"; check the URL, and the path that it is served below`, memento.ErrFormat)

// errOtherService is for a server that has the Memory Stores API, but not the other
// endpoints that a backend needs.
var errOtherService = fmt.Errorf(`%w; Anthropic's hosted service keeps no history under its IDs, and can be no backend nor the target of a copy (through its API, paths there have at most 20 segments)`, errNoServer)

// Identity returns whom the key belongs to, as of Open.
func (b *Backend) Identity() Identity { return b.identity }

// Workspace returns the workspace that the key belongs to.
func (b *Backend) Workspace() memento.Workspace { return b.identity.Workspace }

// Close sends the pending read marks, waits for the calls under way, and ends listings.
// Methods called afterwards return memento.ErrClosed.
func (b *Backend) Close() error {
	b.mu.Lock()
	first := !b.closed
	b.closed = true
	b.mu.Unlock()
	if !first {
		return nil
	}
	b.reads.Close()
	b.active.Wait()
	b.cut()
	if b.own != nil {
		b.own.CloseIdleConnections()
	}
	return nil
}

// enter begins a call; leave ends it.
func (b *Backend) enter(op string) (leave func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, &memento.Error{Op: op, Err: memento.ErrClosed}
	}
	b.active.Add(1)
	return b.active.Done, nil
}
