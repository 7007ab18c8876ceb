package s3store_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/backend/s3store"
)

// openHeld opens a backend whose PUTs of read times first call hold.
func openHeld(t *testing.T, dir string, hold func()) *s3store.Backend {
	t.Helper()
	return openWith(t, dir, func(_ *s3store.Location, o *s3store.Options) {
		o.Transport = s3store.Via(t, func(req *http.Request, send s3store.RoundTripper) (*http.Response, error) {
			if s3store.IsOn(req, http.MethodPut, "/reads") {
				hold()
			}
			return send(req)
		})
	})
}

func readAt(t *testing.T, b *s3store.Backend, id memento.StoreID) (memento.MemoryID, bool) {
	t.Helper()
	m, err := b.Get(t.Context(), id, memento.ByPath("/a"))
	if err != nil {
		t.Fatal(err)
	}
	return m.ID, !m.ReadAt.IsZero()
}

// Read times that are being written are still shown, and SyncReads returns only when they
// are written, also if another call writes them.
func TestSyncReadsDuringWrite(t *testing.T) {
	dir := t.TempDir()
	var armed atomic.Bool
	held, release := make(chan struct{}), make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	defer free()
	b := openHeld(t, dir, func() {
		if armed.CompareAndSwap(true, false) {
			close(held)
			<-release
		}
	})
	id := newStore(t, b).ID
	put(t, b, id, "/a", "x")
	memory, _ := readAt(t, b, id)
	b.MarkRead(id, memory)
	armed.Store(true)
	first := make(chan error, 1)
	go func() { first <- b.SyncReads(context.WithoutCancel(t.Context())) }()
	<-held
	if _, read := readAt(t, b, id); !read {
		t.Error("the read time is not shown while it is being written")
	}
	other := openWith(t, dir, nil)
	second := make(chan error, 1)
	go func() {
		err := b.SyncReads(context.WithoutCancel(t.Context()))
		if _, read := readAt(t, other, id); !read && err == nil {
			err = fmt.Errorf("SyncReads has returned before the read time was written")
		}
		second <- err
	}()
	select {
	case err := <-second:
		t.Fatalf("SyncReads did not wait for the write in progress: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	free()
	for _, done := range []chan error{first, second} {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// Read times that SyncReads could not write before its context ended are written by the
// next call.
func TestSyncReadsCancelled(t *testing.T) {
	const stores = 40 // more than are written at a time
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := openHeld(t, dir, cancel)
	var ids []memento.StoreID
	for range stores {
		id := newStore(t, b).ID
		put(t, b, id, "/a", "x")
		memory, _ := readAt(t, b, id)
		b.MarkRead(id, memory)
		ids = append(ids, id)
	}
	if err := b.SyncReads(ctx); err == nil {
		t.Error("SyncReads with a context that ends meanwhile returns no error")
	}
	if err := b.SyncReads(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := openWith(t, dir, nil)
	lost := 0
	for _, id := range ids {
		if _, read := readAt(t, other, id); !read {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("the read times of %d stores are lost", lost)
	}
}
