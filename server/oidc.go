package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"memento"
	"memento/backend/apikey"
	"memento/httpapi"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// oidcAuth authenticates callers that have a token (JWT) of an OpenID Connect issuer.
// It requests the issuer's configuration at the first token, and again until the issuer
// answers, so that the server can start without the issuer.
type oidcAuth struct {
	config OIDC
	client *http.Client
	now    func() time.Time
	logger *slog.Logger

	mu       sync.Mutex
	verifier *oidc.IDTokenVerifier // nil until the issuer has answered; it does not check the audience
	provider *oidc.Provider        // set with verifier
	asked    time.Time             // the time of the last failed request
}

const (
	issuerTimeout = 10 * time.Second
	issuerRetry   = 2 * time.Second // the time between two requests to an issuer that did not answer
	issuerTTL     = 5 * time.Second // how long a response of the issuer is reused
	maxSubject    = 255             // bytes; OpenID Connect Core 1.0, section 2
)

func newOIDC(config OIDC, now func() time.Time, logger *slog.Logger) *oidcAuth {
	return &oidcAuth{config: config, now: now, logger: logger, client: &http.Client{
		Timeout:   issuerTimeout,
		Transport: &cachingTransport{next: http.DefaultTransport.(*http.Transport).Clone(), fresh: issuerTTL},
	}}
}

// errIssuer is memento.ErrUnavailable, since the issuer may answer later.
var errIssuer error = issuerError{}

type issuerError struct{}

func (issuerError) Error() string        { return "the token issuer is unavailable" }
func (issuerError) Is(target error) bool { return target == memento.ErrUnavailable }

// Authenticate implements httpapi.Authenticator. It rejects a credential that is not a
// token of the issuer without a request to the issuer, so that another authenticator
// can check it.
func (o *oidcAuth) Authenticate(ctx context.Context, credential string) (httpapi.Principal, error) {
	if !o.mayBeOurs(credential) {
		return httpapi.Principal{}, httpapi.ErrUnauthenticated
	}
	verifier, err := o.find(ctx)
	if err != nil {
		return httpapi.Principal{}, err
	}
	token, err := verifier.Verify(ctx, credential)
	if err == nil && !o.isFor(token.Audience, o.config.Audience, o.config.ClientID) {
		err = errors.New("for another audience")
	}
	if err != nil {
		switch {
		case ctx.Err() != nil:
			return httpapi.Principal{}, ctx.Err()
		case strings.HasPrefix(err.Error(), "failed to verify signature: fetching keys"): // the library returns no error value for this
			o.logger.Error("cannot fetch the keys of the token issuer", "issuer", o.config.Issuer)
			return httpapi.Principal{}, errIssuer
		}
		o.logger.Debug("token refused", "reason", reasonOf(err))
		return httpapi.Principal{}, httpapi.ErrUnauthenticated
	}
	who, err := o.principal(token)
	if err != nil {
		o.logger.Warn("token refused", "reason", err.Error())
		return httpapi.Principal{}, httpapi.ErrUnauthenticated
	}
	return who, nil
}

// mayBeOurs reports whether a credential claims to be a token of the issuer that has
// not expired. Only for such a token the issuer's keys are requested, not for arbitrary
// credentials.
func (o *oidcAuth) mayBeOurs(credential string) bool {
	parts := strings.Split(credential, ".")
	if len(parts) != 3 || len(credential) > 16<<10 {
		return false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return false
	}
	var says struct {
		Issuer string  `json:"iss"`
		Expiry float64 `json:"exp"`
	}
	return json.Unmarshal(payload, &says) == nil && says.Issuer == o.config.Issuer && says.Expiry > float64(o.now().Unix())
}

// reasonOf returns why a token was refused, without any part of the token.
func reasonOf(err error) string {
	if expired, ok := errors.AsType[*oidc.TokenExpiredError](err); ok {
		return "expired on " + expired.Expiry.UTC().Format(time.RFC3339)
	}
	for _, about := range []string{"audience", "issued by", "signature", "signing algorithm", "nbf"} {
		if strings.Contains(err.Error(), about) {
			return "its " + about + " is not as it must be"
		}
	}
	return "not issued by the issuer"
}

// find returns the verifier of tokens. It requests the issuer's configuration if it
// does not have it yet.
func (o *oidcAuth) find(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.verifier != nil {
		return o.verifier, nil
	}
	if now := o.now(); now.Sub(o.asked) < issuerRetry && !now.Before(o.asked) {
		return nil, errIssuer
	}
	// Without the cancellation of this request: other requests use the result, too.
	provider, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), o.client), o.config.Issuer)
	if err != nil {
		o.asked = o.now()
		o.logger.Error("token issuer cannot be used", "issuer", o.config.Issuer, "error", issuerAnswerError(err))
		return nil, errIssuer
	}
	o.provider = provider
	o.verifier = provider.Verifier(&oidc.Config{
		SkipClientIDCheck: true, // isFor checks it: there may be two
		Now:               o.now,
		// Only signatures that nobody except the issuer can make: not "none", and no
		// HMAC, whose key would be the public one.
		SupportedSigningAlgs: []string{
			oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512,
			oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
		},
	})
	o.logger.Info("token issuer ready", "issuer", o.config.Issuer)
	return o.verifier, nil
}

// endpoint returns the issuer's endpoints, and how a client with or without a secret says
// there who it is. The issuer has answered.
func (o *oidcAuth) endpoint(secret bool) oauth2.Endpoint {
	o.mu.Lock()
	defer o.mu.Unlock()
	var says struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"` // absent: client_secret_basic
	}
	e := o.provider.Endpoint()
	e.AuthStyle = oauth2.AuthStyleInParams
	if err := o.provider.Claims(&says); secret && (err != nil || len(says.Methods) == 0 || slices.Contains(says.Methods, "client_secret_basic")) {
		e.AuthStyle = oauth2.AuthStyleInHeader
	}
	return e
}

// isFor reports whether a token with this audience is for one of those that are accepted.
// An accepted one that is "" is none.
func (o *oidcAuth) isFor(audience []string, accepted ...string) bool {
	return slices.ContainsFunc(accepted, func(one string) bool { return one != "" && slices.Contains(audience, one) })
}

func issuerAnswerError(err error) string {
	if strings.Contains(err.Error(), "did not match") {
		return "its issuer differs from oidc.issuer"
	}
	return "no valid response from its /.well-known/openid-configuration"
}

// principal reads the claims of a verified token.
func (o *oidcAuth) principal(token *oidc.IDToken) (httpapi.Principal, error) {
	subject := token.Subject
	if subject == "" || len(subject) > maxSubject || !utf8.ValidString(subject) || strings.ContainsFunc(subject, unicode.IsControl) {
		return httpapi.Principal{}, errors.New("its subject is invalid")
	}
	var claims map[string]any
	if err := token.Claims(&claims); err != nil {
		return httpapi.Principal{}, errors.New("its claims cannot be read")
	}
	who := httpapi.Principal{
		ID: subject, Workspace: memento.DefaultWorkspace, Role: o.config.DefaultRole,
		Actor: memento.Actor{Kind: memento.ActorUser, ID: subject},
	}
	if name := o.config.WorkspaceClaim; name != "" {
		ws, _ := claims[name].(string)
		who.Workspace = memento.Workspace(ws)
		if who.Workspace.Check() != nil {
			return httpapi.Principal{}, fmt.Errorf("its claim %q does not name a workspace", name)
		}
	}
	if name := o.config.RoleClaim; name != "" && claims[name] != nil {
		role, ok := roleIn(claims[name])
		if !ok {
			return httpapi.Principal{}, fmt.Errorf("its claim %q is none of read, write and admin", name)
		}
		who.Role = role
	}
	return who, nil
}

// roleIn returns the role in a claim. If the claim is a list, it is the role with the
// most rights; words that are not roles are ignored.
func roleIn(claim any) (role apikey.Role, ok bool) {
	words := []any{claim}
	if list, isList := claim.([]any); isList {
		words = list
	}
	for _, w := range words {
		word, _ := w.(string)
		if r := apikey.Role(word); r.Allows(apikey.RoleRead) && !role.Allows(r) {
			role, ok = r, true
		}
	}
	return role, ok
}
