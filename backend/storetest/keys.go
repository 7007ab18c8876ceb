package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"memento"
	"memento/backend/apikey"
	"memento/test/proctest"
)

// keys tests a backend that keeps API keys.
func keys(t *testing.T, h Harness) {
	if !h.KeyKeeper {
		return // "powers" checks that it is none
	}
	h.run(t, "kept as they are", keysAreKept)
	h.run(t, "known already", keysKnownAlready)
	h.run(t, "refused", keysRefused)
	h.run(t, "listing", keysListed)
	h.run(t, "updates", keysUpdated)
	h.run(t, "for others", keysForOthers)
	h.run(t, "while listed", keysWhileListed)
	h.run(t, "racing to add", racingToAddKeys)
	h.run(t, "racing to update", racingToUpdateKey)
	h.run(t, "closed and cancelled", keysClosedAndCancelled)
}

func (e *env) keeper() apikey.Keeper { return e.b.(apikey.Keeper) }

// keyAt is when the keys of these tests are created, at the precision of stored times.
var keyAt = time.Date(2026, 3, 29, 1, 59, 59, 123_456_000, time.UTC)

func newKey(t testing.TB, ws memento.Workspace, name string, at time.Time) apikey.Key {
	t.Helper()
	k, _, err := apikey.New(ws, name, apikey.RoleWrite, at, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// addKey adds a key, which must succeed.
func (e *env) addKey(ws memento.Workspace, name string, at time.Time) apikey.Key {
	e.Helper()
	k := newKey(e, ws, name, at)
	if err := e.keeper().AddKey(e.Context(), k); err != nil {
		e.Fatalf("AddKey: %v", err)
	}
	return k
}

// keyIs checks that a key is known to a backend, by its hash, as k.
func (e *env) keyIs(b apikey.Keeper, k apikey.Key) {
	e.Helper()
	got, err := b.KeyByHash(e.Context(), k.Hash)
	if diff := cmp.Diff(k, got); diff != "" || err != nil {
		e.Errorf("KeyByHash of %q: %v (-want +got):\n%s", k.Name, err, diff)
	}
}

func (e *env) noKey(b apikey.Keeper, hash apikey.Hash) {
	e.Helper()
	k, err := b.KeyByHash(e.Context(), hash)
	wantError(e, "KeyByHash", err, memento.ErrNotExist)
	if k != (apikey.Key{}) {
		e.Errorf("KeyByHash returned %+v with its error", k)
	}
}

// listsKeys checks the keys of a workspace, or of all.
func (e *env) listsKeys(ws memento.Workspace, want ...apikey.Key) {
	e.Helper()
	got := all(e, "ListKeys", e.keeper().ListKeys(e.Context(), ws))
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		e.Errorf("keys of %q (-want +got):\n%s", ws, diff)
	}
}

func keysAreKept(e *env) {
	full := newKey(e, "team.a-1_B", "Zoë's laptop; \"quoted\" 🔑", keyAt)
	full.Role = apikey.RoleAdmin
	full.ExpiresAt = keyAt.Add(time.Hour)
	full.RevokedAt = keyAt.Add(time.Minute)
	full.UsedAt = keyAt.Add(time.Second)
	plain := newKey(e, "team.a-1_B", strings.Repeat("ä", 255), keyAt.Add(time.Microsecond))
	plain.Role, plain.Hint = apikey.RoleRead, ""
	for _, k := range []apikey.Key{full, plain} {
		if err := e.keeper().AddKey(e.Context(), k); err != nil {
			e.Fatalf("AddKey: %v", err)
		}
	}
	// Times are kept in UTC and whole microseconds, whatever they were given in.
	late := newKey(e, "team.a-1_B", "late", keyAt.Add(time.Second))
	late.ExpiresAt = keyAt.Add(time.Hour)
	given := late
	zone := time.FixedZone("CEST", 7200)
	given.CreatedAt = late.CreatedAt.In(zone).Add(999)
	given.ExpiresAt = late.ExpiresAt.In(zone).Add(1)
	if err := e.keeper().AddKey(e.Context(), given); err != nil {
		e.Fatalf("AddKey: %v", err)
	}
	for range 2 {
		e.keyIs(e.keeper(), full)
		e.keyIs(e.keeper(), plain)
		e.keyIs(e.keeper(), late)
		e.noKey(e.keeper(), apikey.HashSecret("sk-memento-unknown"))
		e.noKey(e.keeper(), apikey.Hash{})
		e.listsKeys("team.a-1_B", full, plain, late)
		e.reopen()
	}
	// They belong to no store.
	other := e.newStore(memento.StoreSpec{Name: "other"})
	if err := e.b.DeleteStore(e.Context(), workspace, other); err != nil {
		e.Fatal(err)
	}
	e.listsKeys("", full, plain, late)
}

func keysKnownAlready(e *env) {
	known := e.addKey("a", "known", keyAt)
	sameID := newKey(e, "b", "same ID", keyAt)
	sameID.ID = known.ID
	sameHash := newKey(e, "b", "same hash", keyAt)
	sameHash.Hash = known.Hash
	for _, k := range []apikey.Key{known, sameID, sameHash} {
		wantError(e, "AddKey: "+k.Name, e.keeper().AddKey(e.Context(), k), memento.ErrExist)
	}
	// A key that is not active any more counts as well.
	if _, err := e.keeper().UpdateKey(e.Context(), "a", known.ID, apikey.Update{RevokedAt: keyAt}); err != nil {
		e.Fatal(err)
	}
	wantError(e, "AddKey: revoked", e.keeper().AddKey(e.Context(), sameHash), memento.ErrExist)
	e.noKey(e.keeper(), sameID.Hash)
	known.RevokedAt = keyAt
	e.listsKeys("", known)
	// All other fields may be equal.
	same := e.addKey("a", known.Name, keyAt.Add(1*time.Second))
	e.listsKeys("", known, same)
}

func keysRefused(e *env) {
	for name, spoil := range map[string]func(*apikey.Key){
		"workspace":    func(k *apikey.Key) { k.Workspace = "a b" },
		"no workspace": func(k *apikey.Key) { k.Workspace = "" },
		"no ID":        func(k *apikey.Key) { k.ID = "" },
		"no hash":      func(k *apikey.Key) { k.Hash = apikey.Hash{} },
		"no name":      func(k *apikey.Key) { k.Name = "" },
		"name":         func(k *apikey.Key) { k.Name = "a\nb" },
		"role":         func(k *apikey.Key) { k.Role = "root" },
		"time":         func(k *apikey.Key) { k.CreatedAt = time.Time{} },
		"end":          func(k *apikey.Key) { k.ExpiresAt = k.CreatedAt },
	} {
		k := newKey(e, "a", "key", keyAt)
		spoil(&k)
		wantError(e, name, e.keeper().AddKey(e.Context(), k), memento.ErrInvalid)
		e.noKey(e.keeper(), k.Hash)
	}
	e.listsKeys("")
}

func keysListed(e *env) {
	e.listsKeys("")
	e.listsKeys("a")
	third := e.addKey("a", "third", keyAt.Add(2*time.Hour))
	first := e.addKey("a", "first", keyAt)
	other := e.addKey("b", "other", keyAt.Add(time.Microsecond))
	second := e.addKey("a", "second", keyAt.Add(time.Millisecond))
	for range 2 {
		e.listsKeys("a", first, second, third)
		e.listsKeys("b", other)
		e.listsKeys("", first, other, second, third)
		e.listsKeys("A")
		e.listsKeys("c")
		e.reopen()
	}
	for k, err := range e.keeper().ListKeys(e.Context(), "a") {
		if err != nil || k != first {
			e.Errorf("the first of the list is %+v, %v", k, err)
		}
		break
	}
}

func keysUpdated(e *env) {
	hour := func(n int) time.Time { return keyAt.Add(time.Duration(n) * time.Hour) }
	zone := time.FixedZone("PST", -8*3600)
	k := e.addKey("a", "key", keyAt)
	other := e.addKey("a", "other", keyAt.Add(time.Second))
	for i, step := range []struct {
		u    apikey.Update
		want func(*apikey.Key)
	}{
		{apikey.Update{}, func(k *apikey.Key) {}},
		{apikey.Update{UsedAt: hour(1)}, func(k *apikey.Key) { k.UsedAt = hour(1) }},
		{apikey.Update{UsedAt: hour(1)}, func(k *apikey.Key) {}},
		{apikey.Update{UsedAt: hour(1).Add(59 * time.Second)}, func(k *apikey.Key) {}},
		{apikey.Update{UsedAt: keyAt}, func(k *apikey.Key) {}},
		{apikey.Update{UsedAt: hour(2).In(zone).Add(999)}, func(k *apikey.Key) { k.UsedAt = hour(2) }},
		{apikey.Update{ExpiresAt: hour(9)}, func(k *apikey.Key) { k.ExpiresAt = hour(9) }},
		{apikey.Update{ExpiresAt: hour(10)}, func(k *apikey.Key) {}},
		{apikey.Update{ExpiresAt: hour(8).In(zone).Add(1)}, func(k *apikey.Key) { k.ExpiresAt = hour(8) }},
		{apikey.Update{ExpiresAt: hour(7), UsedAt: hour(3)}, func(k *apikey.Key) { k.ExpiresAt, k.UsedAt = hour(7), hour(3) }},
		{apikey.Update{RevokedAt: hour(4).In(zone).Add(999)}, func(k *apikey.Key) { k.RevokedAt = hour(4) }},
		{apikey.Update{RevokedAt: hour(3)}, func(k *apikey.Key) {}},
		{apikey.Update{RevokedAt: hour(5), UsedAt: hour(5)}, func(k *apikey.Key) { k.UsedAt = hour(5) }},
	} {
		updated := k.Updated(step.u)
		if step.want(&k); updated != k {
			e.Errorf("step %d: Key.Updated says %+v, want %+v", i, updated, k)
		}
		got, err := e.keeper().UpdateKey(e.Context(), "a", k.ID, step.u)
		if diff := cmp.Diff(k, got); diff != "" || err != nil {
			e.Errorf("step %d: %v (-want +got):\n%s", i, err, diff)
		}
		e.keyIs(e.keeper(), k)
	}
	// Not a key of another workspace, nor an unknown one.
	revoke := apikey.Update{RevokedAt: hour(1)}
	for _, at := range []struct {
		ws memento.Workspace
		id memento.KeyID
	}{{"b", other.ID}, {"", other.ID}, {"a", "apikey_unknown"}, {"a", ""}} {
		got, err := e.keeper().UpdateKey(e.Context(), at.ws, at.id, revoke)
		wantError(e, fmt.Sprintf("UpdateKey %+v", at), err, memento.ErrNotExist)
		if got != (apikey.Key{}) {
			e.Errorf("UpdateKey returned %+v with its error", got)
		}
	}
	e.reopen()
	e.listsKeys("", k, other)
}

// keysForOthers checks that all handles see at once what one has changed.
func keysForOthers(e *env) {
	another := e.another().(apikey.Keeper)
	for i := range 20 {
		k := e.addKey("a", "key", keyAt.Add(time.Duration(i)*time.Second))
		e.keyIs(another, k)
		used, err := another.UpdateKey(e.Context(), "a", k.ID, apikey.Update{UsedAt: keyAt.Add(time.Hour)})
		if err != nil {
			e.Fatal(err)
		}
		e.keyIs(e.keeper(), used)
		revoked, err := e.keeper().UpdateKey(e.Context(), "a", k.ID, apikey.Update{RevokedAt: keyAt.Add(time.Hour)})
		if err != nil {
			e.Fatal(err)
		}
		e.keyIs(another, revoked)
		if n := len(all(e, "ListKeys", another.ListKeys(e.Context(), "a"))); n != i+1 {
			e.Errorf("another handle lists %d keys, want %d", n, i+1)
		}
	}
}

// keysWhileListed changes keys while they are listed.
func keysWhileListed(e *env) {
	for i := range 5 {
		e.addKey("a", "key", keyAt.Add(time.Duration(i)*time.Second))
	}
	n := 0
	for k, err := range e.keeper().ListKeys(e.Context(), "a") {
		if err != nil {
			e.Fatal(err)
		}
		if _, err := e.keeper().UpdateKey(e.Context(), "a", k.ID, apikey.Update{RevokedAt: keyAt}); err != nil {
			e.Fatal(err)
		}
		e.addKey("b", "meanwhile", keyAt)
		n++
	}
	if n != 5 {
		e.Errorf("%d keys listed, want 5", n)
	}
	for k, err := range e.keeper().ListKeys(e.Context(), "a") {
		if err != nil || k.RevokedAt.IsZero() {
			e.Errorf("not revoked: %+v, %v", k, err)
		}
	}
}

// racingToAddKeys adds the same secret, then the same ID, many times at once, while
// memories are written, to which refused keys must do no harm.
func racingToAddKeys(e *env) {
	const racers = 16
	handles := []memento.Backend{e.b, e.another()}
	secret := newKey(e, "a", "secret", keyAt)
	for what, clash := range map[string]func(*apikey.Key){
		"hash": func(k *apikey.Key) { k.Hash = secret.Hash },
		"ID":   func(k *apikey.Key) { k.ID = secret.ID },
	} {
		var won atomic.Int32
		var winner atomic.Pointer[apikey.Key]
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i := range racers {
			k := newKey(e, memento.Workspace(what), fmt.Sprint("racer ", i), keyAt)
			clash(&k)
			wg.Go(func() {
				<-start
				switch err := handles[i%2].(apikey.Keeper).AddKey(e.Context(), k); {
				case err == nil:
					won.Add(1)
					winner.Store(&k)
				case !errors.Is(err, memento.ErrExist):
					e.Errorf("same %s: %v", what, err)
				}
			})
			wg.Go(func() {
				<-start
				p := memento.Path(fmt.Sprintf("/%s/%d", what, i))
				if _, err := handles[i%2].Apply(e.Context(), e.store, e.by, []memento.Change{memento.Put{Path: p, Content: "x"}}); err != nil {
					e.Errorf("a concurrent change of memories: %v", err)
				}
			})
		}
		close(start)
		wg.Wait()
		if won.Load() != 1 {
			e.Fatalf("same %s: %d of %d won", what, won.Load(), racers)
		}
		e.keyIs(e.keeper(), *winner.Load())
		e.listsKeys(memento.Workspace(what), *winner.Load())
	}
	if got := e.info().Usage.Memories; got != 2*racers {
		e.Errorf("%d memories, want %d", got, 2*racers)
	}
}

// racingToUpdateKey has callers change different fields of one key.
func racingToUpdateKey(e *env) {
	handles := []apikey.Keeper{e.keeper(), e.another().(apikey.Keeper)}
	k := e.addKey("a", "key", keyAt)
	at := func(n int) time.Time { return keyAt.Add(time.Duration(n) * time.Hour) }
	const racers = 8
	var revoked [racers]time.Time
	var wg sync.WaitGroup
	for i := range racers {
		for _, u := range []apikey.Update{{UsedAt: at(i)}, {ExpiresAt: at(10 + i)}, {RevokedAt: at(20 + i)}} {
			wg.Go(func() {
				got, err := handles[i%2].UpdateKey(e.Context(), "a", k.ID, u)
				if err != nil {
					e.Error(err)
				}
				if !u.RevokedAt.IsZero() {
					revoked[i] = got.RevokedAt
				}
			})
		}
	}
	wg.Wait()
	k.UsedAt, k.ExpiresAt, k.RevokedAt = at(racers-1), at(10), revoked[0]
	e.keyIs(e.keeper(), k)
	for _, r := range revoked {
		if r != k.RevokedAt || r.IsZero() {
			e.Errorf("revoked at %v, another caller got %v", k.RevokedAt, r)
		}
	}
}

func keysClosedAndCancelled(e *env) {
	k := e.addKey("a", "key", keyAt)
	check := func(ctx context.Context, b apikey.Keeper, want error) {
		e.Helper()
		wantError(e, "AddKey", b.AddKey(ctx, newKey(e, "a", "late", keyAt)), want)
		_, err := b.KeyByHash(ctx, k.Hash)
		wantError(e, "KeyByHash", err, want)
		wantError(e, "ListKeys", firstError(b.ListKeys(ctx, "a")), want)
		_, err = b.UpdateKey(ctx, "a", k.ID, apikey.Update{UsedAt: keyAt.Add(time.Hour)})
		wantError(e, "UpdateKey", err, want)
	}
	ctx, cancel := context.WithCancel(e.Context())
	cancel()
	check(ctx, e.keeper(), context.Canceled)
	e.listsKeys("", k)

	b, err := e.h.Open(e.Context(), e.TempDir())
	if err != nil {
		e.Fatal(err)
	}
	if err := b.Close(); err != nil {
		e.Fatal(err)
	}
	check(e.Context(), b.(apikey.Keeper), memento.ErrClosed)
}

// keysOfTheKilled has a process add keys and revoke every second one, and kills it. Its
// acknowledged changes must be visible here at once, and stay.
func keysOfTheKilled(e *env) {
	c := proctest.Start(e, task{Kind: "keys", Dir: e.dir, Store: e.store, Name: "child"})
	revoked := map[string]bool{} // by secret
	for len(revoked) < 40 && c.Lines.Scan() {
		secret, done, _ := strings.Cut(c.Lines.Text(), " ")
		revoked[secret] = done == "revoked"
		k, err := e.keeper().KeyByHash(e.Context(), apikey.HashSecret(secret))
		if err != nil || done == "revoked" && k.RevokedAt.IsZero() {
			e.Errorf("the child printed %s; here the key is %+v, %v", done, k, err)
		}
	}
	if err := c.Process.Kill(); err != nil {
		e.Fatal(err)
	}
	c.Wait()
	if len(revoked) < 40 || c.Errs.String() != "" {
		e.Fatalf("the child added %d keys: %s", len(revoked), c.Errs.String())
	}
	e.reopen()
	for secret, gone := range revoked {
		k, err := e.keeper().KeyByHash(e.Context(), apikey.HashSecret(secret))
		if err != nil || gone && k.RevokedAt.IsZero() {
			e.Errorf("once reopened: %+v, %v; revoked is %v", k, err, gone)
		}
	}
}

// addKeys adds keys until the process is killed, and prints which were added and which
// were revoked, by their secrets.
func (t task) addKeys(ctx context.Context, b apikey.Keeper) error {
	for i := 0; ; i++ {
		k, secret, err := apikey.New("keys", t.Name, apikey.RoleRead, time.Now(), time.Time{})
		if err != nil {
			return err
		}
		if err := b.AddKey(ctx, k); err != nil {
			return err
		}
		if _, err := fmt.Println(secret, "added"); err != nil {
			return err
		}
		if i%2 == 0 {
			continue
		}
		if _, err := b.UpdateKey(ctx, k.Workspace, k.ID, apikey.Update{RevokedAt: time.Now()}); err != nil {
			return err
		}
		if _, err := fmt.Println(secret, "revoked"); err != nil {
			return err
		}
	}
}
