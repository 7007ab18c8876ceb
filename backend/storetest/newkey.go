package storetest

import (
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
)

// NewKey adds a key without expiry to a backend, for tests of authentication, and
// returns it and its secret.
func NewKey(t testing.TB, b apikey.Keeper, ws memento.Workspace, role apikey.Role, at time.Time) (apikey.Key, string) {
	t.Helper()
	k, secret, err := apikey.New(ws, "a key", role, at, time.Time{})
	if err == nil {
		err = b.AddKey(t.Context(), k)
	}
	if err != nil {
		t.Fatal(err)
	}
	return k, secret
}
