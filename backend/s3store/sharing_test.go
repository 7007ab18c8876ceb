package s3store_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"memento"
	"memento/backend/s3store"
)

// Callers of one process that wait for the same store share requests.
func TestSharing(t *testing.T) {
	const callers = 40
	b := openWith(t, t.TempDir(), func(_ *s3store.Location, o *s3store.Options) {
		o.Transport = s3store.Via(t, func(req *http.Request, send s3store.RoundTripper) (*http.Response, error) {
			time.Sleep(30 * time.Millisecond) // as far away as a region
			return send(req)
		})
	})
	info := newStore(t, b)
	together := func(f func(i int) error) s3store.Stats {
		before := b.Stats()
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				if err := f(i); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		after := b.Stats()
		return s3store.Stats{Puts: after.Puts - before.Puts, GetsNotFound: after.GetsNotFound - before.GetsNotFound}
	}
	path := func(i int) memento.Path { return memento.Path(fmt.Sprintf("/%d", i)) }
	if got := together(func(i int) error {
		_, err := b.Apply(t.Context(), info.ID, tester, []memento.Change{memento.Put{Path: path(i), Content: "x"}})
		return err
	}); got.Puts > callers/4 {
		t.Errorf("%d writers made %d requests", callers, got.Puts)
	}
	if got := together(func(i int) error {
		_, err := b.Get(t.Context(), info.ID, memento.ByPath(path(i)))
		return err
	}); got.GetsNotFound > callers/4 {
		t.Errorf("%d readers made %d requests", callers, got.GetsNotFound)
	}
	versions := 0
	for _, err := range b.ListVersions(t.Context(), info.ID, memento.VersionListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		versions++
	}
	if versions != callers {
		t.Errorf("%d versions, want %d", versions, callers)
	}
}

// States that are not used are evicted, and loaded again from the bucket.
func TestStatesAreBounded(t *testing.T) {
	const stores = 50
	b := openWith(t, t.TempDir(), func(_ *s3store.Location, o *s3store.Options) { o.StateBytes, o.CacheBytes = 20_000, 1 })
	var ids []memento.StoreID
	for i := range stores {
		info := newStore(t, b)
		put(t, b, info.ID, "/a", fmt.Sprint(i))
		ids = append(ids, info.ID)
	}
	if held := b.Stats().StateBytes; held > 20_000 {
		t.Errorf("%d bytes of states are held", held)
	}
	for i, id := range ids {
		if m, err := b.Get(t.Context(), id, memento.ByPath("/a")); err != nil || m.Content != fmt.Sprint(i) {
			t.Errorf("%+v, %v", m, err)
		}
	}
}
