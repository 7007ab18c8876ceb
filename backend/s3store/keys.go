package s3store

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"memento"
	"memento/backend/apikey"
	"memento/internal/listing"
)

// A key is stored in an object that is named by the hash of its secret, which is what
// lookups know. Another object, named by the key's ID, holds the hash that has this ID; it
// is written once and never changed.
//
// A key is added in three steps: write the key's object as inactive; write the object of
// its ID; write the key's object again as active, on condition that it has not changed.
// Another process may replace an inactive key meanwhile. So of several keys with the same
// ID or the same secret, one is added. An ID stays with the secret that it was first
// written for, even if the process crashed before the last step: the same key can be added
// again, another one cannot.

type keyForm struct {
	Rev       string            `json:"rev"`
	ID        memento.KeyID     `json:"id"`
	Workspace memento.Workspace `json:"workspace"`
	Name      string            `json:"name"`
	Role      apikey.Role       `json:"role"`
	Hash      string            `json:"hash"`
	Hint      string            `json:"hint,omitempty"`
	Created   stamp             `json:"created"`
	Expires   stamp             `json:"expires,omitempty"`
	Revoked   stamp             `json:"revoked,omitempty"`
	Used      stamp             `json:"used,omitempty"`

	Active bool `json:"counts,omitempty"` // set by the last step of adding the key
}

type keyIDForm struct {
	Rev  string `json:"rev"`
	Hash string `json:"hash"`
}

func encodeKey(k apikey.Key, active bool) ([]byte, error) {
	return json.Marshal(keyForm{
		random(), k.ID, k.Workspace, k.Name, k.Role, hex.EncodeToString(k.Hash[:]), k.Hint,
		stampOf(k.CreatedAt), stampOf(k.ExpiresAt), stampOf(k.RevokedAt), stampOf(k.UsedAt), active,
	})
}

// decodeKey decodes a key. Errors: errNotFound if it is inactive, ErrFormat.
func decodeKey(data []byte) (apikey.Key, error) {
	var f keyForm
	err := json.Unmarshal(data, &f)
	hash, hexErr := hex.DecodeString(f.Hash)
	switch {
	case err != nil || hexErr != nil || len(hash) != len(apikey.Hash{}):
		return apikey.Key{}, fmt.Errorf("%w: a key is damaged", memento.ErrFormat)
	case !f.Active:
		return apikey.Key{}, errNotFound
	}
	return apikey.Key{
		ID: f.ID, Workspace: f.Workspace, Name: f.Name, Role: f.Role, Hash: apikey.Hash(hash), Hint: f.Hint,
		CreatedAt: f.Created.time(), ExpiresAt: f.Expires.time(), RevokedAt: f.Revoked.time(), UsedAt: f.Used.time(),
	}, nil
}

func keyIDKey(id memento.KeyID) string { return keyIDsDir + hashed(string(id)) }

// AddKey stores a new key.
func (b *Backend) AddKey(ctx context.Context, k apikey.Key) error {
	const op = "add key"
	if err := b.open(ctx); err != nil {
		return b.failed(op, err)
	}
	if err := k.Check(); err != nil {
		return err
	}
	return b.failed(op, b.addKey(ctx, k))
}

func (b *Backend) addKey(ctx context.Context, k apikey.Key) error {
	hash := hex.EncodeToString(k.Hash[:])
	for {
		etag, err := b.beginKey(ctx, k, keysDir+hash)
		if err != nil {
			return err
		}
		entry, err := json.Marshal(keyIDForm{random(), hash})
		if err != nil {
			return err
		}
		_, err = b.s3.swap(ctx, keyIDKey(k.ID), entry, ifAbsent)
		if errors.Is(err, errPrecondition) { // perhaps the ID has the same secret
			var has string
			if has, err = b.hashOfID(ctx, k.ID); err == nil && has != hash {
				err = memento.ErrExist
			}
		}
		if err != nil {
			return err
		}
		data, err := encodeKey(k, true)
		if err != nil {
			return err
		}
		if _, err = b.s3.swap(ctx, keysDir+hash, data, ifMatch(etag)); !errors.Is(err, errPrecondition) {
			return err
		}
		// Another process has replaced the inactive key.
	}
}

// beginKey writes an inactive key, and replaces one that is inactive, too.
// Errors: ErrExist if there is an active one.
func (b *Backend) beginKey(ctx context.Context, k apikey.Key, key string) (etag string, err error) {
	data, err := encodeKey(k, false)
	if err != nil {
		return "", err
	}
	cond := ifAbsent
	for {
		etag, err = b.s3.swap(ctx, key, data, cond)
		if !errors.Is(err, errPrecondition) {
			return etag, err
		}
		old, now, err := b.s3.get(ctx, key)
		if err == nil {
			_, err = decodeKey(old)
		}
		switch {
		case err == nil:
			return "", memento.ErrExist
		case !errors.Is(err, errNotFound):
			return "", err
		}
		if cond = ifAbsent; now != "" {
			cond = ifMatch(now)
		}
	}
}

// hashOfID returns the hash of the key with an ID. Errors: errNotFound.
func (b *Backend) hashOfID(ctx context.Context, id memento.KeyID) (hash string, err error) {
	data, _, err := b.s3.get(ctx, keyIDKey(id))
	if err != nil {
		return "", err
	}
	var f keyIDForm
	if err := json.Unmarshal(data, &f); err != nil {
		return "", fmt.Errorf("%w: a key's entry is damaged", memento.ErrFormat)
	}
	return f.Hash, nil
}

// KeyByHash returns the key whose secret has this hash.
func (b *Backend) KeyByHash(ctx context.Context, hash apikey.Hash) (apikey.Key, error) {
	const op = "find key"
	if err := b.open(ctx); err != nil {
		return apikey.Key{}, b.failed(op, err)
	}
	data, _, err := b.s3.get(ctx, keysDir+hex.EncodeToString(hash[:]))
	var k apikey.Key
	if err == nil {
		k, err = decodeKey(data)
	}
	if errors.Is(err, errNotFound) {
		err = memento.ErrNotExist
	}
	return k, b.failed(op, err)
}

// ListKeys yields the keys of a workspace, or of all with "", oldest first.
func (b *Backend) ListKeys(ctx context.Context, ws memento.Workspace) iter.Seq2[apikey.Key, error] {
	return func(yield func(apikey.Key, error) bool) {
		keys, err := b.keysOf(ctx, ws)
		listing.Yield(ctx, keys, b.failed("list keys", err), yield)
	}
}

func (b *Backend) keysOf(ctx context.Context, ws memento.Workspace) ([]apikey.Key, error) {
	if err := b.open(ctx); err != nil {
		return nil, err
	}
	found, err := b.s3.list(ctx, keysDir, "", 0, true)
	if err != nil {
		return nil, err
	}
	all := make([]apikey.Key, len(found))
	err = parallel(ctx, len(found), func(ctx context.Context, i int) error {
		data, _, err := b.s3.get(ctx, found[i].key)
		if err == nil {
			all[i], err = decodeKey(data)
		}
		if errors.Is(err, errNotFound) {
			all[i], err = apikey.Key{}, nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	keys := slices.DeleteFunc(all, func(k apikey.Key) bool { return k.ID == "" || ws != "" && k.Workspace != ws })
	slices.SortFunc(keys, func(x, y apikey.Key) int {
		return cmp.Or(x.CreatedAt.Compare(y.CreatedAt), cmp.Compare(x.ID, y.ID))
	})
	return keys, nil
}

// UpdateKey changes a key of the workspace.
func (b *Backend) UpdateKey(ctx context.Context, ws memento.Workspace, id memento.KeyID, u apikey.Update) (apikey.Key, error) {
	const op = "update key"
	if err := b.open(ctx); err != nil {
		return apikey.Key{}, b.failed(op, err)
	}
	for {
		k, err := b.updateKey(ctx, ws, id, u)
		if errors.Is(err, errPrecondition) {
			continue // another changed it meanwhile
		}
		if errors.Is(err, errNotFound) {
			err = memento.ErrNotExist
		}
		if err != nil {
			return apikey.Key{}, b.failed(op, err)
		}
		return k, nil
	}
}

func (b *Backend) updateKey(ctx context.Context, ws memento.Workspace, id memento.KeyID, u apikey.Update) (apikey.Key, error) {
	hash, err := b.hashOfID(ctx, id)
	if err != nil {
		return apikey.Key{}, err
	}
	data, etag, err := b.s3.get(ctx, keysDir+hash)
	if err != nil {
		return apikey.Key{}, err
	}
	k, err := decodeKey(data)
	switch {
	case err != nil:
		return k, err
	case k.ID != id || k.Workspace != ws:
		return k, errNotFound
	}
	after := k.Updated(u)
	if after == k {
		return k, nil
	}
	if data, err = encodeKey(after, true); err == nil {
		_, err = b.s3.swap(ctx, keysDir+hash, data, ifMatch(etag))
	}
	return after, err
}
