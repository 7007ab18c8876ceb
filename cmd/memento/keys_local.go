package main

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"time"

	"memento"
	"memento/backend/apikey"
)

// localKeys is the keyring of a backend that stores keys itself.
type localKeys struct {
	keeper    apikey.Keeper
	workspace memento.Workspace // only this one; "" for all
	now       func() time.Time
}

// Workspace returns the workspace of new keys.
func (l localKeys) Workspace() memento.Workspace {
	return cmp.Or(l.workspace, memento.DefaultWorkspace)
}

// Keys yields the keys, oldest first.
func (l localKeys) Keys(ctx context.Context) iter.Seq2[apikey.Key, error] {
	return l.keeper.ListKeys(ctx, l.workspace)
}

// CreateKey stores a new key.
func (l localKeys) CreateKey(ctx context.Context, k apikey.Key) (apikey.Key, error) {
	return k, l.keeper.AddKey(ctx, k)
}

// find returns a key by its ID.
func (l localKeys) find(ctx context.Context, op string, id memento.KeyID) (apikey.Key, error) {
	for k, err := range l.Keys(ctx) {
		if err != nil || k.ID == id {
			return k, err
		}
	}
	return apikey.Key{}, &memento.Error{Op: op, Err: memento.ErrNotExist}
}

// RevokeKey revokes a key permanently.
func (l localKeys) RevokeKey(ctx context.Context, id memento.KeyID) (apikey.Key, error) {
	k, err := l.find(ctx, "revoke key", id)
	if err != nil {
		return k, err
	}
	return l.keeper.UpdateKey(ctx, k.Workspace, id, apikey.Update{RevokedAt: l.now()})
}

// RotateKey stores next with the properties of another key, which expires after grace.
func (l localKeys) RotateKey(ctx context.Context, id memento.KeyID, grace time.Duration, next apikey.Key) (apikey.Key, error) {
	const op = "rotate key"
	old, err := l.find(ctx, op, id)
	switch {
	case err != nil:
		return old, err
	case !old.Active(l.now()):
		return apikey.Key{}, &memento.Error{Op: op, Err: fmt.Errorf("%w: this key is revoked or expired; create a new one", memento.ErrInvalid)}
	}
	next.Workspace, next.Name, next.Role, next.ExpiresAt = old.Workspace, old.Name, old.Role, old.ExpiresAt
	if err := l.keeper.AddKey(ctx, next); err != nil {
		return apikey.Key{}, err
	}
	ends := next.CreatedAt.Add(max(grace, time.Microsecond))
	_, err = l.keeper.UpdateKey(ctx, old.Workspace, id, apikey.Update{ExpiresAt: ends})
	return next, err
}
