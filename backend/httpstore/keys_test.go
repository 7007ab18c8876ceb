package httpstore_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/backend/httpstore"
)

// TestKeys manages keys over HTTP, where their secrets never travel.
func TestKeys(t *testing.T) {
	w := newWorld(t)
	b := w.open(httpstore.Options{})
	ctx := t.Context()
	var mu sync.Mutex
	var sent bytes.Buffer // and answered
	w.stand(func(rw http.ResponseWriter, r *http.Request, server http.Handler) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		mu.Lock()
		sent.Write(body)
		mu.Unlock()
		server.ServeHTTP(tee{rw, &mu, &sent}, r)
	})
	newKey := func(role apikey.Role, expires time.Time) (apikey.Key, string) {
		k, secret, err := apikey.New("team", "robot", role, time.Now(), expires)
		if err != nil {
			t.Fatal(err)
		}
		return k, secret
	}
	lets := func(secret string) bool {
		other, err := httpstore.Open(ctx, w.url, &httpstore.Options{Key: secret})
		if err != nil {
			if !errors.Is(err, memento.ErrDenied) {
				t.Error(err)
			}
			return false
		}
		return other.Close() == nil
	}

	given, secret := newKey(apikey.RoleWrite, time.Now().Add(time.Hour))
	made, err := b.CreateKey(ctx, given)
	if err != nil {
		t.Fatal(err)
	}
	if made.ID != given.ID || made.Name != "robot" || made.Role != apikey.RoleWrite || made.Hint != given.Hint || made.Workspace != "team" || !made.ExpiresAt.Equal(given.ExpiresAt) {
		t.Errorf("made %+v of %+v", made, given)
	}
	if !lets(secret) {
		t.Error("the new key does not let in")
	}
	if _, err := b.CreateKey(ctx, given); !errors.Is(err, memento.ErrExist) {
		t.Errorf("made again: %v", err)
	}
	spoilt := given
	spoilt.Role = "root"
	if _, err := b.CreateKey(ctx, spoilt); !errors.Is(err, memento.ErrInvalid) {
		t.Errorf("with another role: %v", err)
	}

	next, secretNext := newKey(apikey.RoleRead, time.Time{})
	rotated, err := b.RotateKey(ctx, given.ID, time.Hour, next)
	if err != nil {
		t.Fatal(err)
	}
	if rotated.ID != next.ID || rotated.Role != apikey.RoleWrite || rotated.Hint != next.Hint || !rotated.ExpiresAt.Equal(given.ExpiresAt) {
		t.Errorf("rotated to %+v", rotated)
	}
	if !lets(secret) || !lets(secretNext) {
		t.Error("in the time of grace one of two keys does not let in")
	}
	if _, err := b.RevokeKey(ctx, given.ID); err != nil || lets(secret) || !lets(secretNext) {
		t.Errorf("revoked: %v", err)
	}
	if _, err := b.RotateKey(ctx, given.ID, 0, given); !errors.Is(err, memento.ErrInvalid) {
		t.Errorf("rotating what has ended: %v", err)
	}
	for _, id := range []memento.KeyID{"apikey_none", "", "../x"} {
		if _, err := b.RevokeKey(ctx, id); !errors.Is(err, memento.ErrNotExist) {
			t.Errorf("revoking %q: %v", id, err)
		}
	}
	states := map[memento.KeyID]bool{}
	for k, err := range b.Keys(ctx) {
		if err != nil || k.Workspace != "team" || k.Hash != (apikey.Hash{}) {
			t.Errorf("%+v, %v", k, err)
		}
		states[k.ID] = k.Active(time.Now())
	}
	if len(states) != 3 || states[given.ID] || !states[next.ID] {
		t.Errorf("keys %v", states)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, s := range []string{secret, secretNext} {
		if bytes.Contains(sent.Bytes(), []byte(s)) {
			t.Error("a secret has travelled")
		}
	}
	w.front.Store(nil)
}

// A tee also keeps what is answered.
type tee struct {
	http.ResponseWriter
	mu   *sync.Mutex
	kept *bytes.Buffer
}

func (w tee) Write(p []byte) (int, error) {
	w.mu.Lock()
	w.kept.Write(p)
	w.mu.Unlock()
	return w.ResponseWriter.Write(p)
}

func (w tee) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// TestReadsAreSentTogether notes reads one by one.
func TestReadsAreSentTogether(t *testing.T) {
	w := newWorld(t)
	w.fill(30)
	b := w.open(httpstore.Options{})
	for e, err := range w.behind.List(t.Context(), w.store, memento.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			b.MarkRead(w.store, e.Memory.ID)
		}
	}
	b.MarkRead("memstore_none", "mem_x")
	w.asked.Store(0)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if n := w.asked.Load(); n != 2 { // for each store one
		t.Errorf("sent in %d requests", n)
	}
	for e, err := range w.behind.List(t.Context(), w.store, memento.ListOptions{}) {
		if err != nil || e.Memory.ReadAt.IsZero() {
			t.Errorf("%s was read at %v, %v", e.Path, e.Memory.ReadAt, err)
		}
	}
}
