package httpstore_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/httpstore"
	"memento/console"
)

// A link signs in to the console of the server once. An answer that leads elsewhere is none,
// and a server without a console is named as the reason.
func TestConsoleLink(t *testing.T) {
	w := newWorld(t)
	b := w.open(httpstore.Options{})
	pages, err := console.New(console.Options{API: w.api})
	if err != nil {
		t.Fatal(err)
	}
	w.stand(func(rw http.ResponseWriter, r *http.Request, _ http.Handler) { pages.ServeHTTP(rw, r) })
	link, ends, err := b.ConsoleLink(t.Context())
	at, code, found := strings.Cut(link, "#code=")
	if err != nil || at != w.url+"/console/" || !found || !ends.After(time.Now()) {
		t.Fatalf("%q until %v, %v", link, ends, err)
	}
	for _, want := range []int{http.StatusOK, http.StatusUnauthorized} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/console/session", strings.NewReader(`{"code":"`+code+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Memento-Console", "1")
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("signing in: %d, want %d", answer.StatusCode, want)
		}
	}

	for _, path := range []string{"", "//evil.example/#code=x", "/console/#code=x\"y", "/elsewhere#code=x"} {
		w.stand(func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
			_, _ = rw.Write([]byte(`{"type":"console_link","path":"` + strings.ReplaceAll(path, `"`, `\"`) + `"}`))
		})
		if link, _, err := b.ConsoleLink(t.Context()); !errors.Is(err, memento.ErrFormat) || link != "" {
			t.Errorf("%s: %q, %v", path, link, err)
		}
	}
	w.stand(func(rw http.ResponseWriter, r *http.Request, server http.Handler) { server.ServeHTTP(rw, r) })
	if _, _, err := b.ConsoleLink(t.Context()); !errors.Is(err, memento.ErrUnsupported) {
		t.Errorf("without a console: %v", err)
	}

	below := newWorld(t)
	url := below.url
	below.stand(func(rw http.ResponseWriter, r *http.Request, server http.Handler) {
		http.StripPrefix("/below", server).ServeHTTP(rw, r)
	})
	other, err := httpstore.Open(t.Context(), url+"/below", &httpstore.Options{Key: below.key})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, _, err := other.ConsoleLink(t.Context()); !errors.Is(err, memento.ErrUnsupported) {
		t.Errorf("below a path: %v", err)
	}
}
