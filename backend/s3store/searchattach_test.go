package s3store

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"memento"
)

// Searches that are the first of a process, at the same time, read the index once.
func TestFirstSearchesShareIndex(t *testing.T) {
	prefix := "index/" + random()
	writer := patient(t, prefix, nil)
	id, _ := indexed(t, writer)
	keepIndex(t, writer, id)
	named, _ := segmentsInBucket(t, writer, id)
	if named == 0 {
		t.Fatal("the index has no segments")
	}
	var reads atomic.Int64
	b := patient(t, prefix, Via(t, func(req *http.Request, send RoundTripper) (*http.Response, error) {
		if req.Method == http.MethodGet && strings.Contains(req.URL.Path, "/words/") {
			reads.Add(1)
			time.Sleep(20 * time.Millisecond) // as far away as a region
		}
		return send(req)
	}))
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if found, err := b.Search(t.Context(), id, memento.SearchOptions{Query: "budget"}); err != nil || len(found) == 0 {
				t.Errorf("%d are found, %v", len(found), err)
			}
		})
	}
	wg.Wait()
	if int(reads.Load()) != named {
		t.Errorf("%d segments are read with %d requests", named, reads.Load())
	}
	searchesRight(t, b, id)
}

// When a state is loaded again while the index is compared with it, the index is compared again
// rather than taken for one that does not match the store.
func TestIndexComparedAgain(t *testing.T) {
	prefix := "index/" + random()
	writer := patient(t, prefix, nil)
	id, _ := indexed(t, writer)
	keepIndex(t, writer, id)
	b := patient(t, prefix, nil)
	if _, err := b.GetStore(t.Context(), "tests", id); err != nil {
		t.Fatal(err)
	}
	s, done, err := b.use(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	found, err := b.indexes.find(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.waitRefresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := s.compareIndex(found)
	s.mu.Lock()
	s.st = nil
	s.mu.Unlock()
	if c.reconcile(t.Context()) {
		t.Fatal("the index matches a state that is not there")
	}
	if err := s.waitRefresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.found = found.emptied()
	if err := b.indexes.attachCompared(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	searchesRight(t, b, id)
	if x := b.indexes.get(id); len(x.stored.Segments) != len(found.version.Segments) || len(x.stored.Segments) == 0 {
		t.Errorf("the index has %d segments, and in the bucket %d", len(x.stored.Segments), len(found.version.Segments))
	}
}
