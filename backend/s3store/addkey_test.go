package s3store

import (
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
)

// interrupted opens a backend that runs do before its first PUT below dir.
func interrupted(t *testing.T, prefix, dir string, do func()) *Backend {
	t.Helper()
	once := sync.OnceFunc(do)
	return openHasty(t, prefix, Via(t, func(req *http.Request, send RoundTripper) (*http.Response, error) {
		if req.Method == http.MethodPut && strings.Contains(req.URL.Path, "/"+dir) {
			once()
		}
		return send(req)
	}), time.Minute)
}

func newKey(t *testing.T, id memento.KeyID) apikey.Key {
	t.Helper()
	k, _, err := apikey.New("tests", string(id), apikey.RoleRead, time.Now(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	k.ID = id
	return k
}

// dieAfterOne does only the first step of adding a key.
func dieAfterOne(t *testing.T, b *Backend, k apikey.Key) {
	t.Helper()
	if _, err := b.beginKey(t.Context(), k, keysDir+hex.EncodeToString(k.Hash[:])); err != nil {
		t.Error(err)
	}
}

func (b *Backend) mustAddKey(t *testing.T, k apikey.Key, want error) {
	t.Helper()
	if err := b.AddKey(t.Context(), k); !errors.Is(err, want) {
		t.Errorf("AddKey of %s: %v, want %v", k.ID, err, want)
	}
}

// knows checks that these keys are known, and no other.
func (b *Backend) knows(t *testing.T, keys ...apikey.Key) {
	t.Helper()
	for _, k := range keys {
		if got, err := b.KeyByHash(t.Context(), k.Hash); err != nil || got.ID != k.ID || got.Role != k.Role || got.RevokedAt.IsZero() != k.RevokedAt.IsZero() {
			t.Errorf("the key is %+v, want %+v; %v", got, k, err)
		}
		if _, err := b.UpdateKey(t.Context(), "tests", k.ID, apikey.Update{UsedAt: time.Now()}); err != nil {
			t.Errorf("UpdateKey of %s: %v", k.ID, err)
		}
	}
	n := 0
	for _, err := range b.ListKeys(t.Context(), "tests") {
		if n++; err != nil {
			t.Error(err)
		}
	}
	if n != len(keys) {
		t.Errorf("%d keys, want %d", n, len(keys))
	}
}

// A key whose addition was interrupted is not valid, and can be added again.
func TestDeadKey(t *testing.T) {
	b := openHasty(t, "keys/"+random(), nil, time.Minute)
	k := newKey(t, "apikey_a")
	dieAfterOne(t, b, k)
	b.knows(t)
	if got, err := b.KeyByHash(t.Context(), k.Hash); !errors.Is(err, memento.ErrNotExist) || got != (apikey.Key{}) {
		t.Errorf("KeyByHash: %+v, %v", got, err)
	}
	if _, err := b.UpdateKey(t.Context(), "tests", k.ID, apikey.Update{RevokedAt: time.Now()}); !errors.Is(err, memento.ErrNotExist) {
		t.Errorf("UpdateKey: %v", err)
	}
	b.mustAddKey(t, k, nil)
	b.knows(t, k)
	b.mustAddKey(t, k, memento.ErrExist)
}

// What another with the same secret does between the steps breaks nothing that was
// acknowledged.
func TestKeysOfOneSecret(t *testing.T) {
	a := newKey(t, "apikey_a")
	other := newKey(t, "apikey_b")
	other.Hash, other.Role = a.Hash, apikey.RoleAdmin
	t.Run("dies", func(t *testing.T) {
		prefix := "keys/" + random()
		b := openHasty(t, prefix, nil, time.Minute)
		interrupted(t, prefix, keyIDsDir, func() { dieAfterOne(t, b, other) }).mustAddKey(t, a, nil)
		b.knows(t, a)
	})
	t.Run("is faster", func(t *testing.T) {
		prefix := "keys/" + random()
		b := openHasty(t, prefix, nil, time.Minute)
		interrupted(t, prefix, keyIDsDir, func() { b.mustAddKey(t, other, nil) }).mustAddKey(t, a, memento.ErrExist)
		b.knows(t, other)
	})
	t.Run("copies it, revoked", func(t *testing.T) {
		prefix := "keys/" + random()
		b := openHasty(t, prefix, nil, time.Minute)
		revoked, active := a, a
		revoked.RevokedAt, active.Role = a.CreatedAt.Add(time.Second), apikey.RoleAdmin
		interrupted(t, prefix, keyIDsDir, func() {
			interrupted(t, prefix, keyIDsDir, func() { b.mustAddKey(t, revoked, nil) }).mustAddKey(t, active, memento.ErrExist)
		}).mustAddKey(t, active, memento.ErrExist)
		b.knows(t, revoked)
	})
	t.Run("wants a taken ID", func(t *testing.T) {
		prefix := "keys/" + random()
		b := openHasty(t, prefix, nil, time.Minute)
		taken := newKey(t, "apikey_a")
		b.mustAddKey(t, taken, nil)
		interrupted(t, prefix, keyIDsDir, func() {
			b.mustAddKey(t, other, nil)
			if _, err := b.UpdateKey(t.Context(), "tests", other.ID, apikey.Update{RevokedAt: time.Now()}); err != nil {
				t.Error(err)
			}
		}).mustAddKey(t, a, memento.ErrExist)
		revoked := other
		revoked.RevokedAt = time.Now()
		b.knows(t, taken, revoked)
		other := other
		other.ID = "apikey_c"
		b.mustAddKey(t, other, memento.ErrExist)
	})
}
