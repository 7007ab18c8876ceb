package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/httpapi"
	"memento/test/proctest"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// An issuer is a small identity provider: discovery, keys, and tokens.
type issuer struct {
	*httptest.Server
	rsa *rsa.PrivateKey
	ec  *ecdsa.PrivateKey

	mu      sync.Mutex
	keys    jose.JSONWebKeySet
	fetched int // how often the keys were
	broken  bool
	says    string                // the issuer that discovery names; "" for its URL
	codes   map[string]url.Values // the requests of the codes that were given out, until they are used
	changes []any                 // of the claims in ID tokens
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{}
	var err error
	if i.rsa, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	if i.ec, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	i.publish("rsa", &i.rsa.PublicKey, jose.RS256)
	i.publish("ec", &i.ec.PublicKey, jose.ES256)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		name := i.says
		if name == "" {
			name = i.URL
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": name, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/a", "token_endpoint": i.URL + "/t",
			"id_token_signing_alg_values_supported": []string{"RS256", "ES256", "HS256", "none"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.fetched++
		if i.broken {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(i.keys)
	})
	i.codes = map[string]url.Values{}
	mux.HandleFunc("GET /a", i.authorize)
	mux.HandleFunc("POST /t", func(w http.ResponseWriter, r *http.Request) { i.exchange(t, w, r) })
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) publish(id string, key any, alg jose.SignatureAlgorithm) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys.Keys = append(i.keys.Keys, jose.JSONWebKey{KeyID: id, Key: key, Algorithm: string(alg), Use: "sig"})
}

// claims are those of a good token, with changes: pairs of a name and a value,
// nil for none.
func (i *issuer) claims(changes ...any) map[string]any {
	c := map[string]any{
		"iss": i.URL, "aud": "memento", "sub": "user-1", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(),
		"workspace": "team", "role": "write",
	}
	for n := 0; n < len(changes); n += 2 {
		c[changes[n].(string)] = changes[n+1]
		if changes[n+1] == nil {
			delete(c, changes[n].(string))
		}
	}
	return c
}

// token signs claims.
func token(t *testing.T, alg jose.SignatureAlgorithm, keyID string, key any, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", keyID).WithType("JWT"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (i *issuer) token(t *testing.T, changes ...any) string {
	t.Helper()
	return token(t, jose.RS256, "rsa", i.rsa, i.claims(changes...))
}

func (i *issuer) config() OIDC {
	return OIDC{Issuer: i.URL, Audience: "memento", WorkspaceClaim: "workspace", RoleClaim: "role", DefaultRole: apikey.RoleRead}
}

// newAuth returns what lets the issuer's tokens in, as the server makes it.
func newAuth(t *testing.T, c OIDC) (*oidcAuth, *proctest.Buffer) {
	t.Helper()
	log := &proctest.Buffer{}
	logger, _ := newLogger(log, Log{Format: "text", Level: "debug"})
	o := newOIDC(c, time.Now, logger)
	t.Cleanup(o.client.CloseIdleConnections)
	return o, log
}

// A token of the issuer authenticates the subject that it names. Other tokens are
// refused.
func TestOIDC(t *testing.T) {
	i := newIssuer(t)
	stranger := newIssuer(t)
	o, log := newAuth(t, i.config())
	who := func(ws memento.Workspace, role apikey.Role) httpapi.Principal {
		return httpapi.Principal{ID: "user-1", Workspace: ws, Role: role, Actor: memento.Actor{Kind: memento.ActorUser, ID: "user-1"}}
	}
	for name, tc := range map[string]struct {
		token string
		want  httpapi.Principal
	}{
		"RSA":                      {i.token(t), who("team", apikey.RoleWrite)},
		"EC":                       {token(t, jose.ES256, "ec", i.ec, i.claims()), who("team", apikey.RoleWrite)},
		"PSS":                      {token(t, jose.PS256, "rsa", i.rsa, i.claims()), who("team", apikey.RoleWrite)},
		"several audiences":        {i.token(t, "aud", []string{"other", "memento"}), who("team", apikey.RoleWrite)},
		"no role":                  {i.token(t, "role", nil), who("team", apikey.RoleRead)},
		"a list of roles":          {i.token(t, "role", []string{"offline_access", "read", "admin", "write"}), who("team", apikey.RoleAdmin)},
		"just started, as it says": {i.token(t, "nbf", time.Now().Add(time.Minute).Unix()), who("team", apikey.RoleWrite)},
	} {
		got, err := o.Authenticate(t.Context(), tc.token)
		if err != nil || got != tc.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, tc.want)
		}
	}

	public, err := x509.MarshalPKIXPublicKey(&i.rsa.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	encode := base64.RawURLEncoding.EncodeToString
	payload, err := json.Marshal(i.claims())
	if err != nil {
		t.Fatal(err)
	}
	good := i.token(t)
	parts := strings.Split(good, ".")
	for name, text := range map[string]string{
		"an API key":                 apikey.NewSecret(),
		"nothing":                    "",
		"no token":                   "a.b.c",
		"two parts":                  parts[0] + "." + parts[1],
		"four parts":                 good + ".x",
		"expired":                    i.token(t, "exp", time.Now().Add(-time.Second).Unix()),
		"without an end":             i.token(t, "exp", nil),
		"not yet":                    i.token(t, "nbf", time.Now().Add(time.Hour).Unix()),
		"for another audience":       i.token(t, "aud", "canary"),
		"for nobody":                 i.token(t, "aud", nil),
		"of another issuer":          stranger.token(t),
		"of another issuer's key":    token(t, jose.RS256, "rsa", stranger.rsa, i.claims()),
		"of an unknown key":          token(t, jose.RS256, "canary", stranger.rsa, i.claims()),
		"of a key of another kind":   token(t, jose.ES256, "rsa", i.ec, i.claims()),
		"unsigned":                   encode([]byte(`{"alg":"none"}`)) + "." + encode(payload) + ".",
		"unsigned, with a kid":       encode([]byte(`{"alg":"none","kid":"rsa"}`)) + "." + encode(payload) + ".",
		"HMAC with the public key":   token(t, jose.HS256, "rsa", publicPEM, i.claims()),
		"HMAC with its bytes":        token(t, jose.HS256, "rsa", public, i.claims()),
		"with another payload":       parts[0] + "." + encode(payload[:len(payload)-1]) + encode([]byte(" }")) + "." + parts[2],
		"without a workspace":        i.token(t, "workspace", nil),
		"with a bad workspace":       i.token(t, "workspace", "a/../canary"),
		"with an empty workspace":    i.token(t, "workspace", ""),
		"with a workspace of a list": i.token(t, "workspace", []string{"team"}),
		"with an unknown role":       i.token(t, "role", "root"),
		"with a role of a number":    i.token(t, "role", 3),
		"with unknown roles":         i.token(t, "role", []string{"root", "canary"}),
		"without a subject":          i.token(t, "sub", nil),
		"with a subject of controls": i.token(t, "sub", "a\nb"),
		"with a long subject":        i.token(t, "sub", strings.Repeat("a", 256)),
		"too long":                   i.token(t, "more", strings.Repeat("a", 20_000)),
	} {
		if got, err := o.Authenticate(t.Context(), text); !errors.Is(err, httpapi.ErrUnauthenticated) || got != (httpapi.Principal{}) {
			t.Errorf("a token %s: %+v, %v", name, got, err)
		}
	}
	if text := log.String(); strings.Contains(text, "canary") || strings.Contains(text, "user-1") || strings.Contains(text, parts[2]) {
		t.Errorf("the log has something of a token:\n%s", text)
	}
}

// Without claims in the configuration, all are in one workspace with one role.
func TestOIDCWithoutClaims(t *testing.T) {
	i := newIssuer(t)
	o, _ := newAuth(t, OIDC{Issuer: i.URL, Audience: "memento", DefaultRole: apikey.RoleWrite})
	got, err := o.Authenticate(t.Context(), i.token(t, "workspace", "other", "role", "admin"))
	if err != nil || got.Workspace != memento.DefaultWorkspace || got.Role != apikey.RoleWrite {
		t.Errorf("%+v, %v", got, err)
	}
}

// New keys of the issuer are found when a token names one. Made-up key names do not
// cause a request to the issuer each time.
func TestOIDCRotation(t *testing.T) {
	i := newIssuer(t)
	o, _ := newAuth(t, i.config())
	if _, err := o.Authenticate(t.Context(), i.token(t)); err != nil {
		t.Fatal(err)
	}
	fresh, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 50 {
		if _, err := o.Authenticate(t.Context(), token(t, jose.ES256, "made-up-"+string(rune('a'+n%26)), fresh, i.claims())); !errors.Is(err, httpapi.ErrUnauthenticated) {
			t.Errorf("a made-up key: %v", err)
		}
	}
	if i.fetched != 1 {
		t.Errorf("the keys were fetched %d times", i.fetched)
	}
	i.publish("fresh", &fresh.PublicKey, jose.ES256)
	kept := o.client.Transport.(*cachingTransport)
	kept.mu.Lock()
	kept.fresh = 0 // as if that time had passed
	kept.mu.Unlock()
	// At first the library may still be at the end of a fetch of the old keys.
	proctest.Until(t, "the new key is found", func() bool {
		_, err := o.Authenticate(t.Context(), token(t, jose.ES256, "fresh", fresh, i.claims()))
		return err == nil
	})
	if _, err := o.Authenticate(t.Context(), i.token(t)); err != nil {
		t.Errorf("the old key: %v", err)
	}
	i.mu.Lock()
	i.broken = true
	i.mu.Unlock()
	if _, err := o.Authenticate(t.Context(), i.token(t)); err != nil {
		t.Errorf("a key that is known, while the issuer is broken: %v", err)
	}
	// Here, too, a fetch of before may be ending.
	proctest.Until(t, "it is told that the issuer is broken", func() bool {
		_, err := o.Authenticate(t.Context(), token(t, jose.ES256, "unknown", fresh, i.claims()))
		return errors.Is(err, errIssuer)
	})
}

// The server starts while the issuer is down. It accepts API keys meanwhile, and tokens
// once the issuer is up.
func TestOIDCIssuerComesLater(t *testing.T) {
	i := newIssuer(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	l.Close()
	i.URL = "http://" + at // where it will be
	c := testConfig()
	c.OIDC = i.config()
	r := start(t, c)
	if a := r.ask("GET", "/v1/whoami", r.key, ""); a.StatusCode != 200 {
		t.Errorf("a key: %d", a.StatusCode)
	}
	if a := r.ask("GET", "/v1/whoami", "a.b.c", ""); a.StatusCode != 401 {
		t.Errorf("what is no token: %d", a.StatusCode)
	}
	if a := r.ask("GET", "/v1/whoami", i.token(t), ""); a.StatusCode != 503 || a.Header.Get("Retry-After") == "" || strings.Contains(a.text, "127.0.0.1") {
		t.Errorf("a token while the issuer is down: %d %s", a.StatusCode, a.text)
	}
	if l, err = net.Listen("tcp", at); err != nil {
		t.Fatal(err)
	}
	up := &http.Server{Handler: i.Config.Handler}
	go up.Serve(l)
	defer up.Close()
	proctest.Until(t, "the issuer is asked again", func() bool { return r.ask("GET", "/v1/whoami", i.token(t), "").StatusCode == 200 })

	var me struct {
		Workspace string `json:"workspace_id"`
		Role      string
		Actor     map[string]string
	}
	if err := json.Unmarshal([]byte(r.ask("GET", "/v1/whoami", i.token(t), "").text), &me); err != nil || me.Workspace != "team" || me.Role != "write" || me.Actor["type"] != "user_actor" {
		t.Errorf("who am I: %+v, %v", me, err)
	}
	if a := r.ask("POST", "/v1/memory_stores", i.token(t, "role", "read"), `{"name":"x"}`); a.StatusCode != 403 {
		t.Errorf("a reader writes: %d", a.StatusCode)
	}
	theirs := r.ask("POST", "/v1/memory_stores", i.token(t), `{"name":"x"}`)
	var store struct{ ID string }
	if err := json.Unmarshal([]byte(theirs.text), &store); err != nil || theirs.StatusCode != 200 {
		t.Fatal(theirs.text)
	}
	for name, credential := range map[string]string{"a key of another workspace": r.key, "a token of another workspace": i.token(t, "workspace", "other")} {
		if a := r.ask("GET", "/v1/memory_stores/"+store.ID, credential, ""); a.StatusCode != 404 {
			t.Errorf("%s sees the store: %d", name, a.StatusCode)
		}
	}
}

// An issuer whose configuration names another issuer is refused.
func TestOIDCWrongDiscovery(t *testing.T) {
	i := newIssuer(t)
	i.says = "https://login.example"
	o, log := newAuth(t, i.config())
	if _, err := o.Authenticate(t.Context(), i.token(t)); !errors.Is(err, errIssuer) {
		t.Errorf("%v", err)
	}
	if !strings.Contains(log.String(), "its issuer differs from oidc.issuer") {
		t.Errorf("the log is %s", log)
	}
}
