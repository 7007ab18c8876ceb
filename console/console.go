// Package console is the web console: pages on which people see what agents remember,
// correct it and undo it. [New] makes the handler.
//
// The pages are the files in dist, built from the folder web by one command, which
// web/README.md names; building memento itself needs no Node.js. They use the public HTTP
// API and nothing else.
//
// Beside the files, the handler has sessions. A browser signs in with a key, or with the
// code of a link that "memento console" opens, and gets a cookie that scripts cannot read.
// It is sent below /console/ only, where the API is served again under /console/api: so
// no request to the API itself is ever authenticated by a cookie. See docs/console.md.
package console

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"memento/internal/httpmessage"
	"memento/internal/wire"
)

// Path is where the console is served. All requests whose path begins with it, and those
// to the same path without the slash, are for [Handler].
const Path = "/console/"

const (
	apiPath     = Path + "api"
	sessionPath = Path + "session"

	// The header that the pages send with every request. A page of another origin cannot
	// send it, unless the browser asks the server first.
	pageHeader = "Memento-Console"
)

// Options are the options of [New].
type Options struct {
	// API is the HTTP API. It is required.
	API http.Handler
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Notes are where it is kept which sessions were ended, for all servers that share them;
	// nil means in memory, for this process.
	Notes Notes
	// Provider signs people in with OpenID Connect; nil means with keys and links only.
	Provider Provider
}

// Handler serves the console.
type Handler struct {
	api      http.Handler
	assets   assets
	sessions sessions
	provider Provider // nil if there is none
}

// New returns the handler of the console.
func New(opts Options) (*Handler, error) {
	h := &Handler{api: opts.API, provider: opts.Provider}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	h.sessions.now = opts.Now
	h.sessions.ended.notes = opts.Notes
	h.sessions.setSecret(randomSecret())
	var err error
	h.assets, err = loadAssets(dist)
	return h, err
}

// KeepSessions makes sessions outlive the process: they are sealed with a key derived from
// secret, which only this server, or all servers behind one address, know. Without it,
// sessions end with the process. It is called before the first request.
func (h *Handler) KeepSessions(secret []byte) { h.sessions.setSecret(derive(secret)) }

// Close ends what the handler does in the background. It is called before the storage is closed.
func (h *Handler) Close() { h.sessions.ended.close() }

// Serves reports whether a request is for the console.
func Serves(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, Path) || r.URL.Path+"/" == Path
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case path == wire.ConsoleLinks:
		h.makeLink(w, r)
	case path == sessionPath:
		h.session(w, r)
	case strings.HasPrefix(path, providerPath) && h.provider != nil:
		h.provide(w, r)
	case strings.HasPrefix(path, apiPath+"/"):
		h.callAPI(w, r)
	case path+"/" == Path:
		http.Redirect(w, r, Path, http.StatusPermanentRedirect)
	default:
		h.assets.ServeHTTP(w, r)
	}
}

// callAPI passes a request on to the API, with the key of its session.
func (h *Handler) callAPI(w http.ResponseWriter, r *http.Request) {
	if !fromPage(r) {
		refuse(w, http.StatusForbidden, "permission_error", "requests with a session come from the console's own pages; other programs send a key to the API")
		return
	}
	s, ok, err := h.sessions.of(r)
	if err != nil {
		unavailable(w)
		return
	}
	if !ok {
		refuse(w, http.StatusUnauthorized, "authentication_error", "not signed in")
		return
	}
	ctx, cancel := h.sessions.within(r.Context(), s)
	defer cancel()
	inner := withKey(r.WithContext(ctx), s.Key)
	inner.URL.Path = strings.TrimPrefix(r.URL.Path, apiPath)
	inner.URL.RawPath = strings.TrimPrefix(r.URL.RawPath, apiPath)
	inner.RequestURI = inner.URL.RequestURI()
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // the API limits how long a body takes
	h.api.ServeHTTP(w, inner)
}

// withKey returns a copy of a request with a key in place of its credentials.
func withKey(r *http.Request, key string) *http.Request {
	inner := r.Clone(r.Context())
	for _, name := range []string{"Cookie", "Authorization", "X-Api-Key", "Memento-Key", pageHeader} {
		inner.Header.Del(name)
	}
	inner.Header.Set("X-Api-Key", key)
	return inner
}

// fromPage reports whether a request was sent by one of the console's own pages, as far as
// browsers tell: by a header that pages of other origins cannot send, and by where browsers
// say that the request comes from.
func fromPage(r *http.Request) bool {
	if r.Header.Get(pageHeader) == "" {
		return false
	}
	if site := r.Header.Values("Sec-Fetch-Site"); len(site) > 1 || len(site) == 1 && site[0] != "same-origin" {
		return false
	}
	switch origins := r.Header.Values("Origin"); len(origins) {
	case 0:
		return true
	case 1:
		return httpmessage.SameOrigin(origins[0], r)
	}
	return false
}

// refuse answers with an error as the API's are.
func refuse(w http.ResponseWriter, status int, kind, message string) {
	answer(w, status, map[string]any{"type": "error", "error": map[string]string{"type": kind, "message": message}})
}

// unavailable answers as the API does when it cannot reach the storage.
func unavailable(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	refuse(w, http.StatusServiceUnavailable, "overloaded_error", "the server's storage is unavailable; nothing was changed")
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that is gone has no use for the error
}
