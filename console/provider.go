package console

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

const (
	providerPath = Path + "oidc/" // its cookie is sent there only
	startPath    = providerPath + "start"
	callbackPath = providerPath + "callback"

	providerTime = 10 * time.Minute // from the redirect to the provider until the way back
	forProvider  = "memento console sign-in with a provider"
)

// A Provider signs people in at an OpenID Connect issuer: with the authorization code flow,
// by redirect, and PKCE.
type Provider interface {
	// Name is how people know the issuer.
	Name() string
	// AuthURL returns where the browser is sent to sign in.
	AuthURL(ctx context.Context, s Redirect) (string, error)
	// Exchange returns the ID token for the code with which the browser comes back. It has
	// checked it, and that it has the nonce.
	Exchange(ctx context.Context, s Redirect, code string) (token string, err error)
	// Origin returns the scheme and host of this server as the browser sees it.
	Origin(r *http.Request) string
}

// A Redirect is one visit of a browser to the provider. It is kept in a sealed cookie.
type Redirect struct {
	To       string // the address that the browser comes back to
	State    string
	Nonce    string
	Verifier string // of PKCE
}

// provide answers requests below providerPath.
func (h *Handler) provide(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Cache-Control", "no-store")
	head.Set("Referrer-Policy", "no-referrer")
	switch {
	case r.Method != http.MethodGet:
		head.Set("Allow", http.MethodGet)
		refuse(w, http.StatusMethodNotAllowed, "invalid_request_error", "use GET")
	case r.URL.Path == startPath:
		h.startSignIn(w, r)
	case r.URL.Path == callbackPath:
		h.endSignIn(w, r)
	default:
		http.NotFound(w, r)
	}
}

// startSignIn sends the browser to the provider. Other sites cannot start it: people would be
// signed in, perhaps in place of another session, without having asked.
func (h *Handler) startSignIn(w http.ResponseWriter, r *http.Request) {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		http.Redirect(w, r, Path, http.StatusSeeOther)
		return
	}
	s := Redirect{To: h.provider.Origin(r) + callbackPath, State: rand.Text(), Nonce: rand.Text(), Verifier: rand.Text() + rand.Text()}
	to, err := h.provider.AuthURL(r.Context(), s)
	if err != nil {
		signInFailed(w, r, "unavailable")
		return
	}
	text, _ := json.Marshal(s) // strings always encode
	value, _ := h.sessions.seal(string(text), forProvider, providerTime)
	h.setProviderCookie(w, r, value, int(providerTime.Seconds()))
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// endSignIn starts a session if the browser comes back with a code.
func (h *Handler) endSignIn(w http.ResponseWriter, r *http.Request) {
	c, err := r.Cookie(cookieName(r) + providerCookie)
	h.setProviderCookie(w, r, "", -1) // it is for one visit
	q := r.URL.Query()
	var s Redirect
	if err == nil {
		sealed, ok := h.sessions.open(c.Value, forProvider)
		if !ok || json.Unmarshal([]byte(sealed.Key), &s) != nil {
			s = Redirect{}
		}
	}
	switch {
	case s.State == "" || subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(s.State)) != 1:
		signInFailed(w, r, "expired")
		return
	case q.Get("error") != "" || q.Get("code") == "":
		signInFailed(w, r, "denied")
		return
	}
	token, err := h.provider.Exchange(r.Context(), s, q.Get("code"))
	if err != nil {
		signInFailed(w, r, "failed")
		return
	}
	if len(token) > maxKey {
		signInFailed(w, r, "large")
		return
	}
	if who := h.whoAmI(r, token); who.Status != http.StatusOK {
		signInFailed(w, r, "refused")
		return
	}
	value, _ := h.sessions.seal(token, forSession, sessionTime)
	h.setCookie(w, r, value, int(sessionTime.Seconds()))
	http.Redirect(w, r, Path, http.StatusSeeOther)
}

// signInFailed sends the browser to the console, which says why, in words of its own.
func signInFailed(w http.ResponseWriter, r *http.Request, why string) {
	http.Redirect(w, r, Path+"#sign-in="+why, http.StatusSeeOther)
}

// providerCookie is the end of the name of the cookie with the [Redirect].
const providerCookie = "_oidc"

// setProviderCookie sets a cookie that is sent when the browser comes back from another site,
// as that of the session is not.
func (h *Handler) setProviderCookie(w http.ResponseWriter, r *http.Request, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(r) + providerCookie, Value: value, Path: providerPath, MaxAge: maxAge,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: h.isSecure(r),
	})
}

// isSecure reports whether the browser reaches this server over TLS. A proxy may speak it for
// this server: then the origin is the address that the browser sees.
func (h *Handler) isSecure(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(r.Header.Get("Origin"), "https:") ||
		h.provider != nil && strings.HasPrefix(h.provider.Origin(r), "https:")
}
