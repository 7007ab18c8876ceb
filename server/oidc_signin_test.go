package server

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memento/backend/apikey"
)

// authorize signs the user in without asking, and sends the browser back with a code.
func (i *issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || len(q.Get("nonce")) < 20 || len(q.Get("state")) < 20 ||
		q.Get("client_id") != "console" || q.Get("scope") != "openid groups" {
		http.Error(w, "not a request for a code", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	i.mu.Lock()
	i.codes[code] = q
	i.mu.Unlock()
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusSeeOther)
}

// exchange gives an ID token for a code, once, to the client that proves that it asked for it.
func (i *issuer) exchange(t *testing.T, w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	asked := i.codes[r.FormValue("code")]
	delete(i.codes, r.FormValue("code"))
	changes := i.changes
	i.mu.Unlock()
	proof := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	client, secret, _ := r.BasicAuth() // both are escaped: RFC 6749, section 2.3.1
	if asked == nil || client != "console" || secret != "client+secret" || r.FormValue("grant_type") != "authorization_code" ||
		asked.Get("redirect_uri") != r.FormValue("redirect_uri") || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(proof[:]) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_grant","error_description":"canary"}`)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	id := i.token(t, append([]any{"aud", "console", "nonce", asked.Get("nonce")}, changes...)...)
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "canary", "token_type": "Bearer", "id_token": id})
}

func (i *issuer) change(claims ...any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.changes = claims
}

// A browser keeps cookies, and goes one redirect at a time.
type signingIn struct {
	t *testing.T
	http.Client
	url string
}

func newBrowser(t *testing.T, url string) *signingIn {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &signingIn{t: t, url: url}
	b.Jar = jar
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return b
}

// get returns where an address redirects to; "" if it does not.
func (b *signingIn) get(address string, headers ...string) string {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	for n := 0; n < len(headers); n += 2 {
		r.Header.Set(headers[n], headers[n+1])
	}
	answer, err := b.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	text, _ := io.ReadAll(answer.Body)
	answer.Body.Close()
	if answer.StatusCode != http.StatusSeeOther {
		return "" // such as the answer of the issuer to a request that is not as it must be
	}
	if strings.Contains(string(text), "canary") {
		b.t.Errorf("%s shows what the issuer sent: %s", address, text)
	}
	return answer.Header.Get("Location")
}

// callback goes to the issuer, and returns the address that it sends the browser to.
func (b *signingIn) callback() string {
	b.t.Helper()
	to := b.get(b.url+"/console/oidc/start", "Sec-Fetch-Site", "same-origin")
	back := b.get(to)
	if !strings.HasPrefix(back, b.url+"/console/oidc/callback?") {
		b.t.Fatalf("from %q back to %q", to, back)
	}
	return back
}

// who returns the ID of whom the session is of; "" if there is none.
func (b *signingIn) who() string {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.url+"/console/api/v1/whoami", nil)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Memento-Console", "1")
	answer, err := b.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	var who struct{ ID, Role string }
	if err := json.NewDecoder(answer.Body).Decode(&who); err != nil {
		b.t.Fatal(err)
	}
	return strings.TrimSpace(who.ID + " " + who.Role)
}

func signInConfig(t *testing.T, i *issuer) Config {
	t.Helper()
	c := testConfig()
	c.Console, c.OIDC = true, i.config()
	c.OIDC.Audience, c.OIDC.ClientID, c.OIDC.Scopes = "api", "console", "openid groups"
	c.OIDC.ClientSecretFile = filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(c.OIDC.ClientSecretFile, []byte("client secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// People sign in to the console at the issuer: the browser gets a session of the ID token's
// subject, and no address has a token.
func TestConsoleSignIn(t *testing.T) {
	i := newIssuer(t)
	r := start(t, signInConfig(t, i))
	b := newBrowser(t, r.url)
	back := b.callback()
	if got := b.who(); strings.Contains(got, "user-1") {
		t.Fatalf("before the way back: %q", got)
	}
	if to := b.get(back, "Sec-Fetch-Site", "cross-site"); to != "/console/" {
		t.Fatalf("after signing in: %q", to)
	}
	if got := b.who(); got != "user-1 write" {
		t.Errorf("signed in as %q", got)
	}
	if to := b.get(back); to != "/console/#sign-in=expired" { // it is for one visit
		t.Errorf("the same once more: %q", to)
	}
	if got := b.who(); got != "user-1 write" {
		t.Errorf("after that: %q", got)
	}

	// The token of another client of the issuer is not accepted for it.
	if _, err := r.oidc.Authenticate(t.Context(), i.token(t, "aud", "another")); err == nil {
		t.Error("a token for another client is accepted")
	}
}

// Whatever is not as it must be ends at the sign-in page, without a session.
func TestConsoleSignInRefused(t *testing.T) {
	i := newIssuer(t)
	r := start(t, signInConfig(t, i))
	for name, tt := range map[string]struct {
		changes []any // of the ID token
		how     func(b *signingIn) string
		want    string
	}{
		"no cookie": {nil, func(b *signingIn) string { return newBrowser(t, r.url).get(b.callback()) }, "expired"},
		"another's cookie": {nil, func(b *signingIn) string {
			other := newBrowser(t, r.url)
			other.callback()
			return other.get(b.callback())
		}, "expired"},
		"another state": {nil, func(b *signingIn) string { return b.get(b.callback() + "x") }, "expired"},
		"no state":      {nil, func(b *signingIn) string { b.callback(); return b.get(r.url + "/console/oidc/callback?code=x") }, "expired"},
		"refused by the user": {nil, func(b *signingIn) string {
			return b.get(strings.Replace(b.callback(), "code=", "error=access_denied&x=", 1))
		}, "denied"},
		"another code":       {nil, func(b *signingIn) string { return b.get(strings.Replace(b.callback(), "code=", "code=x", 1)) }, "failed"},
		"another nonce":      {[]any{"nonce", "another"}, nil, "failed"},
		"no nonce":           {[]any{"nonce", nil}, nil, "failed"},
		"another client":     {[]any{"aud", "another"}, nil, "failed"},
		"the API's audience": {[]any{"aud", "api"}, nil, "failed"},
		"expired":            {[]any{"exp", 1}, nil, "failed"},
		"another issuer":     {[]any{"iss", "https://canary.example"}, nil, "failed"},
		"no workspace":       {[]any{"workspace", nil}, nil, "refused"},
		"too large":          {[]any{"more", strings.Repeat("x", 3000)}, nil, "large"},
	} {
		t.Run(name, func(t *testing.T) {
			i.change(tt.changes...)
			b := newBrowser(t, r.url)
			how := tt.how
			if how == nil {
				how = func(b *signingIn) string { return b.get(b.callback()) }
			}
			if to := how(b); to != "/console/#sign-in="+tt.want {
				t.Errorf("ends at %q", to)
			}
			if got := b.who(); strings.Contains(got, "user-1") {
				t.Errorf("signed in as %q", got)
			}
		})
	}
	b := newBrowser(t, r.url)
	if to := b.get(r.url+"/console/oidc/start", "Sec-Fetch-Site", "cross-site"); to != "/console/" {
		t.Errorf("another site starts it: %q", to)
	}
	if log := r.log.String(); strings.Contains(log, "canary") {
		t.Errorf("the log has what the issuer sent:\n%s", log)
	}
}

// An issuer that does not answer is said to be unavailable.
func TestConsoleSignInWithoutIssuer(t *testing.T) {
	i := newIssuer(t)
	c := signInConfig(t, i)
	c.OIDC.DefaultRole = apikey.RoleRead
	r := start(t, c)
	i.Close()
	if to := newBrowser(t, r.url).get(r.url + "/console/oidc/start"); to != "/console/#sign-in=unavailable" {
		t.Errorf("got %q", to)
	}
}
