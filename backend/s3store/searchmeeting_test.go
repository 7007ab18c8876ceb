package s3store_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/backend/s3store"
)

// A search for what an actor did has all of it, though other processes change and prune the
// memories while it reads their history.
func TestSearchByDuringPrune(t *testing.T) {
	const memories = 60
	dir := t.TempDir()
	hasty := func(_ *s3store.Location, o *s3store.Options) { o.CompactEvery = 8 }
	b := openWith(t, dir, hasty)
	id := newStore(t, b).ID
	fill := func(text string) {
		for i := range memories {
			put(t, b, id, memento.Path(fmt.Sprintf("/a%d", i)), fmt.Sprint(text, " ", i))
		}
	}
	fill("apple")
	var armed atomic.Bool
	searching := openWith(t, dir, func(at *s3store.Location, o *s3store.Options) {
		hasty(at, o)
		o.Transport = s3store.Before(t, &armed, http.MethodGet, "/history/", func() {
			fill("new apple")
			if _, err := b.Prune(t.Context(), id, memento.PruneOptions{Before: time.Now().Add(time.Hour)}); err != nil {
				t.Error(err)
			}
		})
	})
	if _, err := searching.Search(t.Context(), id, memento.SearchOptions{Query: "apple"}); err != nil {
		t.Fatal(err)
	}
	armed.Store(true)
	found, err := searching.Search(t.Context(), id, memento.SearchOptions{Query: "apple by:" + tester.ID, Limit: 2 * memories})
	if err != nil || len(found) != memories {
		t.Errorf("%d of %d: %v", len(found), memories, err)
	}
	if armed.Load() {
		t.Error("the search did not read the history")
	}
}
