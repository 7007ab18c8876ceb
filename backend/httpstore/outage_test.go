package httpstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
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

// outage is a backend whose storage gives out.
type outage struct {
	*memstore.Backend
	err atomic.Pointer[error]
}

func (f *outage) fault() error {
	if err := f.err.Load(); err != nil {
		return &memento.Error{Op: "x", Path: "/canary.md", Err: fmt.Errorf("%w: canary", *err)}
	}
	return nil
}

func (f *outage) Get(ctx context.Context, id memento.StoreID, ref memento.Ref) (memento.Memory, error) {
	if err := f.fault(); err != nil {
		return memento.Memory{}, err
	}
	return f.Backend.Get(ctx, id, ref)
}

func (f *outage) Apply(ctx context.Context, id memento.StoreID, by memento.Actor, changes []memento.Change) (memento.Applied, error) {
	if err := f.fault(); err != nil {
		return memento.Applied{}, err
	}
	return f.Backend.Apply(ctx, id, by, changes)
}

func (f *outage) KeyByHash(ctx context.Context, hash apikey.Hash) (apikey.Key, error) {
	if err := f.fault(); err != nil {
		return apikey.Key{}, err
	}
	return f.Backend.KeyByHash(ctx, hash)
}

// What is wrong with the storage behind a server is answered so that SDKs do the right
// thing, and is the same error for programs in Go.
func TestStorageFaults(t *testing.T) {
	b := &outage{Backend: memstore.New(nil)}
	_, key := storetest.NewKey(t, b, "team", apikey.RoleAdmin, time.Now())
	api, err := httpapi.New(b, httpapi.Options{Auth: httpapi.NewKeyAuth(b, nil), Detector: none{}})
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	server := httptest.NewServer(api)
	defer server.Close()
	info, err := b.CreateStore(t.Context(), "team", memento.StoreSpec{Name: "notes"})
	if err != nil {
		t.Fatal(err)
	}
	client, err := httpstore.Open(t.Context(), server.URL, &httpstore.Options{Key: key, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, tc := range []struct {
		err        error
		status     int
		kind, code string
		retry      string
		retryAfter bool
		message    string
	}{
		{memento.ErrUnavailable, 503, "overloaded_error", "unavailable", "true", true, "is unavailable; nothing was changed"},
		{memento.ErrUncertain, 500, "api_error", "uncertain", "false", false, "read the current state before you repeat it"},
		{memento.ErrDecrypt, 500, "api_error", "decrypt", "false", false, "the encryption key differs"},
	} {
		b.err.Store(&tc.err)
		body := strings.NewReader(`{"path":"/a.md","content":"x"}`)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/memory_stores/"+string(info.ID)+"/memories", body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("x-api-key", key)
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Error struct{ Type, Code, Message string }
		}
		err = json.NewDecoder(res.Body).Decode(&answer)
		res.Body.Close()
		if err != nil || res.StatusCode != tc.status || answer.Error.Type != tc.kind || answer.Error.Code != tc.code ||
			res.Header.Get("x-should-retry") != tc.retry || (res.Header.Get("retry-after") != "") != tc.retryAfter ||
			!strings.Contains(answer.Error.Message, tc.message) || strings.Contains(answer.Error.Message, "canary") {
			t.Errorf("%v: %d %v %+v, %v", tc.err, res.StatusCode, res.Header, answer, err)
		}
		for what, err := range map[string]error{
			"read":  second(client.Get(t.Context(), info.ID, memento.ByPath("/a.md"))),
			"write": second(client.Apply(t.Context(), info.ID, ann, put("/a.md", "x"))),
		} {
			if !errors.Is(err, tc.err) || strings.Contains(err.Error(), "canary:") {
				t.Errorf("%s: %v, want %v", what, err, tc.err)
			}
		}
	}
	// Nobody can be let in, and that is no reason to think that the key is wrong.
	b.err.Store(&memento.ErrUnavailable)
	_, err = httpstore.Open(t.Context(), server.URL, &httpstore.Options{Key: apikey.NewSecret(), Retries: -1})
	if !errors.Is(err, memento.ErrUnavailable) || errors.Is(err, memento.ErrDenied) {
		t.Errorf("opened during an outage: %v", err)
	}
}

// A server that is not there can be asked later.
func TestNoServerIsUnavailable(t *testing.T) {
	_, err := httpstore.Open(t.Context(), "http://127.0.0.1:1", &httpstore.Options{Key: apikey.NewSecret(), Retries: -1})
	if !errors.Is(err, memento.ErrUnavailable) || !strings.Contains(err.Error(), "the server cannot be reached: connection refused") {
		t.Errorf("%v", err)
	}
}
