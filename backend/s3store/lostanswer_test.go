package s3store

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"memento"
)

// loseAnswer passes requests on. When it is armed, the next PUT of an object whose key has a
// suffix is carried out, then meanwhile runs, and then the connection breaks.
func loseAnswer(t *testing.T, suffix string, armed *atomic.Bool, meanwhile func()) http.RoundTripper {
	return Via(t, func(req *http.Request, send RoundTripper) (*http.Response, error) {
		lost := IsOn(req, http.MethodPut, suffix) && armed.CompareAndSwap(true, false)
		resp, err := send(req)
		if lost && err == nil {
			resp.Body.Close()
			meanwhile()
			return nil, errors.New("connection reset")
		}
		return resp, err
	})
}

// A compaction whose manifest was carried out without an answer, and replaced since by that of
// another process, leaves the objects that both name.
func TestManifestAnswerLost(t *testing.T) {
	prefix := "tests/" + random()
	other := patient(t, prefix, nil)
	var id memento.StoreID
	var armed atomic.Bool
	b := patient(t, prefix, loseAnswer(t, "/manifest", &armed, func() {
		write(t, other, id, "/b", "second")
		compactNow(t, other, id)
	}))
	info, err := b.CreateStore(t.Context(), "tests", memento.StoreSpec{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	id = info.ID
	write(t, b, id, "/a", "first")
	armed.Store(true)
	s, done, err := b.use(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if err := s.compact(t.Context()); err != nil {
		t.Error(err)
	}
	if armed.Load() {
		t.Fatal("no manifest was written")
	}
	fresh := patient(t, prefix, nil)
	for path, want := range map[memento.Path]string{"/a": "first", "/b": "second"} {
		if m, err := fresh.Get(t.Context(), id, memento.ByPath(path)); err != nil || m.Content != want {
			t.Errorf("%s is %q, %v", path, m.Content, err)
		}
	}
}

// The same of the descriptor of a search index.
func TestIndexAnswerLost(t *testing.T) {
	prefix := "tests/" + random()
	other := patient(t, prefix, nil)
	other.index.Close()
	var id memento.StoreID
	var armed atomic.Bool
	b := patient(t, prefix, loseAnswer(t, "/index", &armed, func() {
		var changes []memento.Change
		for i := range 1100 {
			changes = append(changes, memento.Put{Path: memento.Path(fmt.Sprintf("/more%d", i)), Content: "more"})
		}
		if _, err := other.Apply(t.Context(), id, memento.Actor{}, changes); err != nil {
			t.Error(err)
		}
		keepIndex(t, other, id)
	}))
	b.index.Close()
	id = unindexed(t, b)
	armed.Store(true)
	b.index.Keep(t.Context(), id) // which another process was faster than, as far as it knows
	if armed.Load() {
		t.Fatal("no descriptor was written")
	}
	d, err := other.getIndex(t.Context(), id)
	if err != nil || len(d.Segments) == 0 {
		t.Fatalf("the index has %d segments, %v", len(d.Segments), err)
	}
	for _, s := range d.Segments {
		if _, _, err := other.s3.get(t.Context(), s.Key); err != nil {
			t.Errorf("the segment %s: %v", s.Key, err)
		}
	}
}
