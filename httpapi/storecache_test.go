package httpapi_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/httpapi"
	"memento/sensitive"
)

// What other servers do to a store is noticed: it is deleted, and another workspace has
// a copy under its ID, which the first must not see for longer than some seconds.
func TestStoreOfAnotherServer(t *testing.T) {
	s := newSite(t, nil)
	store := s.admin.newStore(t, "notes")
	s.admin.put(t, store, "/a.md", "mine")
	ctx, id := t.Context(), memento.StoreID(strings.TrimPrefix(store, "/v1/memory_stores/"))
	if err := s.backend.DeleteStore(ctx, memento.DefaultWorkspace, id); err != nil {
		t.Fatal(err)
	}
	if r := s.admin.do(t, "GET", store+"/memories", nil); r.status != 404 {
		t.Errorf("a store that is deleted: %d", r.status)
	}
	settings := memento.DefaultSettings()
	settings.Sensitive.Mode = memento.Off
	if _, err := s.backend.CreateStore(ctx, "others", memento.StoreSpec{Name: "theirs", ID: id, Settings: &settings}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.backend.Apply(ctx, id, memento.Actor{}, []memento.Change{memento.Put{Path: "/a.md", Content: "theirs"}}); err != nil {
		t.Fatal(err)
	}
	s.clock.add(5 * time.Second)
	for range 2 {
		if r := s.admin.do(t, "GET", store+"/memories", nil); r.status != 404 {
			t.Errorf("a store of another workspace: %d", r.status)
		}
	}
}

// forgetful is a backend that cannot be asked for descriptions at times.
type forgetful struct {
	memento.Backend
	down atomic.Bool
}

func (f *forgetful) GetStore(ctx context.Context, ws memento.Workspace, id memento.StoreID) (memento.StoreInfo, error) {
	if f.down.Load() {
		return memento.StoreInfo{}, memento.ErrUnavailable
	}
	return f.Backend.GetStore(ctx, ws, id)
}

// That a store could not be looked up does not count for having looked it up.
func TestStoreThatCannotBeLookedUp(t *testing.T) {
	s := newSite(t, nil)
	store := s.admin.newStore(t, "notes")
	b := &forgetful{Backend: s.backend}
	api, err := httpapi.New(b, httpapi.Options{Auth: httpapi.NewKeyAuth(s.backend, s.clock.time), Detector: sensitive.Default(), Now: s.clock.time})
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	ask := func() int {
		r := httptest.NewRequestWithContext(t.Context(), "GET", store+"/memories", nil)
		r.Header.Set("x-api-key", s.admin.key)
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		return w.Code
	}
	if status := ask(); status != 200 {
		t.Fatalf("status %d", status)
	}
	s.clock.add(5 * time.Second)
	b.down.Store(true)
	for range 2 {
		if status := ask(); status != 503 {
			t.Errorf("while it cannot be looked up: %d", status)
		}
	}
	b.down.Store(false)
	if status := ask(); status != 200 {
		t.Errorf("afterwards: %d", status)
	}
}

// An admin makes a store with the ID of another, of which it is to be a copy; others
// may not.
func TestCopyOfStore(t *testing.T) {
	s := newSite(t, nil)
	const id = "memstore_01abc"
	body := object{"name": "copy", "id": id, "created_at": "2024-05-06T07:08:09Z"}
	if r := s.as(memento.DefaultWorkspace, apikey.RoleWrite).do(t, "POST", "/v1/memory_stores", body); r.status != 403 {
		t.Errorf("by a writer: %d", r.status)
	}
	made := s.admin.post(t, "/v1/memory_stores", body)
	same(t, "id", made["id"], id)
	same(t, "created_at", made["created_at"], "2024-05-06T07:08:09Z")
	for _, who := range []*caller{s.admin, s.as("others", apikey.RoleAdmin)} {
		if r := who.do(t, "POST", "/v1/memory_stores", object{"name": "again", "id": id}); r.status != 409 {
			t.Errorf("an ID that is taken: %d", r.status)
		}
	}
	if r := s.admin.do(t, "POST", "/v1/memory_stores", object{"name": "bad", "id": "../x"}); r.status != 400 {
		t.Errorf("no ID: %d", r.status)
	}
	if r := s.admin.do(t, "POST", "/v1/memory_stores/by-name", object{"name": "new", "id": id}); r.status != 400 {
		t.Errorf("by name: %d", r.status)
	}
}
