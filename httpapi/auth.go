package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"memento"
	"memento/backend/apikey"
	"memento/internal/httpmessage"
	"memento/internal/wire"
)

const workspaceHeader = "anthropic-workspace-id"

// A Principal identifies the caller of a request.
type Principal struct {
	ID        string            // of the key, or of the caller if there is no key: for rate limits and logs
	Workspace memento.Workspace // whose stores the caller can use
	Role      apikey.Role
	Actor     memento.Actor // recorded on the caller's changes
}

// key returns a text that is unique to the principal. The ID alone is not: that of a
// principal other than a key comes from outside, and may equal that of a key, or of a
// principal in another workspace.
func (p *Principal) key() string {
	return string(p.Workspace) + "/" + string(p.Actor.Kind) + "/" + p.ID
}

// An Authenticator returns the principal that a credential belongs to. It rejects an
// invalid credential without a delay of its own, and without a reason.
//
// Errors: [ErrUnauthenticated]; memento.ErrUnavailable if the credential cannot be
// checked at present; any other error is the server's fault.
type Authenticator interface {
	Authenticate(ctx context.Context, credential string) (Principal, error)
}

// ErrUnauthenticated means that a credential is not valid.
var ErrUnauthenticated = errors.New("invalid credential")

// FirstOf returns an authenticator that asks each of auths in order until one does not
// return [ErrUnauthenticated].
func FirstOf(auths ...Authenticator) Authenticator { return firstOf(auths) }

type firstOf []Authenticator

func (auths firstOf) Authenticate(ctx context.Context, credential string) (Principal, error) {
	for _, a := range auths {
		who, err := a.Authenticate(ctx, credential)
		if !errors.Is(err, ErrUnauthenticated) {
			return who, err
		}
	}
	return Principal{}, ErrUnauthenticated
}

// authenticate returns the principal of the request.
func (c *call) authenticate() (Principal, error) {
	credential, err := c.credential()
	if err != nil {
		return Principal{}, err
	}
	return c.authenticateWith(credential)
}

func (c *call) authenticateWith(credential string) (Principal, error) {
	who, err := c.api.opts.Auth.Authenticate(c.context(), credential)
	switch {
	case errors.Is(err, ErrUnauthenticated):
		if !c.api.failures.record(c.context(), c.remote, time.Now()) {
			return Principal{}, errTooManyFailures
		}
		return Principal{}, unauthenticated("invalid key")
	case errors.Is(err, memento.ErrUnavailable):
		c.logError(err)
		return Principal{}, errAuthUnavailable
	}
	return who, err
}

// credential returns the credential of a request: x-api-key, or else the bearer token.
// Two values of one header are refused: a proxy in front of the server may have checked
// the other one.
func (c *call) credential() (string, error) {
	keys, tokens := c.r.Header.Values("x-api-key"), c.r.Header.Values("Authorization")
	if len(keys) > 1 || len(tokens) > 1 {
		return "", unauthenticated("several keys were sent; send one")
	}
	if key := c.r.Header.Get("x-api-key"); key != "" {
		return key, nil
	}
	token := httpmessage.BearerToken(c.r)
	if token == "" {
		return "", unauthenticated("a key is required: send it as x-api-key, or as Authorization: Bearer")
	}
	return token, nil
}

// stillAuthorized reports whether the caller would still be authorized. It is for
// streams, which may last longer than a key is valid.
func (c *call) stillAuthorized() bool {
	who, err := c.authenticate()
	return err == nil && who.Workspace == c.who.Workspace && who.Role.Allows(c.route.role)
}

// errAuthUnavailable answers a request whose credential cannot be looked up at present.
var errAuthUnavailable = &apiError{
	status: http.StatusServiceUnavailable, kind: overloaded, message: "the key cannot be checked at present",
	extra: wire.Error{Code: wire.Code(memento.ErrUnavailable)}, shouldRetry: "true", retryAfter: unavailableRetry,
}

func unauthenticated(message string) *apiError {
	return &apiError{status: http.StatusUnauthorized, kind: authenticationFail, message: message}
}

// actorHeader names another actor than the caller as the author of a change, as KIND/ID.
// Both parts are escaped as in a URL path.
const actorHeader = "Memento-Actor"

// actorKeyHeader names the key that an actor made a change with, for changes copied from
// another store. By default, it is the key of the request.
const actorKeyHeader = "Memento-Actor-Key"

// actor returns the author of the request's changes, and the key that they are made
// with. A caller with a write key can name a session; only an admin can name any actor.
func (c *call) actor() (memento.Actor, error) {
	by, err := c.namedActor()
	if err != nil {
		return memento.Actor{}, err
	}
	keys := c.r.Header.Values(actorKeyHeader)
	if len(keys) == 0 {
		return c.withRequestKey(by), nil
	}
	key, err := url.PathUnescape(keys[0])
	switch {
	case !c.who.Role.Allows(apikey.RoleAdmin):
		return memento.Actor{}, needsRole(apikey.RoleAdmin)
	case err != nil || len(keys) > 1 || key == "" || len(key) > maxActorBytes || !utf8.ValidString(key):
		return memento.Actor{}, invalid("%s: must be the ID of one key", actorKeyHeader)
	}
	by.Key = memento.KeyID(key)
	return by, nil
}

// withRequestKey returns the actor with the key of the request noted on it.
func (c *call) withRequestKey(by memento.Actor) memento.Actor {
	if key := c.who.Actor; key.Kind == memento.ActorAPIKey && !by.Used(memento.KeyID(key.ID)) {
		by.Key = memento.KeyID(key.ID)
	}
	return by
}

// namedActor returns the actor that the request names, or else the caller.
func (c *call) namedActor() (memento.Actor, error) {
	values := c.r.Header.Values(actorHeader)
	if len(values) == 0 {
		return c.who.Actor, nil
	}
	escaped, id, ok := strings.Cut(values[0], "/")
	kind, badKind := url.PathUnescape(escaped)
	id, badID := url.PathUnescape(id)
	if !ok || badKind != nil || badID != nil || len(values) > 1 || url.PathEscape(kind) != escaped {
		return memento.Actor{}, invalid("%s: must have the form KIND/ID, as in session/sesn_1", actorHeader)
	}
	by := memento.Actor{Kind: memento.ActorKind(kind), ID: id}
	switch {
	case c.who.Role.Allows(apikey.RoleAdmin):
		if !by.Kind.Known() && by != (memento.Actor{}) {
			return memento.Actor{}, invalid("%s: unknown kind of actor %q; the kinds are session, api_key, user, service_account and system", actorHeader, printable(kind))
		}
		if len(id) > maxActorBytes || !utf8.ValidString(id) || by.Kind == memento.ActorSession && id != "" && checkActorID(id) != nil {
			return memento.Actor{}, errActorID
		}
	case by.Kind != memento.ActorSession:
		return memento.Actor{}, needsRole(apikey.RoleAdmin)
	default:
		if err := checkActorID(id); err != nil {
			return memento.Actor{}, err
		}
	}
	return by, nil
}

const maxActorBytes = memento.MaxSessionIDBytes

var errActorID = invalid("the ID of an actor must have 1 to %d bytes of UTF-8, and no characters that control lines or directions", maxActorBytes)

// checkActorID returns an error if id is not a valid ID of a session.
func checkActorID(id string) error {
	if memento.CheckSessionID(id) != nil {
		return errActorID
	}
	return nil
}

// KeyAuth authenticates the API keys that a backend keeps.
type KeyAuth struct {
	keys    apikey.Keeper
	now     func() time.Time
	lookups chan struct{} // one element for each lookup under way

	mu            sync.Mutex
	cache         map[apikey.Hash]cachedKey
	invalidations int // number of calls of Invalidate
}

type cachedKey struct {
	key   apikey.Key
	until time.Time // when the backend is asked again
}

// NewKeyAuth returns an [Authenticator] for the keys of k. If another process revokes a
// key, it stays valid here for up to 5 seconds. A nil now means time.Now.
func NewKeyAuth(k apikey.Keeper, now func() time.Time) *KeyAuth {
	if now == nil {
		now = time.Now
	}
	return &KeyAuth{keys: k, now: now, lookups: make(chan struct{}, maxLookups), cache: map[apikey.Hash]cachedKey{}}
}

const (
	keyTTL        = 5 * time.Second // how long a cached key is used
	maxCachedKeys = 10_000
	maxLookups    = 4               // at once, so that many wrong keys do not overload the backend
	usedEvery     = 5 * time.Minute // resolution of the time of a key's last use
)

// Authenticate implements [Authenticator]. A secret is looked up by its hash, so that
// the time of the lookup does not reveal how much of a guess is right.
func (a *KeyAuth) Authenticate(ctx context.Context, credential string) (Principal, error) {
	if !strings.HasPrefix(credential, apikey.SecretPrefix) {
		return Principal{}, ErrUnauthenticated
	}
	k, err := a.key(ctx, apikey.HashSecret(credential))
	switch {
	case errors.Is(err, memento.ErrNotExist):
		return Principal{}, ErrUnauthenticated
	case err != nil:
		return Principal{}, err
	case !k.Active(a.now()):
		return Principal{}, ErrUnauthenticated
	}
	return Principal{
		ID: string(k.ID), Workspace: k.Workspace, Role: k.Role,
		Actor: memento.Actor{Kind: memento.ActorAPIKey, ID: string(k.ID)},
	}, nil
}

// key returns the key whose secret has the given hash, active or not, from the cache or
// the backend.
func (a *KeyAuth) key(ctx context.Context, hash apikey.Hash) (apikey.Key, error) {
	k, forgotten, ok := a.cached(hash)
	if ok {
		return k, nil
	}
	select {
	case a.lookups <- struct{}{}:
		defer func() { <-a.lookups }()
	case <-ctx.Done():
		return apikey.Key{}, ctx.Err()
	}
	k, err := a.keys.KeyByHash(ctx, hash)
	if err != nil {
		return apikey.Key{}, err
	}
	if now := a.now(); k.Active(now) && now.Sub(k.UsedAt) >= usedEvery {
		// A failure to note the time of use must not lock the caller out.
		if updated, err := a.keys.UpdateKey(ctx, k.Workspace, k.ID, apikey.Update{UsedAt: now}); err == nil {
			k = updated
		}
	}
	a.store(k, forgotten)
	return k, nil
}

// cached returns the cached key of a hash, and the number of invalidations so far, for
// store.
func (a *KeyAuth) cached(hash apikey.Hash) (apikey.Key, int, bool) {
	now := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	k, ok := a.cache[hash]
	return k.key, a.invalidations, ok && now.Before(k.until)
}

// store caches a key that the backend returned, unless a key was invalidated since the
// backend was asked: k may be that key, in its state before the revocation.
func (a *KeyAuth) store(k apikey.Key, forgotten int) {
	now := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.invalidations != forgotten {
		return
	}
	if len(a.cache) >= maxCachedKeys {
		clear(a.cache)
	}
	a.cache[k.Hash] = cachedKey{k, now.Add(keyTTL)}
}

// Invalidate removes a key from the cache, so that its revocation takes effect at once.
func (a *KeyAuth) Invalidate(id memento.KeyID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.invalidations++
	for hash, k := range a.cache {
		if k.key.ID == id {
			delete(a.cache, hash)
		}
	}
}

// invalidateKey removes a changed key from the caches of all authenticators in auth.
func invalidateKey(auth Authenticator, id memento.KeyID) {
	switch a := auth.(type) {
	case interface{ Invalidate(memento.KeyID) }:
		a.Invalidate(id)
	case firstOf:
		for _, each := range a {
			invalidateKey(each, id)
		}
	}
}
