package server

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"memento/console"
)

// maxExchanges is how many people can sign in at the same moment: anybody can ask for it.
const maxExchanges = 8

// consoleProvider signs people in to the console at the issuer of oidcAuth.
type consoleProvider struct {
	auth   *oidcAuth
	secret string // of the client; "" for a public one
	origin func(*http.Request) string
	client *http.Client
	slots  chan struct{}
}

var _ console.Provider = (*consoleProvider)(nil)

func newConsoleProvider(auth *oidcAuth, origin func(*http.Request) string) (*consoleProvider, error) {
	p := &consoleProvider{
		auth: auth, origin: origin, slots: make(chan struct{}, maxExchanges),
		client: &http.Client{
			Timeout: issuerTimeout, Transport: http.DefaultTransport.(*http.Transport).Clone(),
			// The secret of the client goes to the issuer's address only.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	if file := auth.config.ClientSecretFile; file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if p.secret = strings.TrimSpace(string(text)); p.secret == "" {
			return nil, fmt.Errorf("%s is empty", file)
		}
	}
	return p, nil
}

// Name implements console.Provider.
func (p *consoleProvider) Name() string {
	u, err := url.Parse(p.auth.config.Issuer)
	if err != nil {
		return p.auth.config.Issuer
	}
	return u.Hostname()
}

// Origin implements console.Provider.
func (p *consoleProvider) Origin(r *http.Request) string { return p.origin(r) }

// AuthURL implements console.Provider.
func (p *consoleProvider) AuthURL(ctx context.Context, s console.Redirect) (string, error) {
	c, _, err := p.flow(ctx, s)
	if err != nil {
		return "", err
	}
	return c.AuthCodeURL(s.State, oidc.Nonce(s.Nonce), oauth2.S256ChallengeOption(s.Verifier)), nil
}

// Exchange implements console.Provider.
func (p *consoleProvider) Exchange(ctx context.Context, s console.Redirect, code string) (string, error) {
	token, err := p.exchange(ctx, s, code)
	if err != nil {
		p.auth.logger.Warn("signing in to the console failed", "issuer", p.auth.config.Issuer, "reason", err.Error())
	}
	return token, err
}

// exchange is Exchange. Its errors have nothing that the issuer sent: it may contain the code.
func (p *consoleProvider) exchange(ctx context.Context, s console.Redirect, code string) (string, error) {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	c, verifier, err := p.flow(ctx, s)
	if err != nil {
		return "", err
	}
	answer, err := c.Exchange(oidc.ClientContext(ctx, p.client), code, oauth2.VerifierOption(s.Verifier))
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return "", fmt.Errorf("the issuer refused the code with status %d", refused.Response.StatusCode)
	}
	if err != nil {
		return "", errors.New("no valid response from the issuer's token endpoint")
	}
	text, _ := answer.Extra("id_token").(string)
	token, err := verifier.Verify(ctx, text)
	switch {
	case text == "":
		return "", errors.New("the issuer sent no ID token")
	case err != nil:
		return "", errors.New("the ID token was refused: " + reasonOf(err))
	case !p.auth.isFor(token.Audience, p.auth.config.ClientID):
		return "", errors.New("the ID token is for another client")
	case subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(s.Nonce)) != 1:
		return "", errors.New("the ID token was made for another sign-in")
	}
	return text, nil
}

// flow returns what both steps of a sign-in need.
func (p *consoleProvider) flow(ctx context.Context, s console.Redirect) (*oauth2.Config, *oidc.IDTokenVerifier, error) {
	verifier, err := p.auth.find(ctx)
	if err != nil {
		return nil, nil, err
	}
	return &oauth2.Config{
		ClientID: p.auth.config.ClientID, ClientSecret: p.secret, Endpoint: p.auth.endpoint(p.secret != ""), RedirectURL: s.To,
		Scopes: strings.Fields(p.auth.config.Scopes),
	}, verifier, nil
}
