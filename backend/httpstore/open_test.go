package httpstore_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"memento"
	"memento/backend/apikey"
	"memento/backend/httpstore"
)

// canary stands for a secret that no error may repeat.
const canary = "sk-memento-hunter2hunter2hunter2hunter2"

func TestOpenRefuses(t *testing.T) {
	w := newWorld(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + listener.Addr().String()
	listener.Close()
	page := func(status int, kind, text string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = quiet
	secure.StartTLS()
	t.Cleanup(secure.Close)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a redirect was followed, with %v", r.Header)
	}))
	t.Cleanup(elsewhere.Close)
	redirecting := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(redirecting.Close)

	for _, tt := range []struct {
		name, url, key string
		want           error
		says           string
	}{
		{"no URL", "", canary, memento.ErrInvalid, "starts with https://"},
		{"no host", "https://", canary, memento.ErrInvalid, "needs a host"},
		{"another scheme", "ftp://127.0.0.1", canary, memento.ErrInvalid, "starts with https://"},
		{"no URL at all", "http://127.0.0.1:x%zz" + canary, canary, memento.ErrInvalid, "has the form https://HOST"},
		{"a user", "https://ann:" + canary + "@127.0.0.1", canary, memento.ErrInvalid, "names no user"},
		{"a query", "https://127.0.0.1?key=" + canary, canary, memento.ErrInvalid, "neither a query"},
		{"a fragment", "https://127.0.0.1#" + canary, canary, memento.ErrInvalid, "neither a query"},
		{"a key of two lines", w.url, canary + "\n" + canary, memento.ErrInvalid, "single line"},
		{"clear text", "http://192.0.2.1", canary, memento.ErrInvalid, "?plaintext=true"},
		{"clear text by name", "http://memory.corp.test", canary, memento.ErrInvalid, "?plaintext=true"},
		{"clear text to a name that begins like this machine's", "http://localhost.corp.test", canary, memento.ErrInvalid, "?plaintext=true"},
		{"no key", w.url, "", memento.ErrDenied, "the server requires a key"},
		{"a wrong key", w.url, canary, memento.ErrDenied, "invalid key"},
		{"nobody", nobody, canary, nil, `the server cannot be reached: connection refused; is "memento serve" running there?`},
		{"no such host", "https://nowhere.invalid", canary, nil, "the server cannot be reached: its host"},
		{"a web page", page(200, "text/html", "<html>"), canary, memento.ErrFormat, `no "memento serve"`},
		{"other JSON", page(200, "application/json", `{"id":"x"}`), canary, memento.ErrFormat, `no "memento serve"`},
		{"not found", page(404, "text/plain", "404 page not found"), canary, memento.ErrFormat, `no "memento serve"`},
		{"a gateway without a server", page(502, "text/html", "bad gateway"), canary, nil, "the server answered 502"},
		{"below the wrong path", w.url + "/elsewhere", w.key, memento.ErrFormat, `no "memento serve"`},
		{"another service", page(404, "application/json", `{"type":"error","error":{"type":"not_found_error","message":"Not found"}}`), canary, memento.ErrFormat, "hosted service"},
		{"a redirect", redirecting.URL, canary, memento.ErrInvalid, "redirects"},
		{"plain text to TLS", strings.Replace(secure.URL, "https", "http", 1), canary, memento.ErrInvalid, "write https://"},
		{"TLS to plain text", strings.Replace(w.url, "http", "https", 1), canary, nil, "does not speak TLS; write http://"},
		{"an unknown authority", secure.URL, canary, nil, "SSL_CERT_FILE"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, err := httpstore.Open(t.Context(), tt.url, &httpstore.Options{Key: tt.key})
			if err == nil {
				b.Close()
				t.Fatal("no error")
			}
			if b != nil {
				t.Error("a Backend came with the error")
			}
			if tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v; want %v, which says %q", err, tt.want, tt.says)
			}
			hides(t, err, canary, tt.key, "192.0.2.1", "corp.test", "nowhere")
		})
	}

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := httpstore.Open(ended, w.url, &httpstore.Options{Key: w.key}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

func TestOpenOverTLS(t *testing.T) {
	w := newWorld(t)
	s := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		r.URL.Path = strings.TrimPrefix(r.URL.Path, "/memory")
		if got := r.Header.Get("User-Agent"); got != "tester/1" {
			t.Errorf("User-Agent %q", got)
		}
		w.api.ServeHTTP(rw, r)
	}))
	t.Cleanup(s.Close)
	b, err := httpstore.Open(t.Context(), s.URL+"/memory/", &httpstore.Options{Key: w.key, HTTPClient: s.Client(), UserAgent: "tester/1"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	who := b.Identity()
	if who.Workspace != "team" || b.Workspace() != "team" || who.Role != apikey.RoleAdmin || who.Actor.Kind != memento.ActorAPIKey || who.Actor.ID != who.ID {
		t.Errorf("Identity: %+v", who)
	}
	if _, err := b.GetStore(t.Context(), "as asked", w.store); err != nil {
		t.Error(err)
	}
}
