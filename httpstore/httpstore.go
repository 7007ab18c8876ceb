// Package httpstore is a [memento.Backend] that another memento serves over HTTP:
// what works on a file works on a server, through the same methods and with the same
// errors.
//
// [Open] asks the server who the key belongs to. The key decides the workspace; what
// methods are given as one is only repeated in what they return. What changes of a
// store are signed with depends on the role of the key: an admin's are by whoever
// Apply names, others' by the session that it names, or else by the key.
//
// The server screens what is written by the settings of the store and with its own
// detector, and keeps the promises of its own backend. A listing is as of one
// instant, and arrives as it is read: who stops reading for half a minute may find
// it cut off, with an error.
//
// # Retries
//
// Reads are repeated if the connection fails, and everything is if the server says
// that it has not begun with it. A write whose answer is lost is not: it returns
// memento.ErrUncertain. When the context of a write ends, the answer is waited for a moment
// longer, so that it is rarely unknown what has become of it.
//
// # Keys
//
// A server's keys are managed with [Backend.Keys], [Backend.CreateKey],
// [Backend.RevokeKey] and [Backend.RotateKey]. A Backend is no [memento.KeyKeeper]:
// servers do not tell whom a secret belongs to.
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
	"memento/internal/readnotes"
	"memento/internal/wire"
)

var (
	_ memento.Backend    = (*Backend)(nil)
	_ memento.Searcher   = (*Backend)(nil)
	_ memento.ReadMarker = (*Backend)(nil)
	_ memento.Clock      = (*Backend)(nil)
)

// A Backend is a server's. See [Open].
type Backend struct {
	base     string // without a slash at the end
	opts     Options
	client   *http.Client
	own      *http.Transport // nil if the client is the caller's
	identity Identity
	reads    *readnotes.Notes
	streams  context.Context // ends with Close
	cut      context.CancelFunc

	mu     sync.Mutex
	closed bool
	active sync.WaitGroup // calls under way, but for streams
}

// Options are the options of [Open]; nil means all defaults.
type Options struct {
	// Key is the secret of an API key, or another credential that the server
	// accepts. Servers of memento let nobody in without one.
	Key string

	// AllowPlaintext lets the key travel over a network in clear text: http:// to
	// another machine. It is for networks that nobody else reads.
	AllowPlaintext bool

	// HTTPClient sends the requests, but follows no redirects and sends no cookies.
	// Nil means one that uses the proxy that the environment names, and the
	// authorities that the system knows.
	HTTPClient *http.Client

	// UserAgent names the program to the server; "" means "memento".
	UserAgent string

	// Retries is how often a request is repeated that can be; 0 means 4, and a
	// negative number never.
	Retries int

	// Timeout is how long an answer may take to begin once the request is sent, if
	// HTTPClient is nil; 0 means 5 minutes.
	Timeout time.Duration

	// MaxAnswer is the most of an answer, or of one entry of a listing, in bytes; 0
	// means 256 MiB. More is an error.
	MaxAnswer int64
}

// An Identity is who the key stands for.
type Identity struct {
	ID        string // of the key, "apikey_…", or what else the server knows it by
	Workspace memento.Workspace
	Role      memento.Role
	Actor     memento.Actor // who makes the changes that name nobody else
}

// Open connects to the server at a URL such as "https://memory.example.com", with a
// path if it is served below one. The caller closes the Backend.
//
// Errors: memento.ErrInvalid (the URL, or a key that would travel in clear text),
// memento.ErrDenied (no key, or not a valid one), memento.ErrFormat (it is not a
// server of memento). Others say why the server cannot be reached. None repeats the
// URL or the key.
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

// newClient returns the client that requests go out with, and its transport if it
// is not the caller's.
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
			MaxIdleConnsPerHost:   64, // as many as callers that are at it at once
			IdleConnTimeout:       45 * time.Second,
			ResponseHeaderTimeout: o.Timeout,
			DisableCompression:    true,
		}
		c.Transport = own
	}
	// A key must go nowhere but where it was meant to.
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.Jar = nil
	return c, own
}

// introduce asks the server who the key belongs to.
func (b *Backend) introduce(ctx context.Context) error {
	var who wire.Identity
	err := b.call(ctx, request{op: opOpen, method: http.MethodGet, path: "/v1/whoami", safe: true, first: true}, &who)
	if b.opts.Key == "" && errors.Is(err, memento.ErrDenied) {
		err = &memento.Error{Op: opOpen, Err: fmt.Errorf("%w: the server asks for a key, and there is none", memento.ErrDenied)}
	}
	if status, ok := errors.AsType[*StatusError](err); ok && status.Status == http.StatusNotFound {
		err = &memento.Error{Op: opOpen, Err: errOtherService}
	}
	if err != nil {
		return err
	}
	if who.Type != "identity" || who.Workspace == "" || !who.Role.Allows(memento.RoleRead) {
		return &memento.Error{Op: opOpen, Err: errNoServer}
	}
	b.identity = Identity{ID: who.ID, Workspace: who.Workspace, Role: who.Role, Actor: who.Actor.Actor()}
	return nil
}

var errNoServer = fmt.Errorf(`%w: what answers there is no "memento serve"; check the URL, and the path that it is served below`, memento.ErrFormat)

// errOtherService is of a server that has the shape of the Memory Stores API, and not
// the endpoints that a backend needs besides.
var errOtherService = fmt.Errorf(`%w; Anthropic's hosted service keeps no history under its IDs, and can be no backend nor the target of a copy (through its API, paths there have at most 20 segments)`, errNoServer)

// Identity returns who the key stands for, as the server said when it was asked.
func (b *Backend) Identity() Identity { return b.identity }

// Workspace returns the workspace that the key belongs to.
func (b *Backend) Workspace() memento.Workspace { return b.identity.Workspace }

// Close sends what MarkRead has noted, waits for the calls under way, and ends
// listings. Methods called afterwards return memento.ErrClosed.
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

// enter begins a call, which is over when leave is called.
func (b *Backend) enter(op string) (leave func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, &memento.Error{Op: op, Err: memento.ErrClosed}
	}
	b.active.Add(1)
	return b.active.Done, nil
}
