package console

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"memento/internal/httpmessage"
	"memento/internal/wire"
)

const (
	sessionTime = 12 * time.Hour
	linkTime    = time.Minute
	maxKey      = 2900    // bytes: sealed, it is a cookie of less than 4,096
	maxSignIn   = 8 << 10 // bytes of a request to sign in
	bodyTime    = 10 * time.Second
)

// What a sealed text is for, so that none can be used as another.
const (
	forSession = "memento console session"
	forLink    = "memento console link"
)

// sessions seals the keys of those who have signed in. A session is its cookie: only that it
// was ended early is stored.
type sessions struct {
	now   func() time.Time
	ended endings // those that were ended early

	mu   sync.Mutex
	aead cipher.AEAD
}

// A sealed is what a cookie, or the code of a link, contains.
type sealed struct {
	Key   string    `json:"k"`
	ID    string    `json:"i"`
	Start time.Time `json:"s"`
	End   time.Time `json:"e"`
}

func randomSecret() []byte {
	secret := make([]byte, 32)
	rand.Read(secret) // never fails: crypto/rand
	return secret
}

// derive returns a key for sealing.
func derive(secret []byte) []byte {
	key, err := hkdf.Key(sha256.New, secret, nil, "memento console", 32)
	if err != nil {
		return randomSecret() // only with a secret that FIPS 140 calls too short
	}
	return key
}

// setSecret ends all sessions that were sealed with another secret.
func (s *sessions) setSecret(secret []byte) {
	block, err := aes.NewCipher(secret)
	if err != nil {
		panic(err) // the length is constant
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // the same
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aead = aead
}

func (s *sessions) seal(key, purpose string, lasts time.Duration) (string, time.Time) {
	start := s.now().UTC()
	end := start.Add(lasts).Truncate(time.Second)
	text, _ := json.Marshal(sealed{Key: key, ID: rand.Text(), Start: start, End: end}) // strings and a time always encode
	s.mu.Lock()
	defer s.mu.Unlock()
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, text, []byte(purpose))), end
}

// open returns what is sealed in text, if it is for this purpose and its time has not passed.
func (s *sessions) open(text, purpose string) (v sealed, ok bool) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return v, false
	}
	s.mu.Lock()
	aead := s.aead
	s.mu.Unlock()
	plain, err := aead.Open(nil, nil, data, []byte(purpose))
	if err != nil || json.Unmarshal(plain, &v) != nil {
		return v, false
	}
	return v, s.now().Before(v.End)
}

// end ends a session, or a link, before its time. It reports whether it had not ended. With an
// error, other servers and later processes may not know.
func (s *sessions) end(ctx context.Context, v sealed) (first bool, err error) {
	return s.ended.add(ctx, v, s.now())
}

// of returns the session of a request. It fails if the storage cannot say whether it was ended.
func (s *sessions) of(r *http.Request) (v sealed, ok bool, err error) {
	if v, ok = s.open(cookieOf(r), forSession); !ok {
		return v, false, nil
	}
	ended, err := s.ended.has(r.Context(), v, s.now())
	return v, !ended && err == nil, err
}

// within returns a context that ends with a session: a request that goes on for long, such as a
// stream, does not outlive it. If the storage cannot say whether the session was ended, it
// ends, too. The caller calls cancel.
func (s *sessions) within(ctx context.Context, v sealed) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, v.End.Sub(s.now()))
	// Most requests have been answered before that.
	timer := time.AfterFunc(endingsAge, func() {
		again := time.NewTicker(endingsAge)
		defer again.Stop()
		for {
			if ended, err := s.ended.has(ctx, v, s.now()); ended || err != nil {
				cancel()
			}
			select {
			case <-ctx.Done():
				return
			case <-again.C:
			}
		}
	})
	return ctx, func() { timer.Stop(); cancel() }
}

// cookieOf returns what the cookie of a session has, or "" if there is none.
func cookieOf(r *http.Request) string {
	c, err := r.Cookie(cookieName(r))
	if err != nil {
		return ""
	}
	return c.Value
}

// cookieName has the port in it: browsers send the cookies of one port of a machine to all.
func cookieName(r *http.Request) string {
	name := "memento_console"
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		name += "_" + port
	}
	return name
}

func (h *Handler) setCookie(w http.ResponseWriter, r *http.Request, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(r), Value: value, Path: Path, MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: h.isSecure(r),
	})
}

// session signs in and out, and says how one can sign in.
func (h *Handler) session(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodGet:
		ways := struct {
			Type     string `json:"type"`
			Provider string `json:"provider,omitempty"` // the name of the OpenID Connect issuer, if there is one
		}{Type: "console_sign_in"}
		if h.provider != nil {
			ways.Provider = h.provider.Name()
		}
		answer(w, http.StatusOK, ways)
	case r.Method != http.MethodPost && r.Method != http.MethodDelete:
		w.Header().Set("Allow", "DELETE, GET, POST")
		refuse(w, http.StatusMethodNotAllowed, "invalid_request_error", "use POST to sign in, or DELETE to sign out")
	case !fromPage(r):
		refuse(w, http.StatusForbidden, "permission_error", "only the console's own pages sign in and out")
	case r.Method == http.MethodDelete:
		s, ok := h.sessions.open(cookieOf(r), forSession)
		var err error
		if ok { // whether or not the storage can say that it was ended already
			_, err = h.sessions.end(r.Context(), s)
		}
		h.setCookie(w, r, "", -1)
		if err != nil {
			refuse(w, http.StatusServiceUnavailable, "overloaded_error", "signed out in this browser; but the server's storage is unavailable, so another server, or this one after a restart, would accept a copy of the cookie")
			return
		}
		answer(w, http.StatusOK, map[string]string{"type": "console_session_ended"})
	default:
		h.signIn(w, r)
	}
}

// signIn starts a session with a key, or with the code of a link.
func (h *Handler) signIn(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime))
	var body struct{ Key, Code string }
	if json.NewDecoder(http.MaxBytesReader(w, r.Body, maxSignIn)).Decode(&body) != nil {
		refuse(w, http.StatusBadRequest, "invalid_request_error", "the body must be a JSON object with a key or a code")
		return
	}
	key := strings.TrimSpace(body.Key)
	if body.Code != "" {
		link, ok := h.sessions.open(body.Code, forLink)
		if ok {
			var err error
			if ok, err = h.sessions.end(r.Context(), link); err != nil {
				unavailable(w)
				return
			}
		}
		if !ok {
			refuse(w, http.StatusUnauthorized, "authentication_error", `this link was used or is older than a minute; run "memento console" again, or paste a key`)
			return
		}
		key = link.Key
	}
	if key == "" || len(key) > maxKey {
		refuse(w, http.StatusBadRequest, "invalid_request_error", fmt.Sprintf("a key of at most %d bytes is required", maxKey))
		return
	}
	who := h.whoAmI(r, key)
	if who.Status == http.StatusOK {
		value, _ := h.sessions.seal(key, forSession, sessionTime)
		h.setCookie(w, r, value, int(sessionTime.Seconds()))
	}
	who.SendTo(w)
}

// makeLink answers a program that has a key with the code of a link to sign in, once.
func (h *Handler) makeLink(w http.ResponseWriter, r *http.Request) {
	key := credential(r)
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, http.StatusMethodNotAllowed, "invalid_request_error", "use POST")
		return
	case len(r.Header.Values("Origin")) > 0:
		refuse(w, http.StatusForbidden, "permission_error", "web pages get no links")
		return
	case key == "" || len(key) > maxKey:
		refuse(w, http.StatusUnauthorized, "authentication_error", "one key is required: send it as x-api-key, or as Authorization: Bearer")
		return
	}
	who := h.whoAmI(r, key)
	if who.Status != http.StatusOK {
		who.SendTo(w)
		return
	}
	code, end := h.sessions.seal(key, forLink, linkTime)
	answer(w, http.StatusOK, wire.ConsoleLink{Type: "console_link", Path: Path + "#code=" + code, ExpiresAt: end})
}

// credential returns the key that a program sends, or "" if it sends none, or several.
func credential(r *http.Request) string {
	keys, tokens := r.Header.Values("X-Api-Key"), r.Header.Values("Authorization")
	if len(keys)+len(tokens) != 1 {
		return ""
	}
	if len(keys) == 1 {
		return keys[0]
	}
	return httpmessage.BearerToken(r)
}

// whoAmI asks the API whose key it is. So a key is checked as for any request, and a wrong
// one counts.
func (h *Handler) whoAmI(r *http.Request, key string) *httpmessage.Recorder {
	inner := withKey(r, key)
	inner.Method, inner.Body, inner.ContentLength, inner.TransferEncoding = http.MethodGet, http.NoBody, 0, nil
	inner.URL.Path, inner.URL.RawPath, inner.URL.RawQuery = "/v1/whoami", "", ""
	inner.RequestURI = inner.URL.RequestURI()
	inner.Header.Del("Content-Type")
	answer := httpmessage.NewRecorder()
	h.api.ServeHTTP(answer, inner)
	return answer
}
