package httpstore_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/backend/httpstore"
	"memento/backend/memstore"
	"memento/backend/storetest"
	"memento/httpapi"
)

// A world is a server on a backend in memory, and what stands before it.
type world struct {
	testing.TB
	behind *memstore.Backend
	api    *httpapi.API
	url    string
	front  atomic.Pointer[front]
	asked  atomic.Int64 // requests that came to the front
	key    string       // an admin's
	store  memento.StoreID
}

// A front may answer a request instead of the server.
type front func(w http.ResponseWriter, r *http.Request, server http.Handler)

var ann = memento.Actor{Kind: memento.ActorUser, ID: "ann"}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{TB: t, behind: memstore.New(nil)}
	api, err := httpapi.New(w.behind, httpapi.Options{Auth: httpapi.NewKeyAuth(w.behind, nil), Detector: planted{}})
	if err != nil {
		t.Fatal(err)
	}
	w.api = api
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.asked.Add(1)
		if f := w.front.Load(); f != nil {
			(*f)(rw, r, api)
			return
		}
		api.ServeHTTP(rw, r)
	}))
	t.Cleanup(func() {
		api.Close()
		s.Close()
		w.behind.Close()
	})
	w.url = s.URL
	w.key = w.newKey(apikey.RoleAdmin)
	info, err := w.behind.CreateStore(t.Context(), "team", memento.StoreSpec{Name: "notes"})
	if err != nil {
		t.Fatal(err)
	}
	w.store = info.ID
	return w
}

// newKey returns the secret of a new key.
func (w *world) newKey(role apikey.Role) string {
	w.Helper()
	_, secret := storetest.NewKey(w, w.behind, "team", role, time.Now())
	return secret
}

// open returns a client with the admin's key.
func (w *world) open(opts httpstore.Options) *httpstore.Backend {
	w.Helper()
	if opts.Key == "" {
		opts.Key = w.key
	}
	b, err := httpstore.Open(w.Context(), w.url, &opts)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		if err := b.Close(); err != nil {
			w.Errorf("close: %v", err)
		}
	})
	return b
}

// stand puts something before the server, and counts requests from zero.
func (w *world) stand(f front) {
	w.front.Store(&f)
	w.asked.Store(0)
}

// hides checks that an error tells nothing of a key or an address.
func hides(t testing.TB, err error, secrets ...string) {
	t.Helper()
	if err == nil {
		return
	}
	for _, s := range append(secrets, "127.0.0.1") {
		if s != "" && strings.Contains(err.Error(), s) {
			t.Errorf("the error %q tells of %q", err, s)
		}
	}
}

// quiet drops what a server says of connections that tests break.
var quiet = log.New(io.Discard, "", 0)

// planted is a detector that finds "sk-test-" and eight digits.
type planted struct{}

func (planted) Detect(text string, _ bool) (found []memento.Finding) {
	for _, m := range regexp.MustCompile(`sk-test-\d{8}`).FindAllStringIndex(text, -1) {
		found = append(found, memento.Finding{Kind: "test-key", Start: m[0], End: m[1]})
	}
	return found
}

func put(p memento.Path, text string) []memento.Change {
	return []memento.Change{memento.Put{Path: p, Content: text}}
}
