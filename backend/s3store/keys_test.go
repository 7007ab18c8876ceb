package s3store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/backend/s3store"
)

// Of many keys that are added with one ID at once, one is added, in any order of the
// requests, and the others are unknown.
func TestOneOfManyKeys(t *testing.T) {
	for round := range 10 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			dir := t.TempDir()
			open := func() *s3store.Backend {
				return openWith(t, dir, func(_ *s3store.Location, o *s3store.Options) {
					o.Transport = s3store.Via(t, func(req *http.Request, send s3store.RoundTripper) (*http.Response, error) {
						time.Sleep(rand.N(3 * time.Millisecond)) // any order
						return send(req)
					})
				})
			}
			const wanting = 6
			var mu sync.Mutex
			got := map[apikey.Hash]bool{}
			keys := make([]apikey.Key, wanting)
			var wg sync.WaitGroup
			for i := range keys {
				b := open()
				k, _, err := apikey.New(memento.DefaultWorkspace, "first", apikey.RoleAdmin, time.Now(), time.Time{})
				if err != nil {
					t.Fatal(err)
				}
				k.ID = "apikey_one"
				if keys[i] = k; i == wanting-1 { // the same secret as another
					keys[i].Hash = keys[0].Hash
				}
				wg.Go(func() {
					switch err := b.AddKey(t.Context(), keys[i]); {
					case err == nil:
						mu.Lock()
						defer mu.Unlock()
						got[keys[i].Hash] = true
					case !errors.Is(err, memento.ErrExist):
						t.Error(err)
					}
				})
			}
			wg.Wait()
			b := open()
			if len(got) != 1 {
				t.Errorf("%d have it", len(got))
			}
			for _, k := range keys {
				found, err := b.KeyByHash(t.Context(), k.Hash)
				if has := err == nil && found.ID == k.ID; has != got[k.Hash] || err != nil && !errors.Is(err, memento.ErrNotExist) {
					t.Errorf("%x: %+v, %v", k.Hash[:4], found, err)
				}
			}
			n := 0
			for _, err := range b.ListKeys(t.Context(), memento.DefaultWorkspace) {
				if n++; err != nil {
					t.Error(err)
				}
			}
			if n != 1 {
				t.Errorf("%d keys are listed", n)
			}
		})
	}
}
