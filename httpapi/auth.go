package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"memento"
	"memento/internal/wire"
)

const workspaceHeader = "anthropic-workspace-id"

// A Principal is who is asking.
type Principal struct {
	ID        string            // of the key, or what else stands for them: for rates and logs
	Workspace memento.Workspace // whose stores they see
	Role      memento.Role
	Actor     memento.Actor // recorded on what they change
}

// key tells principals apart. IDs of others than keys are not ours: one may be that
// of a key, or of somebody in another workspace.
func (p *Principal) key() string {
	return string(p.Workspace) + "/" + string(p.Actor.Kind) + "/" + p.ID
}

// An Authenticator knows who a credential belongs to. It takes as long for one that
// is wrong as it takes to see that, and tells nothing else of it.
//
// Errors: [ErrUnauthenticated]; memento.ErrUnavailable if it cannot be found out at
// present; any other is the server's fault.
type Authenticator interface {
	Authenticate(ctx context.Context, credential string) (Principal, error)
}

// ErrUnauthenticated means that a credential is not valid.
var ErrUnauthenticated = errors.New("invalid credential")

// FirstOf asks one authenticator after the other.
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

// authenticate finds out who is asking.
func (c *call) authenticate() (Principal, error) {
	credential, err := c.credential()
	if err != nil {
		return Principal{}, err
	}
	who, err := c.api.opts.Auth.Authenticate(c.context(), credential)
	switch {
	case errors.Is(err, ErrUnauthenticated):
		if !c.api.failures.record(c.context(), c.r.RemoteAddr, time.Now()) {
			return Principal{}, errTooManyFailures
		}
		return Principal{}, unauthenticated("the key is not valid")
	case errors.Is(err, memento.ErrUnavailable):
		c.logError(err)
		return Principal{}, errAuthUnavailable
	}
	return who, err
}

// credential returns what a request says to be let in with: x-api-key, or else the
// bearer token. Of two in one header none counts: what stands between client and
// server may have looked at the other.
func (c *call) credential() (string, error) {
	keys, tokens := c.r.Header.Values("x-api-key"), c.r.Header.Values("Authorization")
	if len(keys) > 1 || len(tokens) > 1 {
		return "", unauthenticated("there are several keys; send one")
	}
	if key := c.r.Header.Get("x-api-key"); key != "" {
		return key, nil
	}
	scheme, token, _ := strings.Cut(c.r.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); token == "" || !strings.EqualFold(scheme, "Bearer") {
		return "", unauthenticated("a key is required: send it as x-api-key, or as Authorization: Bearer")
	}
	return token, nil
}

// admitted reports whether who asked would still be let in. It is for streams, which
// go on for longer than a key may last.
func (c *call) stillAuthorized() bool {
	who, err := c.authenticate()
	return err == nil && who.Workspace == c.who.Workspace && who.Role.Allows(c.route.role)
}

// errUnknown is of a credential that cannot be looked up at present.
var errAuthUnavailable = &apiError{
	status: http.StatusServiceUnavailable, kind: overloaded, message: "whom the key belongs to cannot be found out at present",
	extra: wire.Error{Code: wire.Code(memento.ErrUnavailable)}, shouldRetry: "true", retryAfter: unavailableRetry,
}

func unauthenticated(message string) *apiError {
	return &apiError{status: http.StatusUnauthorized, kind: authenticationFail, message: message}
}

// actorHeader names somebody else as who makes a change, as KIND/ID with both
// escaped as in a path.
const actorHeader = "Memento-Actor"

// actorKeyHeader names the key with which an actor made a change, for what is copied
// from elsewhere. Without it, that is the key of the request.
const actorKeyHeader = "Memento-Actor-Key"

// actor is who makes the changes of a request, and with which key. A key that writes
// can be an agent's session; only an admin can be anybody.
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
	case !c.who.Role.Allows(memento.RoleAdmin):
		return memento.Actor{}, needsRole(memento.RoleAdmin)
	case err != nil || len(keys) > 1 || key == "" || len(key) > maxActorBytes || !utf8.ValidString(key):
		return memento.Actor{}, invalid("%s: write the ID of one key", actorKeyHeader)
	}
	by.Key = memento.KeyID(key)
	return by, nil
}

// signed notes on an actor the key with which the request was sent.
func (c *call) withRequestKey(by memento.Actor) memento.Actor {
	if key := c.who.Actor; key.Kind == memento.ActorAPIKey && !by.Used(memento.KeyID(key.ID)) {
		by.Key = memento.KeyID(key.ID)
	}
	return by
}

// namedActor is who a request names, or else who sends it.
func (c *call) namedActor() (memento.Actor, error) {
	values := c.r.Header.Values(actorHeader)
	if len(values) == 0 {
		return c.who.Actor, nil
	}
	escaped, id, ok := strings.Cut(values[0], "/")
	kind, badKind := url.PathUnescape(escaped)
	id, badID := url.PathUnescape(id)
	if !ok || badKind != nil || badID != nil || len(values) > 1 || url.PathEscape(kind) != escaped {
		return memento.Actor{}, invalid("%s: write KIND/ID, as in session/sesn_1", actorHeader)
	}
	by := memento.Actor{Kind: memento.ActorKind(kind), ID: id}
	switch {
	case c.who.Role.Allows(memento.RoleAdmin):
		if !by.Kind.Known() && by != (memento.Actor{}) {
			return memento.Actor{}, invalid("%s: %q is no kind of actor; the kinds are session, api_key, user, service_account and system", actorHeader, printable(kind))
		}
		if len(id) > maxActorBytes || !utf8.ValidString(id) {
			return memento.Actor{}, errActorID
		}
	case by.Kind != memento.ActorSession:
		return memento.Actor{}, needsRole(memento.RoleAdmin)
	default:
		if err := checkActorID(id); err != nil {
			return memento.Actor{}, err
		}
	}
	return by, nil
}

const maxActorBytes = 256

var errActorID = invalid("the ID of an actor must have 1 to %d bytes of UTF-8, and no control characters", maxActorBytes)

// checkActorID refuses what would not name a session.
func checkActorID(id string) error {
	if id == "" || len(id) > maxActorBytes || !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) {
		return errActorID
	}
	return nil
}

// KeyAuth knows the API keys that a backend keeps.
type KeyAuth struct {
	keys    memento.KeyKeeper
	now     func() time.Time
	lookups chan struct{} // a token for each key that is being looked up

	mu            sync.Mutex
	cache         map[memento.KeyHash]cachedKey
	invalidations int // how often a key was
}

type cachedKey struct {
	key   memento.Key
	until time.Time // when the backend is asked again
}

// NewKeyAuth returns an [Authenticator] for the keys of k. A key that was revoked by
// another process lets nobody in any more after some seconds. now nil is time.Now.
func NewKeyAuth(k memento.KeyKeeper, now func() time.Time) *KeyAuth {
	if now == nil {
		now = time.Now
	}
	return &KeyAuth{keys: k, now: now, lookups: make(chan struct{}, maxLookups), cache: map[memento.KeyHash]cachedKey{}}
}

const (
	keyTTL        = 5 * time.Second // how long what is known of a key is believed
	maxCachedKeys = 10_000
	maxLookups    = 4               // of keys at once, so that a flood of wrong ones leaves the backend to others
	usedEvery     = 5 * time.Minute // how coarse the time of a key's last use is
)

// Authenticate implements [Authenticator]. A secret is looked up by its hash, so
// that the time it takes says nothing about how much of it is right.
func (a *KeyAuth) Authenticate(ctx context.Context, credential string) (Principal, error) {
	if !strings.HasPrefix(credential, memento.SecretPrefix) {
		return Principal{}, ErrUnauthenticated
	}
	k, err := a.key(ctx, memento.HashSecret(credential))
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

// key returns the key whose secret has a hash, active or not.
func (a *KeyAuth) key(ctx context.Context, hash memento.KeyHash) (memento.Key, error) {
	k, forgotten, ok := a.cached(hash)
	if ok {
		return k, nil
	}
	select {
	case a.lookups <- struct{}{}:
		defer func() { <-a.lookups }()
	case <-ctx.Done():
		return memento.Key{}, ctx.Err()
	}
	k, err := a.keys.KeyByHash(ctx, hash)
	if err != nil {
		return memento.Key{}, err
	}
	if now := a.now(); k.Active(now) && now.Sub(k.UsedAt) >= usedEvery {
		// Not to have noted it is no reason to let nobody in.
		if updated, err := a.keys.UpdateKey(ctx, k.Workspace, k.ID, memento.KeyUpdate{UsedAt: now}); err == nil {
			k = updated
		}
	}
	a.store(k, forgotten)
	return k, nil
}

// recall returns what is known of a key, and how many have been forgotten so far.
func (a *KeyAuth) cached(hash memento.KeyHash) (memento.Key, int, bool) {
	now := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	k, ok := a.cache[hash]
	return k.key, a.invalidations, ok && now.Before(k.until)
}

// remember keeps what the backend says of a key, unless one has been forgotten since
// it was asked: it may be this one, as it was before it was revoked.
func (a *KeyAuth) store(k memento.Key, forgotten int) {
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

// invalidateKey invalidates a key that was changed in the caches of authenticators.
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
