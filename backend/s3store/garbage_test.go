package s3store

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"memento"
)

// Another server compacts a redaction first, and crashes before it has deleted anything.
// When the redaction returns, its contents are still gone from the bucket.
func TestRedactBesideDying(t *testing.T) {
	for _, size := range []int{10, 20_000} {
		for _, compacted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d bytes, compacted %v", size, compacted), func(t *testing.T) {
				prefix := "garbage/" + random()
				var dying *Backend
				var id memento.StoreID
				var armed, dead atomic.Bool
				b := openHasty(t, prefix, Before(t, &armed, http.MethodPut, "/manifest", func() {
					if _, err := dying.Get(t.Context(), id, memento.ByPath("/hidden-path")); err != nil {
						t.Error(err)
					}
					s, done, err := dying.use(t.Context(), id)
					if err != nil {
						t.Error(err)
						return
					}
					defer done()
					if err := s.compact(t.Context()); err == nil {
						t.Error("the other server did not crash")
					}
				}), time.Minute)
				dying = openHasty(t, prefix, Via(t, func(req *http.Request, send RoundTripper) (*http.Response, error) {
					if dead.Load() {
						return Unsent(req)
					}
					resp, err := send(req)
					if IsOn(req, http.MethodPut, "/manifest") {
						dead.Store(true)
					}
					return resp, err
				}), time.Minute)
				for _, b := range []*Backend{b, dying} {
					b.keepLog, b.compactEvery = time.Hour, 1000
				}
				dying.s3.retryTimeout = 100 * time.Millisecond
				info, err := b.CreateStore(t.Context(), "tests", memento.StoreSpec{Name: "test"})
				if err != nil {
					t.Fatal(err)
				}
				id = info.ID
				write(t, b, id, "/hidden-path", strings.Repeat("secret ", size/7+1))
				if compacted {
					compactNow(t, b, id)
				}
				write(t, b, id, "/hidden-path", "harmless")
				var first memento.Version
				for v, err := range b.ListVersions(t.Context(), id, memento.VersionListOptions{OldestFirst: true, Limit: 1}) {
					if err != nil {
						t.Fatal(err)
					}
					first = v
				}
				armed.Store(true)
				if _, err := b.Redact(t.Context(), id, first.ID, memento.Actor{}); err != nil {
					t.Fatal(err)
				}
				if !dead.Load() {
					t.Error("no other server compacted")
				}
				if n := countObjects(t, b, id, "secret"); n > 0 {
					t.Errorf("it is still in %d objects", n)
				}
				if m, err := b.Get(t.Context(), id, memento.ByPath("/hidden-path")); err != nil || m.Content != "harmless" {
					t.Errorf("%+v, %v", m, err)
				}
			})
		}
	}
}

// Garbage collection does not delete an object that the next manifest is to name.
func TestCollectBesideCompactor(t *testing.T) {
	prefix := "garbage/" + random()
	var other *Backend
	var id memento.StoreID
	var secret memento.VersionID
	var armed atomic.Bool
	compacting := openHasty(t, prefix, Before(t, &armed, http.MethodPut, "/manifest", func() {
		if _, err := other.Redact(t.Context(), id, secret, memento.Actor{}); err != nil { // once more
			t.Error(err)
		}
	}), time.Minute)
	other = openHasty(t, prefix, nil, time.Minute)
	for _, b := range []*Backend{compacting, other} {
		b.keepLog, b.compactEvery = time.Hour, 1000
	}
	info, err := other.CreateStore(t.Context(), "tests", memento.StoreSpec{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	id = info.ID
	done, err := other.Apply(t.Context(), id, memento.Actor{}, []memento.Change{memento.Put{Path: "/a", Content: "secret"}})
	if err != nil {
		t.Fatal(err)
	}
	secret = done.Versions[0].ID
	write(t, other, id, "/a", "harmless")
	if _, err := other.Redact(t.Context(), id, secret, memento.Actor{}); err != nil {
		t.Fatal(err)
	}
	write(t, compacting, id, "/b", "compacted")
	armed.Store(true)
	compactNow(t, compacting, id)
	if armed.Load() {
		t.Fatal("no garbage was collected meanwhile")
	}
	fresh := openHasty(t, prefix, nil, time.Minute)
	if m, err := fresh.Get(t.Context(), id, memento.ByPath("/b")); err != nil || m.Content != "compacted" {
		t.Errorf("%+v, %v", m, err)
	}
	for _, err := range fresh.ListVersions(t.Context(), id, memento.VersionListOptions{Contents: true}) {
		if err != nil {
			t.Error(err)
		}
	}
}

// A state that is being loaded again is not used before it is complete.
func TestPartialState(t *testing.T) {
	var armed atomic.Bool
	held, release := make(chan struct{}), make(chan struct{})
	b := openHasty(t, "garbage/"+random(), Before(t, &armed, http.MethodGet, "/log/00000000000000000003", func() {
		close(held)
		<-release
	}), time.Minute)
	b.keepLog = time.Hour
	info, err := b.CreateStore(t.Context(), "tests", memento.StoreSpec{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	write(t, b, info.ID, "/a", "compacted")
	compactNow(t, b, info.ID)
	write(t, b, info.ID, "/a", "newer")
	s, done, err := b.use(t.Context(), info.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	s.mu.Lock()
	s.st = nil
	s.mu.Unlock()
	armed.Store(true)
	read := make(chan error, 1)
	go func() { read <- s.catchUp(context.WithoutCancel(t.Context())) }()
	<-held
	if c := s.snapshot(); c != nil {
		t.Errorf("compaction starts at record %d, and callers have seen record 3 already", c.n)
	}
	if tr, _, _ := s.plan(nil); tr != nil {
		t.Errorf("record %d is planned", tr.rec.N)
	}
	close(release)
	if err := <-read; err != nil {
		t.Fatal(err)
	}
	if c := s.snapshot(); c == nil || c.n != 3 {
		t.Errorf("%+v", c)
	}
}
