package storetest

import (
	"testing"
	"time"

	"memento"
)

// NewKey adds a key without expiry to a backend, for tests of authentication, and
// returns it and its secret.
func NewKey(t testing.TB, b memento.KeyKeeper, ws memento.Workspace, role memento.Role, at time.Time) (memento.Key, string) {
	t.Helper()
	k, secret, err := memento.NewKey(ws, "a key", role, at, time.Time{})
	if err == nil {
		err = b.AddKey(t.Context(), k)
	}
	if err != nil {
		t.Fatal(err)
	}
	return k, secret
}
