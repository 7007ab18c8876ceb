package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/backend/pgstore"
)

// If a caller gives up, other writers to the same store are not affected.
func TestGivingUp(t *testing.T) {
	b := open(t, serverURL(t, ""), nil)
	store := newStore(t, b)
	var gaveUp atomic.Int64
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for i := range 12 {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.N(8000))*time.Microsecond)
				if err := setIn(ctx, b, store, memento.Path(fmt.Sprintf("/hasty/%d", i)), fmt.Sprint(n)); err != nil {
					gaveUp.Add(1)
				}
				cancel()
			}
		})
	}
	var patient sync.WaitGroup
	for i := range 4 {
		patient.Go(func() {
			for n := range 150 {
				if err := setIn(t.Context(), b, store, memento.Path(fmt.Sprintf("/patient/%d", i)), fmt.Sprint(n)); err != nil {
					t.Errorf("write %d: %v", n, err)
					return
				}
			}
		})
	}
	patient.Wait()
	close(stop)
	wg.Wait()
	if gaveUp.Load() == 0 {
		t.Error("nobody gave up")
	}
}

// A server that takes connections and says nothing is unavailable, and its name
// stays untold.
func TestSilentServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = pgstore.Open(t.Context(), "postgres://someone@"+l.Addr().String()+"/canary?sslmode=disable",
		&pgstore.Options{RetryTimeout: -1, ConnectTimeout: 100 * time.Millisecond})
	if !errors.Is(err, memento.ErrUnavailable) {
		t.Errorf("the error is %v", err)
	}
	for _, s := range []string{"127.0.0.1", "someone", "canary"} {
		if strings.Contains(fmt.Sprint(err), s) {
			t.Errorf("the error tells %q: %v", s, err)
		}
	}
}

// IDs that come from elsewhere may be too long for an index.
func TestLongIDs(t *testing.T) {
	b := open(t, serverURL(t, ""), nil)
	store := newStore(t, b)
	long := make([]byte, 20_000)
	for i := range long {
		long[i] = 'a' + byte(rand.N(26))
	}
	now := time.Now().UTC()
	for name, v := range map[string]memento.Version{
		"version": {ID: memento.VersionID(long), Memory: "mem_1"},
		"memory":  {ID: "ver_1", Memory: memento.MemoryID(long)},
	} {
		v.Operation, v.Path, v.Content, v.SHA256, v.CreatedAt = memento.Created, "/a", "text", memento.HashContent("text"), now
		if err := b.Import(t.Context(), store, []memento.Version{v}); !errors.Is(err, memento.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{ID: memento.StoreID(long), Name: "x"}); !errors.Is(err, memento.ErrInvalid) {
		t.Errorf("store: %v", err)
	}
	if _, err := b.CreateStore(t.Context(), memento.Workspace(long), memento.StoreSpec{Name: "x"}); !errors.Is(err, memento.ErrInvalid) {
		t.Errorf("workspace: %v", err)
	}
	if _, err := b.Search(t.Context(), store, memento.SearchOptions{Query: "text", Limit: 1<<63 - 1}); err != nil {
		t.Errorf("search: %v", err)
	}
	for v, err := range b.ListVersions(t.Context(), store, memento.VersionListOptions{CreatedFrom: time.Date(400_000, 1, 1, 0, 0, 0, 0, time.UTC)}) {
		t.Errorf("from a far future: %v, %v", v, err)
	}
	_ = setIn(t.Context(), b, store, "/b", "text")
	for v, err := range b.ListVersions(t.Context(), store, memento.VersionListOptions{CreatedFrom: time.Date(400_000, 1, 1, 0, 0, 0, 0, time.UTC)}) {
		t.Errorf("from a far future: %v, %v", v, err)
	}
}
