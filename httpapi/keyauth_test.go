package httpapi_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/backend/memstore"
	"memento/backend/storetest"
	"memento/httpapi"
)

// A watchedKeeper tells which hashes are looked up, and can hold the answer back.
type watchedKeeper struct {
	apikey.Keeper

	mu     sync.Mutex
	asked  []apikey.Hash
	answer chan struct{} // if not nil, answers wait for something in it
	wait   chan struct{} // has something once an answer waits
}

func (k *watchedKeeper) KeyByHash(ctx context.Context, hash apikey.Hash) (apikey.Key, error) {
	key, err := k.Keeper.KeyByHash(ctx, hash)
	k.mu.Lock()
	k.asked = append(k.asked, hash)
	answer, wait := k.answer, k.wait
	k.mu.Unlock()
	if answer != nil {
		wait <- struct{}{}
		select {
		case <-answer:
		case <-ctx.Done():
			return apikey.Key{}, ctx.Err()
		}
	}
	return key, err
}

// hold has answers wait from now on.
func (k *watchedKeeper) hold() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.answer, k.wait = make(chan struct{}), make(chan struct{}, 100)
}

// release lets those go that wait, and all others.
func (k *watchedKeeper) release() {
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.answer)
	k.answer, k.wait = nil, nil
}

func (k *watchedKeeper) lookups() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.asked)
}

// keyed returns an authenticator over a keeper with one key.
func keyed(t *testing.T, now func() time.Time) (*httpapi.KeyAuth, *watchedKeeper, apikey.Key, string) {
	t.Helper()
	keeper := &watchedKeeper{Keeper: memstore.New(nil)}
	k, secret := storetest.NewKey(t, keeper, "acme", apikey.RoleRead, now())
	return httpapi.NewKeyAuth(keeper, now), keeper, k, secret
}

// A secret is only ever looked for by its hash, whole, and once: so whatever the
// backend compares, it takes no longer for a guess that begins right. Two secrets
// that differ by a character have hashes with nothing in common.
func TestLookupByHash(t *testing.T) {
	auth, keeper, _, secret := keyed(t, time.Now)
	var near []string
	for i := len(apikey.SecretPrefix); i < len(secret); i++ {
		other := byte('A')
		if secret[i] == other {
			other = 'B'
		}
		near = append(near, secret[:i]+string(other)+secret[i+1:], secret[:i]+strings.Repeat("A", len(secret)-i-1)+"_")
	}
	right := apikey.HashSecret(secret)
	for _, guess := range near {
		before := keeper.lookups()
		if _, err := auth.Authenticate(t.Context(), guess); !errors.Is(err, httpapi.ErrUnauthenticated) {
			t.Fatalf("a wrong key: %v", err)
		}
		if got := keeper.lookups() - before; got != 1 {
			t.Fatalf("%d lookups for a wrong key; want 1", got)
		}
		asked := keeper.asked[len(keeper.asked)-1]
		if asked != apikey.HashSecret(guess) {
			t.Fatal("looked up by something else than the hash of the whole secret")
		}
		different := 0
		for i := range asked {
			different += bits.OnesCount8(asked[i] ^ right[i])
		}
		if different < 80 || different > 176 { // of 256; by chance less often than once in a billion
			t.Errorf("a hash differs in %d bits from that of a secret like it", different)
		}
	}
}

// It takes as long to refuse a guess that is right except its last character as one
// that is wrong throughout. TestLookupByHash says why; this would notice if something
// much slower came before the hash, such as a comparison of all keys.
func TestTimeOfGuesses(t *testing.T) {
	auth, keeper, _, secret := keyed(t, time.Now)
	for range 200 {
		k, _, err := apikey.New("acme", "another", apikey.RoleRead, time.Now(), time.Time{})
		if err == nil {
			err = keeper.AddKey(t.Context(), k)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	last := "A"
	if strings.HasSuffix(secret, last) {
		last = "B"
	}
	guesses := []string{secret[:len(secret)-1] + last, apikey.SecretPrefix + strings.Repeat("-", len(secret)-len(apikey.SecretPrefix))}
	took := [2][]time.Duration{}
	for round := range 200 {
		for i := range guesses {
			which := (i + round) % 2 // so that neither is always first
			start := time.Now()
			for range 10 {
				if _, err := auth.Authenticate(t.Context(), guesses[which]); err == nil {
					t.Fatal("a wrong key was let in")
				}
			}
			took[which] = append(took[which], time.Since(start))
		}
	}
	slices.Sort(took[0])
	slices.Sort(took[1])
	near, far := took[0][100], took[1][100]
	if ratio := float64(near) / float64(far); ratio < 0.5 || ratio > 2 {
		t.Errorf("10 guesses that are nearly right take %v, others %v", near, far)
	}
}

// A key that is revoked while it is looked up is not remembered as it was.
func TestRevokedWhileLookedUp(t *testing.T) {
	c := &clock{now: time.Now()}
	auth, keeper, k, secret := keyed(t, c.time)
	if _, err := auth.Authenticate(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	c.add(httpapi.KeyFresh) // so that it is looked up, but not noted that it was used
	keeper.hold()
	wait, done := keeper.wait, make(chan error)
	go func() {
		_, err := auth.Authenticate(t.Context(), secret)
		done <- err
	}()
	<-wait // it has been read, and is active
	if _, err := keeper.UpdateKey(t.Context(), k.Workspace, k.ID, apikey.Update{RevokedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	auth.Invalidate(k.ID)
	keeper.release()
	<-done // it was asked before, and may be let in
	if _, err := auth.Authenticate(t.Context(), secret); !errors.Is(err, httpapi.ErrUnauthenticated) {
		t.Errorf("after it was revoked: %v", err)
	}
}

// What is known of a key is believed for seconds: then what another process has done
// to it counts.
func TestRevokedByAnotherProcess(t *testing.T) {
	c := &clock{now: time.Now()}
	auth, keeper, k, secret := keyed(t, c.time)
	if _, err := auth.Authenticate(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if _, err := keeper.UpdateKey(t.Context(), k.Workspace, k.ID, apikey.Update{RevokedAt: c.time()}); err != nil {
		t.Fatal(err)
	}
	before := keeper.lookups()
	for range 100 {
		_, _ = auth.Authenticate(t.Context(), secret)
	}
	if got := keeper.lookups() - before; got != 0 {
		t.Errorf("a key that is known was looked up %d times", got)
	}
	if httpapi.KeyFresh > 10*time.Second {
		t.Errorf("keys are believed for %v", httpapi.KeyFresh)
	}
	c.add(httpapi.KeyFresh)
	if _, err := auth.Authenticate(t.Context(), secret); !errors.Is(err, httpapi.ErrUnauthenticated) {
		t.Errorf("seconds after it was revoked: %v", err)
	}
}

// A flood of wrong keys is not let loose on the backend, and those who have been
// here before do not wait for it.
func TestFloodOfKeys(t *testing.T) {
	auth, keeper, _, secret := keyed(t, time.Now)
	if _, err := auth.Authenticate(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	keeper.hold()
	ctx, cancel := context.WithCancel(t.Context())
	var flood sync.WaitGroup
	for range 200 {
		flood.Go(func() {
			if _, err := auth.Authenticate(ctx, apikey.NewSecret()); err == nil {
				t.Error("a wrong key was let in")
			}
		})
	}
	for range 4 {
		<-keeper.wait
	}
	if _, err := auth.Authenticate(t.Context(), secret); err != nil {
		t.Errorf("after a flood: %v", err)
	}
	select {
	case <-keeper.wait:
		t.Error("more than 4 keys are looked up at once")
	case <-time.After(20 * time.Millisecond):
	}
	cancel()
	flood.Wait()
	keeper.release()
	if _, err := auth.Authenticate(t.Context(), apikey.NewSecret()); !errors.Is(err, httpapi.ErrUnauthenticated) {
		t.Errorf("after the flood: %v", err)
	}
}

// When a key was used last is noted every few minutes, not with every request.
func TestUseIsNoted(t *testing.T) {
	c := &clock{now: time.Now().UTC().Truncate(time.Microsecond)}
	auth, keeper, k, secret := keyed(t, c.time)
	used := func() time.Time {
		t.Helper()
		if _, err := auth.Authenticate(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		now, err := keeper.Keeper.KeyByHash(t.Context(), k.Hash)
		if err != nil {
			t.Fatal(err)
		}
		return now.UsedAt
	}
	first := used()
	if !first.Equal(c.time()) {
		t.Errorf("used at %v; want %v", first, c.time())
	}
	c.add(httpapi.UsedEvery - time.Second)
	if got := used(); !got.Equal(first) {
		t.Errorf("used at %v; want %v still", got, first)
	}
	c.add(time.Second + httpapi.KeyFresh)
	if got := used(); !got.Equal(c.time()) {
		t.Errorf("used at %v; want %v", got, c.time())
	}
}

// Several authenticators are asked in turn, until one knows the credential or fails.
func TestFirstOf(t *testing.T) {
	one, _, _, secret := keyed(t, time.Now)
	two, keeper, _, other := keyed(t, time.Now)
	both := httpapi.FirstOf(one, two)
	for _, key := range []string{secret, other} {
		if who, err := both.Authenticate(t.Context(), key); err != nil || who.Workspace != "acme" {
			t.Errorf("%+v, %v", who, err)
		}
	}
	if _, err := both.Authenticate(t.Context(), apikey.NewSecret()); !errors.Is(err, httpapi.ErrUnauthenticated) {
		t.Errorf("a wrong key: %v", err)
	}
	keeper.hold()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := both.Authenticate(ctx, apikey.NewSecret()); err == nil || errors.Is(err, httpapi.ErrUnauthenticated) {
		t.Errorf("a keeper that fails: %v; want its fault", err)
	}
}

// A stream ends with its key, whether that is revoked or comes to its end.
func TestStreamsEndWithTheirKey(t *testing.T) {
	s := newSite(t, func(o *httpapi.Options) { o.Poll = 10 * time.Millisecond })
	w := newWorld(s, "acme")
	for what, end := range map[string]func(*caller){
		"revoked": func(c *caller) { w.by[apikey.RoleAdmin].post(t, "/v1/admin/keys/"+c.keyID+"/revoke", nil) },
		"expired or is revoked": func(c *caller) {
			until := s.clock.time().Add(time.Minute)
			if _, err := s.backend.UpdateKey(t.Context(), "acme", memento.KeyID(c.keyID), apikey.Update{ExpiresAt: until}); err != nil {
				t.Fatal(err)
			}
			s.clock.add(time.Hour)
		},
	} {
		reader := s.as("acme", apikey.RoleRead)
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		defer cancel()
		streams := map[string]*bufio.Scanner{}
		for _, path := range []string{"/" + w.store + "/changes", "/changes"} { // of a store, and of the workspace
			request, err := http.NewRequestWithContext(ctx, "GET", s.url+stores+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("x-api-key", reader.key)
			response, err := http.DefaultTransport.RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			lines := bufio.NewScanner(response.Body)
			if !lines.Scan() || lines.Text() != ": connected" {
				t.Fatalf("%s: %s: %d %q", what, path, response.StatusCode, lines.Text())
			}
			streams[path] = lines
		}
		end(reader)
		w.by[apikey.RoleWrite].put(t, stores+"/"+w.store, fmt.Sprintf("/after it %s.md", what), "for others")
		for path, lines := range streams {
			for lines.Scan() {
				if strings.Contains(lines.Text(), "memory_version") {
					t.Errorf("%s: the stream %s goes on: %s", what, path, lines.Text())
					break
				}
			}
			if err := lines.Err(); err != nil {
				t.Errorf("%s: %s: %v", what, path, err)
			}
		}
	}
}
